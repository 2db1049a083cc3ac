"""The .mocps archive: .mocp files, the data that they share, and a trailer with an index.

A clip's file is stored without its skeleton chunks. These are stored once, in a `BASE` chunk, for
all clips with the same skeleton. Metadata is shared in the same way from its second occurrence on.
A clip whose file equals that of an earlier clip is stored as a reference to it. `read_clip_file`
restores each file byte for byte. A `BASE` chunk precedes its clips, so a truncated archive loses
only the clips after the cut. The trailer (`archive_index`) repeats frequently used bytes and can be
rebuilt from the chunks (`archive_scan`).
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
from mocpack.common.source import Source
from mocpack.common.texts import check_text
from mocpack.container.archive_index import (
    ARCHIVE_VERSION,
    COLUMNS,
    COPY,
    END_MAGIC,
    FILE,
    FOOTER_BYTES,
    HEAD_BYTES,
    MAX_NAME_BYTES,
    ClipLocation,
    Index,
    pack_index,
)
from mocpack.container.chunks import ARCHIVE_MAGIC, pack_chunk
from mocpack.errors import InvalidClipError, TruncatedError, UsageError, convert_errors

BASE_ID_BYTES = 4  # leading bytes of the SHA-256 of shared bytes
SHARED_CHUNKS = ("SKEL", "MESH", "REST", "HING")


@dataclass(frozen=True)
class StoredClip:
    """A .mocp file for an archive, and the parts of it that clips may share.

    Attributes
    ----------
    name : str
    data : bytes
        The file.
    at : int
        Offset of `skeleton`; `metadata` follows it directly.
    skeleton, metadata : bytes
        Chunks of the file, or nothing.
    frames : int
    frame_time : float
        Seconds.
    front : int
        Bytes at the start of the file that the trailer repeats.
    """

    name: str
    data: bytes
    at: int
    skeleton: bytes
    metadata: bytes
    frames: int
    frame_time: float
    front: int = 0


class ArchiveWriter:
    """Writes an archive clip by clip to a stream, which need not support seeking."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._bases: dict[bytes, int] = {}  # shared bytes of a clip, with their index from 1
        self._shared: dict[bytes, bytes] = {}  # the contents of BASE chunks by identifier
        self._metadata: set[bytes] = set()  # hashes of metadata that occurred
        self._originals: dict[bytes, tuple[int, str]] = {}  # clips by the hash of their file
        self._names: dict[str, None] = {}
        self._rows: list[tuple[int, ...]] = []
        self._fronts: list[bytes] = []
        self.size = 0
        self._write(ARCHIVE_MAGIC + bytes([ARCHIVE_VERSION]))

    def add(self, clip: StoredClip) -> None:
        """Append a clip; raise `UsageError` if its name exists."""
        check_name(clip.name)
        if clip.name in self._names:
            raise UsageError(f"clip name {clip.name!r} is used twice")
        digest = hashlib.sha256(clip.data).digest()
        if digest in self._originals:
            self._add_copy(clip.name, *self._originals[digest])
        else:
            self._originals[digest] = len(self._rows), clip.name
            self._add_file(clip)
        self._names[clip.name] = None

    def _add_file(self, clip: StoredClip) -> None:
        parts = self._share(clip)
        shared = b"".join(parts)
        data = clip.data[: clip.at] + clip.data[clip.at + len(shared) :]
        fields = FieldWriter()
        fields.sized(clip.name.encode())
        fields.varint(FILE)
        fields.varint(len(parts))
        fields.raw(b"".join(map(base_id, parts)))
        fields.varint(clip.at)
        self._write(pack_chunk(b"CLIP", fields.bytes() + data))
        base = self._bases.setdefault(shared, len(self._bases) + 1) if shared else 0
        bits = int(np.float64(clip.frame_time).view(np.int64))
        front = max(min(clip.front, clip.at), clip.front - len(shared))
        row = (base, 0, self.size - len(data), len(data), clip.at, front, clip.frames, bits, FILE)
        self._rows.append(row)
        self._fronts.append(data[:front])

    def _share(self, clip: StoredClip) -> list[bytes]:
        """Return the parts that this clip shares, and write those that no clip has shared before.

        Metadata often belongs to one clip, so only its second occurrence is shared.
        """
        wanted = [clip.skeleton] if clip.skeleton else []
        digest = hashlib.sha256(clip.metadata).digest()
        if clip.metadata and digest in self._metadata:
            wanted.append(clip.metadata)
        self._metadata.add(digest)
        if any(self._shared.get(base_id(part), part) != part for part in wanted):
            return []  # two parts have the same identifier
        for part in wanted:
            if base_id(part) not in self._shared:
                self._write(pack_chunk(b"BASE", base_id(part) + part))
                self._shared[base_id(part)] = part
        return wanted

    def _add_copy(self, name: str, row: int, original: str) -> None:
        fields = FieldWriter()
        fields.sized(name.encode())
        fields.varint(COPY)
        fields.sized(original.encode())
        self._write(pack_chunk(b"CLIP", fields.bytes()))
        base, file, offset, size, at, _, frames, bits, _ = self._rows[row]
        self._rows.append((base, file, offset, size, at, 0, frames, bits, COPY))

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
    """Return a .mocp file in stored form; the trailer repeats its first `front` bytes."""
    file = _core.File(data)
    at, size, metadata = _shared_run(file.chunk_sizes())
    skeleton, end = data[at : at + size], at + size
    frames, frame_time = file.frame_count, file.frame_time
    return StoredClip(
        name, data, at, skeleton, data[end : end + metadata], frames, frame_time, front
    )


def _shared_run(chunks: Sequence[tuple[str, int]]) -> tuple[int, int, int]:
    """Return offset and size of the skeleton's chunks, and the size of metadata after them."""
    at, first, last = HEAD_BYTES, 0, 0
    for tag, size in chunks:
        if tag in SHARED_CHUNKS:
            first, last = first or at, at + size
        elif tag != "HEAD":
            return first, last - first, size if tag == "meta" and last else 0
        at += size
    return first, last - first, 0


def read_clip_file(source: Source, place: ClipLocation) -> bytes:
    """Return the .mocp file of a clip, byte for byte."""
    data = source.read(place.offset, place.size)
    return _core.insert_bytes(data, place.at, place.base)


def read_stored_clips(
    source: Source, places: Iterable[tuple[str, ClipLocation]]
) -> Iterator[StoredClip]:
    """Yield clips in stored form, for copying to another archive."""
    for name, place in places:
        front = len(place.front)
        shared = len(place.base) if front > place.at else 0
        yield to_stored_clip(name, read_clip_file(source, place), front + shared)


def check_name(name: str) -> None:
    """Raise if a name is not a valid clip name."""
    with convert_errors(InvalidClipError, to=UsageError):
        check_text(name, MAX_NAME_BYTES, "a clip name")
    if not name:
        raise UsageError("a clip name must not be empty")


def base_id(base: bytes) -> bytes:
    """Return the 8-byte identifier of shared bytes."""
    return hashlib.sha256(base).digest()[:BASE_ID_BYTES]
