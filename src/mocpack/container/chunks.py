"""Chunks, of which files consist: tag, length, checksum and body."""

from __future__ import annotations

from mocpack import _core
from mocpack.coding.fields import MAX_VARINT_BYTES, FieldReader
from mocpack.common.source import Source
from mocpack.errors import CorruptionError, UnsupportedVersionError

# the first byte is not ASCII, so that a file converted as text is detected
MAGIC = b"\x93MOC"
ARCHIVE_MAGIC = b"\x93MOS"  # of archives, `archive.py`
NPY_MAGIC = b"\x93NUMPY"  # numpy's files start with the same byte
FORMAT_VERSION = 1
MAX_CHUNK_HEADER = 4 + MAX_VARINT_BYTES + 4


def is_packed(data: bytes) -> bool:
    """Return whether bytes start like a .mocp file or an archive, even if the magic is damaged."""
    return data[:1] == MAGIC[:1] and not data.startswith(NPY_MAGIC)


def pack_chunk(tag: bytes, body: bytes) -> bytes:
    """Return a whole chunk."""
    return _core.pack_chunk(tag, body)


def read_chunk_head(source: Source, at: int) -> tuple[str, int, int, int]:
    """Return tag, body offset, body length and checksum of the chunk at an offset."""
    read = FieldReader(source.read(at, min(MAX_CHUNK_HEADER, source.size - at)), "chunk header")
    tag = read.raw(4).decode("ascii", "replace")
    length = read.varint()
    return tag, at + read.at + 4, length, int.from_bytes(read.raw(4), "little")


def check_version(what: str, found: int, newest: int) -> None:
    """Raise for a version that this mocpack cannot read."""
    if found < 1:
        raise CorruptionError(f"{what} version must be at least 1, got {found}")
    if found > newest:
        raise UnsupportedVersionError(
            f"{what} version must be at most {newest}, got {found}; a newer mocpack can read it"
        )
