"""Payloads: the bytes of a clip that a codec wrote."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from mocpack.common.source import BytesSource, Source
from mocpack.errors import CorruptionError, TruncatedError


@dataclass(frozen=True)
class Payload:
    """The bytes of a payload, read in parts or all at once.

    Attributes
    ----------
    source : Source
        The file that contains it.
    offset, size : int
        Position in the source. In a truncated file, `size` counts the bytes that are present.
    missing_bytes : int
        Bytes missing at the end of a truncated file.
    checksum : int, optional
        CRC-32 of the DATA chunk, if the payload comes from a file.
    memory_limit : int, optional
        Maximum memory for opening it, in bytes.
    """

    source: Source
    offset: int
    size: int
    missing_bytes: int = 0
    checksum: int | None = None
    memory_limit: int | None = None

    @classmethod
    def from_bytes(cls, data: bytes) -> Payload:
        """Return a payload of bytes in memory."""
        return cls(BytesSource(data), 0, len(data))

    @property
    def is_truncated(self) -> bool:
        """Whether bytes are missing at the end."""
        return self.missing_bytes > 0

    def read(self, offset: int, size: int) -> bytes:
        """Return `size` bytes at `offset` without checking them, or raise `TruncatedError`."""
        if offset < 0 or size < 0 or offset + size > self.size:
            raise TruncatedError(
                f"payload has {self.size} bytes, requested {offset} to {offset + size}"
            )
        return self.source.read(self.offset + offset, size)

    def read_all(self) -> bytes:
        """Return all bytes; a complete file is checked against its checksum."""
        data = self.source.read(self.offset, self.size)
        if self.checksum is not None and not self.missing_bytes:
            found = zlib.crc32(data, zlib.crc32(b"DATA"))
            if found != self.checksum:
                raise CorruptionError("chunk DATA: checksum mismatch (file is corrupt)")
        return data
