"""The trailer of a .mocps archive: where its clips stand, what they share, the catalogue.

It repeats what is wanted often, so that a clip or a window of it is found without reading the rest.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mocpack.arrays import F64, I64
from mocpack.coding.fields import FieldReader, FieldWriter, deflate, inflate
from mocpack.container.chunks import ARCHIVE_MAGIC, check_version, read_chunk_head
from mocpack.container.source import BytesSource, Source
from mocpack.errors import CorruptionError, FormatError, TruncatedError, UnsupportedVersionError

ARCHIVE_VERSION = 1
END_MAGIC = b"SOM"
HEAD_SIZE, FOOTER_SIZE = 5, 24
MAX_NAME = 1024  # bytes of UTF-8
COLUMNS = ("base", "file", "offset", "size", "at", "front", "frames", "frame_time")
MOST_INFLATED = 256  # times its bytes that an index may have when inflated, and INDEX_ROOM beside
INDEX_ROOM = 1 << 20


@dataclass(frozen=True)
class Place:
    """Where a clip stands: in which file, from where, how long; how it is put together."""

    base: bytes
    file: int
    offset: int
    size: int
    at: int
    front: bytes
    frames: int
    frame_time: float

    @property
    def file_size(self) -> int:
        """Bytes of the .mocp file."""
        return self.size + len(self.base)


@dataclass(frozen=True)
class Index:
    """What a trailer says.

    Attributes
    ----------
    files : tuple of (name, size)
        The shards, beside the file that the index stands in; clips of it have file 0.
    bases : tuple of bytes
        What clips share.
    names : tuple of str
        Of the clips, no two alike.
    columns : array, shape (N, 8)
        Of each clip: number of its base plus one or 0, file, offset, size, at, bytes of its front,
        frames, and the bits of its frame time, a float64 in seconds.
    fronts : bytes
        The fronts, one after another.
    """

    files: tuple[tuple[str, int], ...] = ()
    bases: tuple[bytes, ...] = ()
    names: tuple[str, ...] = ()
    columns: I64 = field(default_factory=lambda: np.zeros((0, len(COLUMNS)), np.int64))
    fronts: bytes = b""

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each clip by its name."""
        return {name: number for number, name in enumerate(self.names)}

    @cached_property
    def _front_ends(self) -> I64:
        return np.concatenate([[0], np.cumsum(self.columns[:, 5])])

    def places(self) -> Iterator[tuple[str, Place]]:
        """Go through names and places of all clips."""
        for number, name in enumerate(self.names):
            yield name, self.place(number)

    def place(self, number: int) -> Place:
        base, file, offset, size, at, _, frames, _ = map(int, self.columns[number])
        first, last = map(int, self._front_ends[number : number + 2])
        shared = self.bases[base - 1] if base else b""
        seconds = float(self.frame_times[number])
        return Place(shared, file, offset, size, at, self.fronts[first:last], frames, seconds)

    @property
    def frame_counts(self) -> I64:
        """Frames of each clip (N,)."""
        return self.columns[:, 6]

    @cached_property
    def frame_times(self) -> F64:
        """Seconds from frame to frame of each clip (N,)."""
        return np.ascontiguousarray(self.columns[:, 7]).view(np.float64)


@dataclass(frozen=True)
class Trailer:
    """The end of an archive: its index, its catalogue (Parquet, or none), where the two begin."""

    index: Index
    table: bytes | None
    start: int


def read_trailer(source: Source) -> Trailer:
    """Read the trailer of an archive; nothing else of it is looked at."""
    end = source.size - FOOTER_SIZE
    try:
        start, size = read_footer(source.read(max(0, end), min(source.size, FOOTER_SIZE)))
    except TruncatedError:
        if not is_archive(source):
            raise FormatError("not a .mocps archive") from None
        raise
    if size != source.size:
        raise CorruptionError(f"archive has {source.size} bytes, its footer says {size}")
    return parse_trailer(source.read(start, end - start), start)


def read_footer(data: bytes) -> tuple[int, int]:
    """Return where the trailer begins, and how many bytes the file has."""
    crc = int.from_bytes(data[17:21], "little")
    if len(data) < FOOTER_SIZE or data[21:] != END_MAGIC or zlib.crc32(data[:17]) != crc:
        raise TruncatedError(
            "archive has no footer: it was cut, or is still being written; "
            "`mocpack repair` saves what is there"
        )
    check_version("archive", data[16], ARCHIVE_VERSION)
    start, size = int.from_bytes(data[:8], "little"), int.from_bytes(data[8:16], "little")
    if not HEAD_SIZE <= start <= size - FOOTER_SIZE:
        raise CorruptionError(f"archive of {size} bytes has no trailer at {start}")
    return start, size


def parse_trailer(data: bytes, start: int) -> Trailer:
    """Read a trailer's bytes, from its start to the footer."""
    source = BytesSource(data)
    found: dict[str, bytes] = {}
    at = 0
    while at < len(data):
        tag, body, length, crc = read_chunk_head(source, at)
        at = body + length
        if at > len(data):
            raise TruncatedError(f"chunk {tag!r} has {len(data) - body} of {length} bytes")
        if tag in found:
            raise CorruptionError(f"archive's trailer has two {tag} chunks")
        if tag == "INDX" and at < len(data):
            raise CorruptionError("chunk INDX is not the last one of the archive's trailer")
        if tag in ("INDX", "tabl"):
            found[tag] = _checked_body(source, tag, body, length, crc)
        elif not tag[0].islower():
            raise UnsupportedVersionError(f"archive needs chunk {tag!r}, of a newer mocpack")
    if "INDX" not in found:
        raise CorruptionError("archive's trailer has no index")
    index = unpack_index(found["INDX"])
    _check_places(index, start)
    return Trailer(index, found.get("tabl"), start)


def pack_index(index: Index) -> bytes:
    out = FieldWriter()
    out.varint(len(index.files))
    for name, size in index.files:
        out.sized(name.encode())
        out.varint(size)
    out.varint(len(index.bases))
    for base in index.bases:
        out.sized(base)
    out.varint(len(index.names))
    for name in index.names:
        out.sized(name.encode())
    out.raw(np.ascontiguousarray(_planes(index.columns)).tobytes())
    out.raw(index.fronts)
    return deflate(out.bytes())


def unpack_index(body: bytes) -> Index:
    limit = INDEX_ROOM + MOST_INFLATED * len(body)
    read = FieldReader(inflate(body, limit, what="archive's index"), "archive's index")
    files = tuple((_text(read), read.varint()) for _ in range(_count(read)))
    bases = tuple(read.sized() for _ in range(_count(read)))
    count = _count(read)
    names = tuple(_text(read) for _ in range(count))
    planes = np.frombuffer(read.raw(8 * len(COLUMNS) * count), np.uint8)
    columns = _from_planes(planes, count)
    index = Index(files, bases, names, columns, read.rest())
    _check_index(index)
    return index


def is_archive(source: Source) -> bool:
    """Say whether a file begins as an archive does."""
    return source.size >= 4 and source.read(0, 4) == ARCHIVE_MAGIC


def _checked_body(source: Source, tag: str, body: int, length: int, crc: int) -> bytes:
    data = source.read(body, length)
    if zlib.crc32(data, zlib.crc32(tag.encode("ascii", "replace"))) != crc:
        raise CorruptionError(f"chunk {tag!r} fails its checksum")
    return data


def _check_index(index: Index) -> None:
    for name, _ in index.files:
        # a shard stands beside its archive: no name leads elsewhere
        if not name or name.startswith(".") or set(name) & set("/\\:\0"):
            raise CorruptionError(f"archive's index: {name[:40]!r} is no name of a shard")
    if len(index.numbers) < len(index.names):
        raise CorruptionError("archive's index has two clips of one name")
    base, file, offset, size, at, front, frames, _ = index.columns.T
    wrong = (index.columns < 0).any(1) | (base > len(index.bases)) | (file > len(index.files))
    wrong |= (at > size) | (front > size) | (offset + size < offset) | (frames < 1)
    wrong |= ~(np.isfinite(index.frame_times) & (index.frame_times > 0))
    if wrong.any():
        name = index.names[int(np.argmax(wrong))]
        raise CorruptionError(f"archive's index contradicts itself at clip {name[:40]!r}")
    if int(front.sum()) != len(index.fronts):
        raise CorruptionError(f"archive's index has fronts of {len(index.fronts)} bytes")


def _check_places(index: Index, end: int) -> None:
    """Complain about a clip of this file that does not stand before the trailer."""
    _, file, offset, size, *_ = index.columns.T
    beyond = (file == 0) & (offset + size > end)
    if beyond.any():
        at = int(np.argmax(beyond))
        raise CorruptionError(
            f"archive's index: clip {index.names[at][:40]!r} ends at {int((offset + size)[at])}, "
            f"the trailer begins at {end}"
        )


def _planes(columns: I64) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Return columns as bytes: column by column, lowest bytes first, so that zeros stand together.

    Of offsets the difference to the end of the clip before is written.
    """
    told = columns.copy()
    told[1:, 2] -= columns[:-1, 2] + columns[:-1, 3]
    told[:, 2] = (told[:, 2] << 1) ^ (told[:, 2] >> 63)
    parts = np.ascontiguousarray(told.T).astype("<i8").view(np.uint8)
    return parts.reshape(len(COLUMNS), -1, 8).transpose(0, 2, 1)


def _from_planes(planes: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], count: int) -> I64:
    parts = planes.reshape(len(COLUMNS), 8, count).transpose(0, 2, 1)
    told = np.ascontiguousarray(parts).view("<i8").reshape(len(COLUMNS), count)
    columns = told.T.astype(np.int64)
    steps = columns[:, 2]
    steps = ((steps >> 1) & np.int64(2**63 - 1)) ^ -(steps & 1)
    before = np.concatenate([[0], np.cumsum(columns[:, 3])[:-1]]) if count else steps
    columns[:, 2] = np.cumsum(steps) + before
    return columns


def _count(read: FieldReader) -> int:
    """Read how many things follow, of one byte at least each."""
    return read.varint(read.left)


def _text(read: FieldReader) -> str:
    try:
        return read.sized(MAX_NAME).decode()
    except UnicodeDecodeError as error:
        raise CorruptionError(f"archive's index: {error}") from error
