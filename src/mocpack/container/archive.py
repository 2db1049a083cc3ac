"""The .mocps archive: .mocp files, the data that they share, and a trailer with an index.

A clip's file is stored without its skeleton chunks. These are stored once, in a `BASE` chunk, for
all clips with the same skeleton. `read_clip_file` restores the file byte for byte. A `BASE` chunk
precedes its clips, so a truncated archive loses only the clips after the cut. The trailer
(`archive_index`) repeats frequently used bytes and can be rebuilt from the chunks (`archive_scan`).
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from mocpack import _core
from mocpack.coding.fields import FieldWriter
from mocpack.container.archive_index import (
    ARCHIVE_VERSION,
    COLUMNS,
    END_MAGIC,
    FOOTER_BYTES,
    HEAD_BYTES,
    MAX_NAME_BYTES,
    ClipLocation,
    Index,
    pack_index,
)
from mocpack.container.chunks import ARCHIVE_MAGIC, pack_chunk
from mocpack.errors import InvalidClipError, TruncatedError, UsageError
from mocpack.source import Source
from mocpack.texts import check_text

BASE_ID_BYTES = 8  # leading bytes of a base's SHA-256
NO_BASE = bytes(BASE_ID_BYTES)
SHARED_CHUNKS = ("SKEL", "MESH", "REST", "HING")


@dataclass(frozen=True)
class StoredClip:
    """A .mocp file as an archive stores it: without the bytes of its `base`.

    Attributes
    ----------
    name : str
    base : bytes
        The shared chunks that were removed; empty for none.
    at : int
        Their offset in the file.
    data : bytes
        The file without these chunks.
    frames : int
    frame_time : float
        Seconds.
    front : int
        Bytes at the start of `data` that the trailer repeats.
    """

    name: str
    base: bytes
    at: int
    data: bytes
    frames: int
    frame_time: float
    front: int = 0


class ArchiveWriter:
    """Writes an archive clip by clip to a stream, which need not support seeking."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._bases: dict[bytes, int] = {}
        self._names: dict[str, None] = {}
        self._rows: list[tuple[int, ...]] = []
        self._fronts: list[bytes] = []
        self.size = 0
        self._write(ARCHIVE_MAGIC + bytes([ARCHIVE_VERSION]))

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def add(self, clip: StoredClip) -> None:
        """Append a clip; raise `UsageError` if its name exists."""
        check_name(clip.name)
        if clip.name in self._names:
            raise UsageError(f"clip name {clip.name!r} is used twice")
        base = self._add_base(clip.base)
        before = FieldWriter()
        before.sized(clip.name.encode())
        before.raw(base_id(clip.base))
        before.varint(clip.at)
        chunk = pack_chunk(b"CLIP", before.bytes() + clip.data)
        self._write(chunk)
        offset = self.size - len(clip.data)
        self._names[clip.name] = None
        bits = int(np.float64(clip.frame_time).view(np.int64))
        row = (base, 0, offset, len(clip.data), clip.at, clip.front, clip.frames, bits)
        self._rows.append(row)
        self._fronts.append(clip.data[: clip.front])

    def index(self) -> Index:
        """Return the index of the clips written so far."""
        columns = np.array(self._rows, np.int64).reshape(-1, len(COLUMNS))
        return Index((), tuple(self._bases), tuple(self._names), columns, b"".join(self._fronts))

    def end(self, table: bytes | None = None, index: Index | None = None) -> None:
        """Write catalog, index and footer; pass `index` if it also lists clips of shards."""
        start = self.size
        if table is not None:
            self._write(pack_chunk(b"tabl", table))
        self._write(pack_chunk(b"INDX", pack_index(self.index() if index is None else index)))
        whole = self.size + FOOTER_BYTES
        said = start.to_bytes(8, "little") + whole.to_bytes(8, "little") + bytes([ARCHIVE_VERSION])
        self._write(said + zlib.crc32(said).to_bytes(4, "little") + END_MAGIC)

    def _add_base(self, base: bytes) -> int:
        if not base:
            return 0
        if base not in self._bases:
            self._write(pack_chunk(b"BASE", base_id(base) + base))
            self._bases[base] = len(self._bases) + 1
        return self._bases[base]

    def _write(self, data: bytes) -> None:
        self._stream.write(data)
        self.size += len(data)


class ClipSource(Source):
    """A clip's .mocp file, assembled from an archive on demand."""

    def __init__(self, source: Source, place: ClipLocation) -> None:
        self._source, self._place = source, place
        self.size = place.file_size

    def read(self, at: int, size: int) -> bytes:
        if at < 0 or size < 0 or at + size > self.size:
            raise TruncatedError(f"file is truncated: {at + size - self.size} bytes are missing")
        place, stop = self._place, at + size
        cut, after = place.at, place.at + len(place.base)
        if at >= after:
            return self._stored(at - len(place.base), size)
        parts = [
            self._stored(at, min(stop, cut) - at) if at < cut else b"",
            place.base[max(at, cut) - cut : max(0, stop - cut)],
            self._stored(cut, stop - after) if stop > after else b"",
        ]
        return b"".join(parts)

    def ranges(self, at: int, size: int) -> list[tuple[int, int]]:
        """Return the ranges of the archive file for bytes that the trailer does not repeat."""
        place = self._place
        first = at - len(place.base) if at >= place.at + len(place.base) else min(at, place.at)
        stop = at + size
        last = stop - len(place.base) if stop > place.at + len(place.base) else min(stop, place.at)
        first = max(first, len(place.front))
        return [(place.offset + first, last - first)] if last > first else []

    def _stored(self, at: int, size: int) -> bytes:
        front = self._place.front
        if at + size <= len(front):
            return front[at : at + size]
        return self._source.read(self._place.offset + at, size)


def to_stored_clip(name: str, data: bytes, front: int = 0) -> StoredClip:
    """Return a .mocp file in stored form; `front` counts bytes of the whole file."""
    file = _core.File(data)
    at, size = _shared_run(file.chunk_sizes())
    kept = data[:at] + data[at + size :]
    inside = max(at, front - size) if front > at else front
    base = data[at : at + size]
    front = min(inside, len(kept))
    return StoredClip(name, base, at, kept, file.frame_count, file.frame_time, front)


def _shared_run(chunks: Sequence[tuple[str, int]]) -> tuple[int, int]:
    """Return offset and size of the chunks that clips of one skeleton share."""
    at, first, last = HEAD_BYTES, 0, 0
    for tag, size in chunks:
        if tag in SHARED_CHUNKS:
            first, last = first or at, at + size
        elif tag != "HEAD":
            break
        at += size
    return first, last - first


def read_clip_file(source: Source, place: ClipLocation) -> bytes:
    """Return the .mocp file of a clip, byte for byte."""
    return ClipSource(source, place).read(0, place.file_size)


def read_stored_clips(
    source: Source, places: Iterable[tuple[str, ClipLocation]]
) -> Iterator[StoredClip]:
    """Yield clips in stored form, for copying to another archive."""
    for name, place in places:
        data = source.read(place.offset, place.size)
        front = len(place.front)
        yield StoredClip(name, place.base, place.at, data, place.frames, place.frame_time, front)


def check_name(name: str) -> None:
    """Raise if a name is not a valid clip name."""
    try:
        check_text(name, MAX_NAME_BYTES, "a clip name")
    except InvalidClipError as error:
        raise UsageError(str(error)) from error
    if not name:
        raise UsageError("a clip name must not be empty")


def base_id(base: bytes) -> bytes:
    """Return the 8-byte identifier of a base; zeros for none."""
    return hashlib.sha256(base).digest()[:BASE_ID_BYTES] if base else NO_BASE
