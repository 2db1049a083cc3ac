"""The clips of an archive by its chunks alone, cut or damaged as it may be."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from mocpack.coding.fields import FieldReader
from mocpack.container.archive import ID_SIZE, NO_BASE
from mocpack.container.archive_index import HEAD_SIZE, MAX_NAME, Place
from mocpack.container.chunks import read_chunk_head
from mocpack.errors import CorruptionError, FormatError
from mocpack.source import Source

BLOCK = 1 << 20  # bytes summed or searched together
CLIP_FIELDS = MAX_NAME + ID_SIZE + 24  # bytes that stand before a clip's own, at most


@dataclass(frozen=True)
class Found:
    """A clip that `scan` came upon: its name and place, whether it is whole."""

    name: str
    place: Place
    fault: str | None = None


def scan(source: Source) -> Iterator[Found]:
    """Find the clips of an archive by its chunks alone, cut or damaged as it may be.

    What cannot be a chunk is passed over, up to the next that can. Bases come with the clips.
    """
    bases: dict[bytes, bytes] = {NO_BASE: b""}
    for tag, body, length, sound in _chunks(source):
        if tag == "BASE" and sound:
            data = source.read(body, length)
            bases[data[:ID_SIZE]] = data[ID_SIZE:]
        elif tag == "CLIP":
            try:
                found = _scanned(source, body, length, bases)
            except (FormatError, UnicodeDecodeError):
                continue
            yield found if sound else Found(found.name, found.place, "fails its checksum")


def scan_table(source: Source) -> bytes | None:
    """Find the catalogue of an archive by its chunks alone; None where it is cut or damaged."""
    for tag, body, length, sound in _chunks(source):
        if tag == "tabl" and sound:
            return source.read(body, length)
    return None


def _scanned(source: Source, body: int, length: int, bases: dict[bytes, bytes]) -> Found:
    read = FieldReader(source.read(body, min(length, CLIP_FIELDS)), "CLIP chunk")
    name = read.sized(MAX_NAME).decode()
    identity, at = read.raw(ID_SIZE), read.varint()
    size = length - read.at
    if at > size:
        raise CorruptionError(f"CLIP chunk of {size} bytes has no byte {at}")
    place = Place(bases.get(identity, b""), 0, body + read.at, size, at, b"", 0, 0.0)
    return Found(name, place, None if identity in bases else "its skeleton is lost")


def _chunks(source: Source) -> Iterator[tuple[str, int, int, bool]]:
    """Return tag, place and length of the bodies of chunks, and whether their checksum is right."""
    at = HEAD_SIZE
    while at < source.size:
        try:
            tag, body, length, crc = read_chunk_head(source, at)
        except FormatError:
            tag, body, length, crc = "", at, 0, 0
        whole = tag in ("BASE", "CLIP", "tabl", "INDX") and body + length <= source.size
        sound = whole and _sum(source, tag, body, length) == crc
        if whole and (sound or _chunk_follows(source, body + length)):
            yield tag, body, length, sound
            at = body + length
        elif (place := _next_tag(source, at + 1)) is not None:
            at = place
        else:
            return


def _chunk_follows(source: Source, at: int) -> bool:
    """Whether a length is to be believed though the body is not: another chunk begins there."""
    return source.read(at, min(4, source.size - at)) in (b"BASE", b"CLIP", b"tabl", b"INDX")


def _next_tag(source: Source, at: int) -> int | None:
    while at < source.size:
        block = source.read(at, min(BLOCK, source.size - at))
        places = [p for tag in (b"BASE", b"CLIP", b"INDX") if (p := block.find(tag)) >= 0]
        if places:
            return at + min(places)
        at += max(1, len(block) - 3)
    return None


def _sum(source: Source, tag: str, body: int, length: int) -> int:
    crc = zlib.crc32(tag.encode())
    for at in range(body, body + length, BLOCK):
        crc = zlib.crc32(source.read(at, min(BLOCK, body + length - at)), crc)
    return crc
