"""The .mocps archive: .mocp files one after another, what they share once, a trailer to find them.

A clip's file is kept but for one run of bytes, its skeleton's chunks, which stand once in a `BASE`
chunk for all clips that have the same; `restored` puts the very file together again. Everything a
clip needs stands before or with it, so that a cut archive loses what was cut and no more; the
trailer repeats what is wanted often and can be made anew from the chunks (`scan`).
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import BinaryIO

import numpy as np

from mocpack.arrays import F64, I64
from mocpack.coding.fields import FieldReader, FieldWriter, deflate, inflate
from mocpack.container.chunks import (
    ARCHIVE_MAGIC,
    check_version,
    pack_chunk,
    read_chunk_head,
)
from mocpack.container.head import Head, unpack_head
from mocpack.container.source import BytesSource, Source
from mocpack.errors import (
    CorruptionError,
    FormatError,
    InvalidClipError,
    TruncatedError,
    UnsupportedVersionError,
    UsageError,
)
from mocpack.take import check_text

ARCHIVE_VERSION = 1
END_MAGIC = b"SOM"
HEAD_SIZE, FOOTER_SIZE = 5, 24
ID_SIZE = 8  # bytes of a base's SHA-256 that name it
NO_BASE = bytes(ID_SIZE)
MAX_NAME = 1024  # bytes of UTF-8
SHARED = ("SKEL", "MESH", "REST", "HING")
COLUMNS = ("base", "file", "offset", "size", "at", "front", "frames", "frame_time")
MOST_INFLATED = 256  # times its bytes that an index may have when inflated, and INDEX_ROOM beside
INDEX_ROOM = 1 << 20
BLOCK = 1 << 20  # bytes copied or summed together
CLIP_FIELDS = MAX_NAME + ID_SIZE + 24  # bytes that stand before a clip's own, at most


@dataclass(frozen=True)
class Stored:
    """A .mocp file as an archive keeps it: without the run of bytes that `base` has.

    Attributes
    ----------
    name : str
    base : bytes
        The chunks taken out; empty for none.
    at : int
        Where in the file they stood.
    data : bytes
        The file without them.
    frames : int
    frame_time : float
        Seconds.
    front : int
        Bytes of `data` that the trailer repeats.
    """

    name: str
    base: bytes
    at: int
    data: bytes
    frames: int
    frame_time: float
    front: int = 0


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


@dataclass(frozen=True)
class Found:
    """A clip that `scan` came upon: its name and place, whether it is whole."""

    name: str
    place: Place
    fault: str | None = None


class ArchiveWriter:
    """Writes an archive clip by clip to a stream that need not be able to seek."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._bases: dict[bytes, int] = {}
        self._names: dict[str, None] = {}
        self._rows: list[tuple[int, ...]] = []
        self._fronts: list[bytes] = []
        self.size = 0
        self._put(ARCHIVE_MAGIC + bytes([ARCHIVE_VERSION]))

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def add(self, clip: Stored) -> None:
        """Append a clip; two of one name are a `UsageError`."""
        check_name(clip.name)
        if clip.name in self._names:
            raise UsageError(f"two clips are named {clip.name!r}")
        base = self._base(clip.base)
        before = FieldWriter()
        before.sized(clip.name.encode())
        before.raw(base_id(clip.base))
        before.varint(clip.at)
        chunk = pack_chunk(b"CLIP", before.bytes() + clip.data)
        self._put(chunk)
        offset = self.size - len(clip.data)
        self._names[clip.name] = None
        bits = int(np.float64(clip.frame_time).view(np.int64))
        row = (base, 0, offset, len(clip.data), clip.at, clip.front, clip.frames, bits)
        self._rows.append(row)
        self._fronts.append(clip.data[: clip.front])

    def index(self) -> Index:
        """Return the index of what was written so far."""
        columns = np.array(self._rows, np.int64).reshape(-1, len(COLUMNS))
        return Index((), tuple(self._bases), tuple(self._names), columns, b"".join(self._fronts))

    def end(self, table: bytes | None = None, index: Index | None = None) -> None:
        """Write catalogue, index and footer; `index` where it is to tell of other files too."""
        start = self.size
        if table is not None:
            self._put(pack_chunk(b"tabl", table))
        self._put(pack_chunk(b"INDX", pack_index(self.index() if index is None else index)))
        whole = self.size + FOOTER_SIZE
        said = start.to_bytes(8, "little") + whole.to_bytes(8, "little") + bytes([ARCHIVE_VERSION])
        self._put(said + zlib.crc32(said).to_bytes(4, "little") + END_MAGIC)

    def _base(self, base: bytes) -> int:
        if not base:
            return 0
        if base not in self._bases:
            self._put(pack_chunk(b"BASE", base_id(base) + base))
            self._bases[base] = len(self._bases) + 1
        return self._bases[base]

    def _put(self, data: bytes) -> None:
        self._stream.write(data)
        self.size += len(data)


class ClipSource(Source):
    """A clip's .mocp file, put together from an archive as it is read."""

    def __init__(self, source: Source, place: Place) -> None:
        self._source, self._place = source, place
        self.size = place.file_size

    def read(self, at: int, size: int) -> bytes:
        if at < 0 or size < 0 or at + size > self.size:
            raise TruncatedError(f"file ends {at + size - self.size} bytes too early")
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
        """Return where in the archive's file bytes stand that the trailer does not have."""
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


def stored(name: str, data: bytes, front: int = 0) -> Stored:
    """Return a .mocp file as an archive keeps it; `front` counts bytes of the whole file."""
    head, at, size = _head_and_run(data)
    kept = data[:at] + data[at + size :]
    inside = max(at, front - size) if front > at else front
    front = min(inside, len(kept))
    base = data[at : at + size]
    return Stored(name, base, at, kept, head.frame_count, head.frame_time, front)


def _head_and_run(data: bytes) -> tuple[Head, int, int]:
    """Return a file's head; place and size of the chunks that clips of one skeleton share."""
    source = BytesSource(data)
    head, at, first, last = None, HEAD_SIZE, 0, 0
    while at < len(data):
        tag, body, length, _ = read_chunk_head(source, at)
        if tag == "HEAD":
            head = unpack_head(source.read(body, length))
        elif tag in SHARED:
            first, last = first or at, body + length
        else:
            break
        at = body + length
    if head is None:
        raise CorruptionError("a clip's file has no HEAD chunk")
    return head, first, last - first


def restored(source: Source, place: Place) -> bytes:
    """Return the .mocp file of a clip, byte for byte."""
    return ClipSource(source, place).read(0, place.file_size)


def is_archive(source: Source) -> bool:
    """Say whether a file begins as an archive does."""
    return source.size >= 4 and source.read(0, 4) == ARCHIVE_MAGIC


def check_name(name: str) -> None:
    """Complain about what cannot be a clip's name."""
    try:
        check_text(name, MAX_NAME, "a clip's name")
    except InvalidClipError as error:
        raise UsageError(str(error)) from error
    if not name:
        raise UsageError("a clip's name is empty")


def base_id(base: bytes) -> bytes:
    """Return what a clip names its base by; zeros for none."""
    return hashlib.sha256(base).digest()[:ID_SIZE] if base else NO_BASE


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
        if tag in found:
            raise CorruptionError(f"archive's trailer has two {tag} chunks")
        if tag != "INDX" and not tag[0].islower():
            raise UnsupportedVersionError(f"archive needs chunk {tag!r}, of a newer mocpack")
        found[tag] = _checked_body(source, tag, body, length, crc)
        at = body + length
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


def copied(source: Source, places: Iterable[tuple[str, Place]]) -> Iterator[Stored]:
    """Return clips of an archive as another takes them, nothing coded anew."""
    for name, place in places:
        data = source.read(place.offset, place.size)
        front = len(place.front)
        yield Stored(name, place.base, place.at, data, place.frames, place.frame_time, front)


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


def _checked_body(source: Source, tag: str, body: int, length: int, crc: int) -> bytes:
    if body + length > source.size:
        raise TruncatedError(f"chunk {tag!r} has {source.size - body} of {length} bytes")
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
