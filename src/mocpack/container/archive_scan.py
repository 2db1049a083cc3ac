"""Find the clips of a damaged archive by its chunks."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from mocpack.coding.fields import FieldReader
from mocpack.container.archive import BASE_ID_BYTES, NO_BASE
from mocpack.container.archive_index import HEAD_BYTES, MAX_NAME_BYTES, ClipLocation
from mocpack.container.chunks import read_chunk_head
from mocpack.errors import CorruptionError, FormatError
from mocpack.source import Source

READ_BYTES = 1 << 20  # per read
MAX_CLIP_FIELDS_BYTES = MAX_NAME_BYTES + BASE_ID_BYTES + 24  # before the clip's file


@dataclass(frozen=True)
class ScannedClip:
    """A clip that `scan` found: name, location, and its fault, if any."""

    name: str
    place: ClipLocation
    fault: str | None = None


def scan(source: Source) -> Iterator[ScannedClip]:
    """Yield the clips of an archive by its chunks; the archive may be truncated or damaged.

    Skips bytes that are not a chunk, up to the next chunk.
    """
    bases: dict[bytes, bytes] = {NO_BASE: b""}
    for tag, body, length, is_intact in _chunks(source):
        if tag == "BASE" and is_intact:
            data = source.read(body, length)
            bases[data[:BASE_ID_BYTES]] = data[BASE_ID_BYTES:]
        elif tag == "CLIP":
            try:
                found = _read_clip_fields(source, body, length, bases)
            except (FormatError, UnicodeDecodeError):
                continue
            yield (
                found
                if is_intact
                else ScannedClip(found.name, found.place, "its checksum is wrong")
            )


def scan_table(source: Source) -> bytes | None:
    """Find the catalog of an archive by its chunks; return None if it is damaged."""
    for tag, body, length, is_intact in _chunks(source):
        if tag == "tabl" and is_intact:
            return source.read(body, length)
    return None


def _read_clip_fields(
    source: Source, body: int, length: int, bases: dict[bytes, bytes]
) -> ScannedClip:
    read = FieldReader(source.read(body, min(length, MAX_CLIP_FIELDS_BYTES)), "CLIP chunk")
    name = read.sized(MAX_NAME_BYTES).decode()
    identity, at = read.raw(BASE_ID_BYTES), read.varint()
    size = length - read.at
    if at > size:
        raise CorruptionError(f"CLIP chunk: base offset {at} exceeds its {size} bytes")
    place = ClipLocation(bases.get(identity, b""), 0, body + read.at, size, at, b"", 0, 0.0)
    return ScannedClip(
        name, place, None if identity in bases else "its skeleton is missing or damaged"
    )


def _chunks(source: Source) -> Iterator[tuple[str, int, int, bool]]:
    """Yield tag, body offset, body length, and whether the checksum matches, of each chunk."""
    at = HEAD_BYTES
    while at < source.size:
        try:
            tag, body, length, crc = read_chunk_head(source, at)
        except FormatError:
            tag, body, length, crc = "", at, 0, 0
        whole = tag in ("BASE", "CLIP", "tabl", "INDX") and body + length <= source.size
        is_intact = whole and _checksum(source, tag, body, length) == crc
        if whole and (is_intact or _chunk_follows(source, body + length)):
            yield tag, body, length, is_intact
            at = body + length
        elif (place := _next_tag(source, at + 1)) is not None:
            at = place
        else:
            return


def _chunk_follows(source: Source, at: int) -> bool:
    """Return whether a chunk starts here, which confirms the length of the one before."""
    return source.read(at, min(4, source.size - at)) in (b"BASE", b"CLIP", b"tabl", b"INDX")


def _next_tag(source: Source, at: int) -> int | None:
    while at < source.size:
        block = source.read(at, min(READ_BYTES, source.size - at))
        places = [p for tag in (b"BASE", b"CLIP", b"INDX") if (p := block.find(tag)) >= 0]
        if places:
            return at + min(places)
        at += max(1, len(block) - 3)
    return None


def _checksum(source: Source, tag: str, body: int, length: int) -> int:
    crc = zlib.crc32(tag.encode())
    for at in range(body, body + length, READ_BYTES):
        crc = zlib.crc32(source.read(at, min(READ_BYTES, body + length - at)), crc)
    return crc
