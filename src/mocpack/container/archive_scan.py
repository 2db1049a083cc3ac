"""Find the clips of a damaged archive by its chunks."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mocpack.coding.fields import FieldReader
from mocpack.common.source import Source, open_source
from mocpack.container.archive import BASE_ID_BYTES
from mocpack.container.archive_index import COPY, FILE, HEAD_BYTES, MAX_NAME_BYTES, ClipLocation
from mocpack.container.chunks import read_chunk_head
from mocpack.errors import CorruptionError, FormatError

READ_BYTES = 1 << 20  # per read
CHUNKS = ("BASE", "CLIP", "tabl", "INDX")
NO_PLACE = ClipLocation(b"", 0, 0, 0, 0)
MAX_CLIP_BASES = 16  # writers use at most two
MAX_CLIP_FIELDS_BYTES = 2 * MAX_NAME_BYTES + MAX_CLIP_BASES * BASE_ID_BYTES + 32


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
    bases: dict[bytes, bytes] = {}
    clips: dict[str, ScannedClip] = {}
    for tag, body, length, is_intact in _chunks(source):
        if tag == "BASE" and is_intact:
            data = source.read(body, length)
            bases[data[:BASE_ID_BYTES]] = data[BASE_ID_BYTES:]
        elif tag == "CLIP":
            try:
                found = _read_clip_fields(source, body, length, bases, clips)
            except (FormatError, UnicodeDecodeError):
                continue
            if body + length > source.size:
                found = replace(found, fault="the file ends inside it")
            elif not is_intact:
                found = replace(found, fault="its checksum is wrong")
            clips.setdefault(found.name, found)
            yield found


def scan_table(source: Source) -> bytes | None:
    """Find the catalog of an archive by its chunks; return None if it is damaged."""
    for tag, body, length, is_intact in _chunks(source):
        if tag == "tabl" and is_intact:
            return source.read(body, length)
    return None


def has_intact_chunks(file: bytes) -> bool:
    """Return whether the checksums of all chunks of a .mocp file match."""
    source, at = open_source(file), HEAD_BYTES
    try:
        while at < source.size:
            tag, at, length, crc = read_chunk_head(source, at)
            if _checksum(source, tag, at, length) != crc:
                return False
            at += length
    except FormatError:
        return False
    return True


def _read_clip_fields(
    source: Source,
    body: int,
    length: int,
    bases: dict[bytes, bytes],
    clips: dict[str, ScannedClip],
) -> ScannedClip:
    there = min(length, MAX_CLIP_FIELDS_BYTES, source.size - body)
    read = FieldReader(source.read(body, there), "CLIP chunk")
    name = read.sized(MAX_NAME_BYTES).decode()
    kind = read.varint()
    if kind == COPY:
        original = read.sized(MAX_NAME_BYTES).decode()
        if original in clips:
            return replace(clips[original], name=name)
        return ScannedClip(name, NO_PLACE, f"clip {original!r}, which it repeats, is missing")
    if kind != FILE:
        return ScannedClip(name, NO_PLACE, f"it is of kind {kind}; a newer mocpack can read it")
    shared = [read.raw(BASE_ID_BYTES) for _ in range(read.varint(MAX_CLIP_BASES))]
    at = read.varint()
    size = length - read.at
    if at > size:
        raise CorruptionError(f"CLIP chunk: base offset {at} exceeds its {size} bytes")
    base = b"".join(bases.get(identity, b"") for identity in shared)
    place = ClipLocation(base, 0, body + read.at, size, at)
    is_complete = all(identity in bases for identity in shared)
    return ScannedClip(name, place, None if is_complete else "its skeleton is missing or damaged")


def _chunks(source: Source) -> Iterator[tuple[str, int, int, bool]]:
    """Yield tag, body offset, body length, and whether the checksum matches, of each chunk.

    A chunk that the end of the file cuts comes last.
    """
    at = HEAD_BYTES
    while at < source.size:
        try:
            tag, body, length, crc = read_chunk_head(source, at)
        except FormatError:
            tag, body, length, crc = "", at, 0, 0
        whole = tag in CHUNKS and body + length <= source.size
        is_intact = whole and _checksum(source, tag, body, length) == crc
        if whole and (is_intact or _chunk_follows(source, body + length)):
            yield tag, body, length, is_intact
            at = body + length
        elif (place := _next_tag(source, at + 1)) is not None:
            at = place
        else:
            if tag in CHUNKS and not whole:
                yield tag, body, length, False
            return


def _chunk_follows(source: Source, at: int) -> bool:
    """Return whether a chunk starts here, which confirms the length of the one before."""
    return source.read(at, min(4, source.size - at)) in [tag.encode() for tag in CHUNKS]


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
