"""Write an archive with its catalog, in one file or in shards."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypedDict

import numpy as np

from mocpack.common.choice import list_names
from mocpack.common.units import parse_size
from mocpack.container import ArchiveWriter, Index, StoredClip
from mocpack.corpora import catalog, storage
from mocpack.corpora.catalog import Row
from mocpack.corpora.reading import MAX_WHOLE_CLIP_BYTES, open_corpus
from mocpack.corpora.sole_writer import sole_writer
from mocpack.errors import LosslessWarning, UsageError
from mocpack.motion import Motion

if TYPE_CHECKING:
    from pyarrow import Table

SUFFIX = ".mocps"


class WriterOptions(TypedDict, total=False):
    """Options of an archive that is written: labels of its catalog, and bytes per shard."""

    meta: Table | None
    name_pattern: str | None
    shard_size: str | int | None


class CorpusWriter:
    """Writes an archive with its catalog, in one file or in shards, atomically.

    Files appear when the ``with`` block ends without an error. Shards appear first, so that an
    archive never lists a missing shard. In the block, no other process can write the archive.

    With `append`, the archive starts with the clips of the existing one. If that is in shards, they
    stay, and new clips go to new shards.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        shard_size: str | int | None = None,
        meta: Table | None = None,
        name_pattern: str | None = None,
        table: Table | None = None,
        append: bool = False,
    ) -> None:
        self._path = str(path)
        if storage.base_name(self._path).suffix != SUFFIX:
            raise UsageError(f"{path}: the name of an archive must end in {SUFFIX}")
        catalog.import_parquet()  # report a missing package before the work
        self._shard_size = None if shard_size is None else parse_size(shard_size, "shard_size")
        self._meta, self._pattern = meta, name_pattern
        self._table, self._append = table, append
        self._old_index, self._old_table = Index(), None
        self._rows: list[Row] = []
        self._finished: list[tuple[str, int, Index]] = []
        self._names: set[str] = set()
        self._writer: ArchiveWriter | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._version = stack.enter_context(sole_writer(self._path))
            # entered first, so that it appears last
            stream = stack.enter_context(storage.stream(self._path, replaces=self._version))
            self._top = ArchiveWriter(stream)
            if self._append:
                self._add_old_clips()
            self._stack = stack.pop_all()
        return self

    def _add_old_clips(self) -> None:
        with open_corpus(self._path) as old:
            if old.index.files:
                self._old_index, self._names = old.index, set(old.names)
                self._shard_size = self._shard_size or max(size for _, size in old.index.files)
            elif self._shard_size is not None:
                raise UsageError(f"{self._path} is not sharded; append without --shard-size")
            else:
                for clip in old.stored_clips():
                    self.add(clip)
            self._old_table = old.load_catalog()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            try:
                self._finish()
            except BaseException as ending:
                self._stack.__exit__(type(ending), ending, ending.__traceback__)
                raise
        self._stack.__exit__(kind, error, trace)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def add(self, clip: StoredClip, row: Row | None = None) -> None:
        """Append a clip, and its catalog row unless a whole catalog was given."""
        if clip.name in self._names:
            raise UsageError(f"clip name {clip.name!r} is used twice")
        self._current_shard().add(clip)
        self._names.add(clip.name)
        if row is not None:
            self._rows.append(row)

    def check_labels(self, names: Iterable[str]) -> None:
        """Raise if the labels do not fit the catalog of these clips; call it before packing."""
        catalog.check_labels(names, self._meta, self._pattern, self._old_table)

    def _current_shard(self) -> ArchiveWriter:
        if self._shard_size is None:
            return self._top
        if self._writer is not None and self._writer.size >= self._shard_size:
            self._finish_shard()
        if self._writer is None:
            number = len(self._old_index.files) + len(self._finished)
            self._name = f"{storage.base_name(self._path).stem}-{number:05d}{SUFFIX}"
            stream = storage.stream(storage.sibling(self._path, self._name))
            self._writer = ArchiveWriter(self._stack.enter_context(stream))
        return self._writer

    def _finish_shard(self) -> None:
        assert self._writer is not None
        self._writer.end()
        self._finished.append((self._name, self._writer.size, self._writer.index()))
        self._writer = None

    def _warn_lossless(self) -> None:
        """Warn about clips that the automatic choice stored without loss."""
        names = [
            str(row[catalog.CLIP_COLUMN]) for row in self._rows if catalog.LOSSLESS_COLUMN in row
        ]
        if names:
            warnings.warn(
                f"{self._path}: {len(names)} of {len(self._rows)} clips are stored without loss "
                f"(column {catalog.LOSSLESS_COLUMN} of the catalog says why): {list_names(names)}",
                LosslessWarning,
                stacklevel=2,
            )

    def _finish(self) -> None:
        self._warn_lossless()
        if self._writer is not None:
            self._finish_shard()
        table = catalog.table_to_bytes(self._build_catalog())
        storage.check_version(self._path, self._version)  # before shards appear
        self._top.end(table, None if self._shard_size is None else self._merge_indexes())

    def _build_catalog(self) -> Table:
        if self._table is not None:
            return self._table
        new = catalog.make_table(self._rows)
        for labels in ((None, self._pattern), (self._meta, None)):
            try:
                new = catalog.add_labels(new, *labels)
            except UsageError as error:
                # names of motions inside files were unknown to `check_labels`; keep the work
                warnings.warn(f"{error}; its columns are left out", stacklevel=2)
        return new if self._old_table is None else catalog.concat_tables([self._old_table, new])

    def _merge_indexes(self) -> Index:
        """Return the index of all shards, existing ones first."""
        parts = [self._old_index, *(index for _, _, index in self._finished)]
        files = (*self._old_index.files, *((name, size) for name, size, _ in self._finished))
        bases: dict[bytes, int] = {}
        columns = []
        for number, part in enumerate(parts):
            places = [bases.setdefault(base, len(bases) + 1) for base in part.bases]
            rows = part.columns.copy()
            rows[:, 0] = np.array([0, *places])[rows[:, 0]]
            if number:
                rows[:, 1] = len(self._old_index.files) + number
            columns.append(rows)
        names = tuple(name for part in parts for name in part.names)
        fronts = b"".join(part.fronts for part in parts)
        return Index(files, tuple(bases), names, np.concatenate(columns), fronts)


def front_size(data: bytes) -> int:
    """Return the number of bytes at the start of a .mocp file that the trailer repeats.

    These are head and key poses of a long clip, so that a remote window needs one request. One
    request fetches a short clip as a whole.
    """
    if len(data) <= MAX_WHOLE_CLIP_BYTES:
        return 0
    with Motion(data, memory_limit=None) as motion:
        if not motion.decoder.is_indexed:
            return 0
        at, size = motion.byte_ranges(0, motion.frame_count)[0]
        return at + size
