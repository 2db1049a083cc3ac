"""Scenes: a file whose `CLIP` chunks each hold the name and the file of a clip, on one clock."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.container.chunks import (
    FORMAT_VERSION,
    MAGIC,
    check_version,
    pack_chunk,
    read_chunk_head,
)
from mocpack.container.source import Source
from mocpack.errors import (
    CorruptionError,
    InvalidClipError,
    TruncatedError,
    UnsupportedVersionError,
    UsageError,
)
from mocpack.texts import check_text

CLIP = "CLIP"
MAX_CLIP_NAME = 1024  # bytes of UTF-8
BLOCK = 1 << 20  # bytes looked at together


class PartSource(Source):
    """A part of another source, as a source of its own; the other is closed with it."""

    def __init__(self, source: Source, at: int, size: int) -> None:
        self._source, self._at, self.size = source, at, size

    def read(self, at: int, size: int) -> bytes:
        if at + size > self.size:
            raise TruncatedError(f"file ends {at + size - self.size} bytes too early")
        return self._source.read(self._at + at, size)

    def close(self) -> None:
        self._source.close()


def pack_scene(files: Mapping[str, bytes]) -> bytes:
    """Return the scene of whole .mocp files by their names."""
    if not files:
        raise UsageError("a scene has at least one clip")
    parts = [MAGIC + bytes([FORMAT_VERSION])]
    for name, data in files.items():
        try:
            check_text(name, MAX_CLIP_NAME, "a clip's name")
        except InvalidClipError as error:
            raise UsageError(str(error)) from error
        body = FieldWriter()
        body.sized(name.encode())
        body.raw(data)
        parts.append(pack_chunk(CLIP.encode(), body.bytes()))
    return b"".join(parts)


def scene_parts(source: Source) -> dict[str, Source] | None:
    """Return the clips of a scene by name, each as the source of a file; None of other files."""
    if not _is_scene(source):
        return None
    check_version("format", source.read(4, 1)[0], FORMAT_VERSION)
    found: dict[str, Source] = {}
    at = 5
    while at < source.size:
        tag, start, length, crc = read_chunk_head(source, at)
        at = start + length
        if at > source.size:
            raise TruncatedError(f"chunk {tag!r} has {source.size - start} of {length} bytes")
        if tag != CLIP and not tag[0].islower():
            raise UnsupportedVersionError(f"scene needs chunk {tag!r}, which a newer mocpack reads")
        if _checksum(source, tag, start, length) != crc:
            raise CorruptionError(f"chunk {tag!r} fails its checksum")
        if tag != CLIP:
            continue
        name, size = _name(source, start, length)
        if name in found:
            raise CorruptionError(f"scene has two clips {name[:40]!r}")
        part = PartSource(source, start + size, length - size)
        if _is_scene(part):
            raise CorruptionError(f"clip {name[:40]!r} of the scene is a scene itself")
        found[name] = part
    return found


def _is_scene(source: Source) -> bool:
    return source.size >= 9 and source.read(0, 4) == MAGIC and source.read(5, 4) == CLIP.encode()


def _name(source: Source, start: int, length: int) -> tuple[str, int]:
    """Return the name of a clip, and how many bytes it takes."""
    read = FieldReader(source.read(start, min(length, MAX_CLIP_NAME + 4)), "CLIP chunk")
    try:
        return read.sized(MAX_CLIP_NAME).decode(), read.at
    except UnicodeDecodeError as error:
        raise CorruptionError(f"CLIP chunk: {error}") from error


def _checksum(source: Source, tag: str, start: int, length: int) -> int:
    crc = zlib.crc32(tag.encode("ascii", "replace"))
    for at in range(start, start + length, BLOCK):
        crc = zlib.crc32(source.read(at, min(BLOCK, start + length - at)), crc)
    return crc
