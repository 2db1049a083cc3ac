"""The trailer of a .mocps archive: where its clips stand, what they share, the catalogue.

It repeats what is wanted often, so that a clip or a window of it is found without reading the rest.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mocpack import _core
from mocpack.arrays import F64, I64
from mocpack.coding.fields import FieldWriter, deflate
from mocpack.container.chunks import ARCHIVE_MAGIC, check_version
from mocpack.errors import CorruptionError, TruncatedError
from mocpack.source import Source

ARCHIVE_VERSION = 1
END_MAGIC = b"SOM"
HEAD_BYTES, FOOTER_BYTES = 5, 24
MAX_NAME_BYTES = 1024  # bytes of UTF-8
COLUMNS = ("base", "file", "offset", "size", "at", "front", "frames", "frame_time")


@dataclass(frozen=True)
class ClipLocation:
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
    def clip_indices(self) -> dict[str, int]:
        """The number of each clip by its name."""
        return {name: index for index, name in enumerate(self.names)}

    @cached_property
    def _front_ends(self) -> I64:
        return np.concatenate([[0], np.cumsum(self.columns[:, 5])])

    def places(self) -> Iterator[tuple[str, ClipLocation]]:
        """Go through names and places of all clips."""
        for index, name in enumerate(self.names):
            yield name, self.place(index)

    def place(self, index: int) -> ClipLocation:
        base, file, offset, size, at, _, frames, _ = map(int, self.columns[index])
        first, last = map(int, self._front_ends[index : index + 2])
        shared = self.bases[base - 1] if base else b""
        seconds = float(self.frame_times[index])
        return ClipLocation(
            shared, file, offset, size, at, self.fronts[first:last], frames, seconds
        )

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
    try:
        start, files, bases, names, columns, fronts, table = _core.read_archive(source)
    except TruncatedError as error:
        raise TruncatedError(f"{error}; `mocpack corpus repair` saves what is there") from error
    return Trailer(Index(files, bases, names, np.asarray(columns), fronts), table, start)


def is_archive(source: Source) -> bool:
    """Say whether a file begins as an archive does."""
    return source.size >= 4 and source.read(0, 4) == ARCHIVE_MAGIC


def read_footer(data: bytes) -> tuple[int, int]:
    """Return where the trailer begins, and how many bytes the file has."""
    crc = int.from_bytes(data[17:21], "little")
    if len(data) < FOOTER_BYTES or data[21:] != END_MAGIC or zlib.crc32(data[:17]) != crc:
        raise TruncatedError(
            "archive has no footer: it was cut, or is still being written; "
            "`mocpack corpus repair` saves what is there"
        )
    check_version("archive", data[16], ARCHIVE_VERSION)
    start, size = int.from_bytes(data[:8], "little"), int.from_bytes(data[8:16], "little")
    if not HEAD_BYTES <= start <= size - FOOTER_BYTES:
        raise CorruptionError(f"archive of {size} bytes has no trailer at {start}")
    return start, size


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
    out.raw(np.ascontiguousarray(_to_byte_planes(index.columns)).tobytes())
    out.raw(index.fronts)
    return deflate(out.bytes())


def _to_byte_planes(columns: I64) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Return columns as bytes: column by column, lowest bytes first, so that zeros stand together.

    Of offsets the difference to the end of the clip before is written.
    """
    deltas = columns.copy()
    deltas[1:, 2] -= columns[:-1, 2] + columns[:-1, 3]
    deltas[:, 2] = (deltas[:, 2] << 1) ^ (deltas[:, 2] >> 63)
    parts = np.ascontiguousarray(deltas.T).astype("<i8").view(np.uint8)
    return parts.reshape(len(COLUMNS), -1, 8).transpose(0, 2, 1)
