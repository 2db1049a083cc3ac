"""Headers field by field: a writer that appends, a reader that never reads past the end."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt

from mocpack.arrays import Mask
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
        """Append an unsigned integer, seven bits a byte, lowest first; the top bit says "more"."""
        out = bytearray()
        while value > 127:
            out.append(value & 127 | 128)
            value >>= 7
        out.append(value)
        self._parts.append(bytes(out))

    def signed(self, value: int) -> None:
        """Append an integer as a varint of 0, -1, 1, -2, … → 0, 1, 2, 3, …"""
        self.varint(2 * value if value >= 0 else -2 * value - 1)

    def raw(self, data: bytes) -> None:
        self._parts.append(data)

    def sized(self, data: bytes) -> None:
        """Append a byte string with its length before it."""
        self.varint(len(data))
        self._parts.append(data)

    def mask(self, flags: npt.ArrayLike) -> None:
        """Append one bit a flag, lowest first, padded to whole bytes."""
        self._parts.append(np.packbits(np.asarray(flags, bool), bitorder="little").tobytes())

    def bytes(self) -> bytes:
        return b"".join(self._parts)


class FieldReader:
    """Reads what `FieldWriter` wrote; runs past the end raise `TruncatedError`."""

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
            raise CorruptionError(f"{self._what}: a number does not end")
        if value > limit:
            raise CorruptionError(f"{self._what}: {value} where at most {limit} can stand")
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
        """Complain about bytes left over."""
        if self.left:
            raise CorruptionError(f"{self._what} has {self.left} bytes too many")


def inflate(data: bytes, limit: int, *, dictionary: bytes = b"", what: str = "payload") -> bytes:
    """Undo a raw deflate stream that must end with `data` and hold at most `limit` bytes."""
    stream = zlib.decompressobj(-15, zdict=dictionary) if dictionary else zlib.decompressobj(-15)
    try:
        # one byte more than allowed, so that a longer stream shows without a decompression bomb
        out = stream.decompress(data, limit + 1)
    except zlib.error as error:
        raise CorruptionError(f"{what}: deflate: {error}") from error
    if len(out) > limit:
        raise CorruptionError(f"{what} inflates beyond {limit} bytes")
    if not stream.eof:
        raise TruncatedError(f"{what}: deflate stream is unfinished")
    if stream.unused_data:
        raise CorruptionError(f"{what} has {len(stream.unused_data)} bytes too many")
    return out


def deflate(data: bytes, *, dictionary: bytes = b"") -> bytes:
    """Return a raw deflate stream at the highest level."""
    if dictionary:
        stream = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zlib.Z_DEFAULT_STRATEGY, dictionary)
    else:
        stream = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    return stream.compress(data) + stream.flush()
