"""Write and read binary fields; the reader never reads past the end."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.common.arrays import Mask
from mocpack.errors import CorruptionError, TruncatedError

MAX_VARINT_BYTES = 10


class FieldWriter:
    """Appends fields to a byte string; all integers little-endian."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def u8(self, value: int) -> None:
        self._parts.append(struct.pack("<B", value))

    def u16(self, value: int) -> None:
        self._parts.append(struct.pack("<H", value))

    def f32(self, value: float) -> None:
        self._parts.append(struct.pack("<f", value))

    def f64(self, value: float) -> None:
        self._parts.append(struct.pack("<d", value))

    def varint(self, value: int) -> None:
        """Append an unsigned LEB128 integer: seven bits per byte, lowest first."""
        out = bytearray()
        while value > 127:
            out.append(value & 127 | 128)
            value >>= 7
        out.append(value)
        self._parts.append(bytes(out))

    def signed(self, value: int) -> None:
        """Append a signed integer as a zigzag varint: 0, -1, 1, -2, … → 0, 1, 2, 3, …"""
        self.varint(2 * value if value >= 0 else -2 * value - 1)

    def raw(self, data: bytes) -> None:
        self._parts.append(data)

    def sized(self, data: bytes) -> None:
        """Append a byte string, prefixed with its length."""
        self.varint(len(data))
        self._parts.append(data)

    def mask(self, flags: npt.ArrayLike) -> None:
        """Append one bit per flag, lowest first, padded to whole bytes."""
        self._parts.append(np.packbits(np.asarray(flags, bool), bitorder="little").tobytes())

    def indices(self, indices: Sequence[int]) -> None:
        """Append increasing indices as their count and differences."""
        self.varint(len(indices))
        for before, index in zip((0, *indices), indices, strict=False):
            self.varint(index - before)

    def bytes(self) -> bytes:
        return b"".join(self._parts)


class FieldReader:
    """Reads fields of `FieldWriter`; reading past the end raises `TruncatedError`."""

    def __init__(self, data: bytes, what: str = "payload") -> None:
        self._data = data
        self._at = 0
        self._what = what

    @property
    def at(self) -> int:
        """Offset of the next field."""
        return self._at

    @property
    def left(self) -> int:
        """Bytes not yet read."""
        return len(self._data) - self._at

    def raw(self, size: int) -> bytes:
        if size > self.left:
            raise TruncatedError(f"{self._what} ends {size - self.left} bytes too early")
        self._at += size
        return self._data[self._at - size : self._at]

    def rest(self) -> bytes:
        return self.raw(self.left)

    def u8(self) -> int:
        return self.raw(1)[0]

    def u16(self) -> int:
        return int.from_bytes(self.raw(2), "little")

    def f32(self) -> float:
        return float(struct.unpack("<f", self.raw(4))[0])

    def f64(self) -> float:
        return float(struct.unpack("<d", self.raw(8))[0])

    def varint(self, limit: int = 2**63) -> int:
        """Read an unsigned integer; one above `limit` is a `CorruptionError`."""
        value = 0
        for k in range(MAX_VARINT_BYTES):
            byte = self.u8()
            value |= (byte & 127) << (7 * k)
            if byte < 128:
                break
        else:
            raise CorruptionError(
                f"{self._what}: a varint is longer than {MAX_VARINT_BYTES} bytes (file is corrupt)"
            )
        if value > limit:
            raise CorruptionError(
                f"{self._what}: expected a number up to {limit}, got {value} (file is corrupt)"
            )
        return value

    def signed(self) -> int:
        value = self.varint()
        return -(value + 1) // 2 if value & 1 else value // 2

    def sized(self, limit: int = 2**63) -> bytes:
        return self.raw(self.varint(limit))

    def mask(self, count: int) -> Mask:
        """Read `count` flags (count,)."""
        bits = np.frombuffer(self.raw(-(-count // 8)), np.uint8)
        return np.unpackbits(bits, count=count, bitorder="little").astype(bool)

    def end(self) -> None:
        """Raise `CorruptionError` if bytes are left."""
        if self.left:
            raise CorruptionError(
                f"{self._what}: {self.left} unexpected bytes at the end (file is corrupt)"
            )


def inflate(data: bytes, limit: int, *, dictionary: bytes = b"", what: str = "payload") -> bytes:
    """Decompress a raw deflate stream that ends with `data`, to at most `limit` bytes."""
    stream = zlib.decompressobj(-15, zdict=dictionary) if dictionary else zlib.decompressobj(-15)
    try:
        # one byte more than allowed: detects longer streams without decompressing them
        out = stream.decompress(data, limit + 1)
    except zlib.error as error:
        raise CorruptionError(f"{what}: deflate: {error}") from error
    if len(out) > limit:
        raise CorruptionError(f"{what}: decompresses to more than {limit} bytes (file is corrupt)")
    if not stream.eof:
        raise TruncatedError(f"{what}: deflate stream is truncated")
    if stream.unused_data:
        raise CorruptionError(
            f"{what}: {len(stream.unused_data)} unexpected bytes after the deflate stream"
        )
    return out


def deflate(data: bytes, *, dictionary: bytes = b"") -> bytes:
    """Compress to a raw deflate stream; its bytes do not depend on the machine's zlib."""
    return _core.deflate(data, dictionary)
