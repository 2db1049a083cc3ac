"""The trailer of a .mocps archive: offsets of clips, their shared data, and the catalog.

It repeats frequently used bytes, so that a clip or window is found without reading the rest.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mocpack import _core
from mocpack.coding.fields import FieldWriter, deflate
from mocpack.common.arrays import F64, I64
from mocpack.common.source import BytesSource, Source
from mocpack.container.chunks import ARCHIVE_MAGIC, check_version, read_chunk_head
from mocpack.errors import CorruptionError, TruncatedError, UnsupportedVersionError

ARCHIVE_VERSION = 1
END_MAGIC = b"SOM"
HEAD_BYTES, FOOTER_BYTES = 5, 24
MAX_NAME_BYTES = 1024  # bytes of UTF-8
COLUMNS = ("base", "file", "offset", "size", "at", "front", "frames", "frame_time", "kind")
FILE, COPY = 0, 1  # kinds of clips: its own file; the same bytes as another clip


class ClipLocation(NamedTuple):
    """Where a clip is stored, and how to assemble its file."""

    base: bytes
    file: int
    offset: int
    size: int
    at: int
    front: bytes = b""

    @property
    def file_size(self) -> int:
        """Bytes of the .mocp file."""
        return self.size + len(self.base)


@dataclass(frozen=True)
class Index:
    """The index of an archive.

    Attributes
    ----------
    files : tuple of (name, size)
        The shards, numbered from 1; clips in the archive itself have file 0.
    bases : tuple of bytes
        The chunks that clips share.
    names : tuple of str
        Unique clip names.
    columns : array, shape (N, 9)
        For each clip: 1 + index of its base, or 0; file; offset; size; offset of the base; bytes
        of its front; frames; the bits of its frame time, a float64 in seconds; and its kind.
    fronts : bytes
        The concatenated fronts: first bytes of each clip.
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
        """The index of each clip by name."""
        return {name: index for index, name in enumerate(self.names)}

    @cached_property
    def _front_ends(self) -> I64:
        return np.cumsum(self.columns[:, 5])

    def places(self) -> Iterator[tuple[str, ClipLocation]]:
        """Yield name and location of all clips."""
        for index, name in enumerate(self.names):
            yield name, self.place(index)

    def place(self, index: int) -> ClipLocation:
        """Return the location of a clip; raise if its kind is unknown."""
        base, file, offset, size, at, front, _, _, kind = self.columns[index].tolist()
        if kind not in (FILE, COPY):
            raise UnsupportedVersionError(
                f"clip {self.names[index]!r} is of kind {kind}; a newer mocpack can read it"
            )
        shared = self.bases[base - 1] if base else b""
        end = int(self._front_ends[index]) if front else 0
        return ClipLocation(shared, file, offset, size, at, self.fronts[end - front : end])

    @property
    def skeleton_count(self) -> int:
        """Number of different skeletons; clips with one skeleton may share other bytes too."""
        return len({base[: _skeleton_size(base)] for base in self.bases} - {b""})

    @property
    def copy_count(self) -> int:
        """Number of clips that share the file of another clip."""
        return int((self.columns[:, 8] == COPY).sum())

    @property
    def frame_counts(self) -> I64:
        """Frame count of each clip (N,)."""
        return self.columns[:, 6]

    @cached_property
    def frame_times(self) -> F64:
        """Seconds from frame to frame of each clip (N,)."""
        return np.ascontiguousarray(self.columns[:, 7]).view(np.float64)


@dataclass(frozen=True)
class Trailer:
    """The end of an archive: index, catalog (Parquet bytes or None), and their offset."""

    index: Index
    table: bytes | None
    start: int


def read_trailer(source: Source) -> Trailer:
    """Read the trailer of an archive, and nothing else of it."""
    try:
        start, files, bases, names, columns, fronts, table = _core.read_archive(source)
    except TruncatedError as error:
        raise TruncatedError(f"{error}; `mocpack corpus repair` saves the intact clips") from error
    return Trailer(Index(files, bases, names, np.asarray(columns), fronts), table, start)


def is_archive(source: Source) -> bool:
    """Return whether a file starts like an archive."""
    return source.size >= 4 and source.read(0, 4) == ARCHIVE_MAGIC


def _skeleton_size(base: bytes) -> int:
    """Return the size of shared bytes without metadata, which comes last."""
    at = 0
    while at < len(base) and base[at : at + 4] != b"meta":
        _, body, length, _ = read_chunk_head(BytesSource(base), at)
        at = body + length
    return at


def read_footer(data: bytes) -> tuple[int, int]:
    """Parse the footer; return the offset of the trailer and the size of the file."""
    crc = int.from_bytes(data[17:21], "little")
    if len(data) < FOOTER_BYTES or data[21:] != END_MAGIC or zlib.crc32(data[:17]) != crc:
        raise TruncatedError(
            "archive footer is missing: the file is truncated or still being written; "
            "`mocpack corpus repair` saves the intact clips"
        )
    check_version("archive", data[16], ARCHIVE_VERSION)
    start, size = int.from_bytes(data[:8], "little"), int.from_bytes(data[8:16], "little")
    if not HEAD_BYTES <= start <= size - FOOTER_BYTES:
        raise CorruptionError(
            f"archive footer: trailer offset {start} is outside the file of {size} bytes"
        )
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
    """Return columns as byte planes, lowest bytes first, so that deflate finds runs of zeros.

    Offsets are stored relative to the end of the previous clip.
    """
    deltas = columns.copy()
    deltas[1:, 2] -= columns[:-1, 2] + columns[:-1, 3]
    deltas[:, 2] = (deltas[:, 2] << 1) ^ (deltas[:, 2] >> 63)
    parts = np.ascontiguousarray(deltas.T).astype("<i8").view(np.uint8)
    return parts.reshape(len(COLUMNS), -1, 8).transpose(0, 2, 1)
