"""An open archive: clips by index or name, the catalog, and windows."""

from __future__ import annotations

import os
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Self, TypeVar, Unpack

import numpy as np

from mocpack.codec import ArrayWindows, WindowWriter
from mocpack.common.arguments import check_integer, check_path, is_url
from mocpack.common.choice import find_index
from mocpack.common.source import Source, open_source
from mocpack.common.units import parse_size
from mocpack.container import (
    DEFAULT_LIMIT,
    FILE,
    ClipLocation,
    ClipSource,
    Index,
    MemoryLimit,
    StoredClip,
    read_clip_file,
    read_stored_clips,
    read_trailer,
)
from mocpack.corpora import catalog, storage
from mocpack.corpora.remote import RangeCache, RemoteSource
from mocpack.errors import FormatError, UsageError, name_errors
from mocpack.motion import Motion

if TYPE_CHECKING:
    from pyarrow import Table

    from mocpack.corpora.windows import WindowOptions, Windows

MAX_OPEN_CLIPS = 2048  # keeps headers and skeletons in memory
MAX_NEW_CLIPS = 4  # open for windows for the first time; later they are closed
MAX_WHOLE_CLIP_BYTES = 1 << 16  # clips up to this size are read by one request
MIN_CATALOG_BYTES = 1 << 24  # reading a catalog may always use this much memory
DEFAULT_CACHE_SIZE = "256MB"
Opened = TypeVar("Opened")


def open_corpus(
    url: str | os.PathLike[str],
    *,
    cache: str | os.PathLike[str] | None = None,
    cache_size: str | int = DEFAULT_CACHE_SIZE,
    in_memory: bool = False,
    memory_limit: str | int | None = DEFAULT_LIMIT,
    storage_options: Mapping[str, object] | None = None,
) -> Corpus:
    """Open an archive of clips.

    Parameters
    ----------
    url : path or URL
        ``lafan1.mocps``, ``s3://bucket/lafan1.mocps``, or any other fsspec URL.
    cache : path, optional
        A folder for fetched bytes, which later runs reuse; default: memory.
    cache_size : str or int
        Maximum size of that cache.
    in_memory : bool
        Whether to read the whole archive into memory now.
    memory_limit : str or int, optional
        Memory that decoding one clip may use, as for `mocpack.open`. The catalog may use it too.
    storage_options : mapping, optional
        Arguments of the fsspec file system, such as endpoint and profile. The file system finds
        credentials itself.
    """
    check_path("url", url, may_be_url=True)
    name = os.fspath(url)
    limit = parse_size(cache_size, "cache_size")
    kept = RangeCache(limit, None if cache is None else os.fspath(cache))
    opened = _Files(name, dict(storage_options or {}), kept, in_memory)
    return Corpus(opened, memory_limit)


class Corpus:
    """An open archive. Threads can share it, and it can be forked or pickled.

    Attributes
    ----------
    index : Index
        The index from the trailer.
    trailer_size : int
        Bytes of the trailer.
    """

    def __init__(self, files: _Files, memory_limit: str | int | None = DEFAULT_LIMIT) -> None:
        self._files, self._limit = files, MemoryLimit.parse(memory_limit)
        try:
            trailer = read_trailer(files.source(0))
        except FormatError as error:
            files.close()
            raise type(error)(f"{files.name}: {error}") from error
        self.index: Index = trailer.index
        files.shards = self.index.files
        self._table_bytes, self._table = trailer.table, None
        self.trailer_size = files.source(0).size - trailer.start
        self._motions: OrderedDict[int, Motion] = OrderedDict()
        self._writers: OrderedDict[int, WindowWriter | None] = OrderedDict()  # None: closed again
        self._new_clips: deque[int] = deque()
        self._by_base: dict[bytes, Motion] = {}  # a clip by the chunks that it shares with others

    def __reduce__(self) -> tuple[object, ...]:
        return Corpus, (self._files, self._limit.max_bytes)

    def __repr__(self) -> str:
        hours = float((self.index.frame_counts * self.index.frame_times).sum()) / 3600
        shards = f" in {len(self.index.files)} shards" if self.index.files else ""
        return f"Corpus of {len(self)} clips{shards}, {hours:.2f} hours: {self._files.name}"

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, key: int | str) -> Motion:
        """Return a clip by index or name, open and not yet decoded."""
        return self.motion(self.clip_index(key))

    def __contains__(self, name: object) -> bool:
        return name in self.index.clip_indices

    def __iter__(self) -> Iterator[Motion]:
        for index in range(len(self)):
            yield self.motion(index)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files; clips of this corpus can no longer be read."""
        self._motions.clear()
        self._writers.clear()
        self._new_clips.clear()
        self._by_base.clear()
        self._files.close()

    @property
    def names(self) -> tuple[str, ...]:
        """Clip names: paths in the source folder without suffix."""
        return self.index.names

    @property
    def table(self) -> Table:
        """The catalog as a `pyarrow.Table` with one row per clip, in the order of `names`."""
        if self._table is None:
            if self._table_bytes is None:
                raise UsageError(
                    f"{self._files.name} is a shard without a catalog; open the main archive"
                )
            with name_errors(self._files.name):
                limit = self._limit.max_bytes
                limit = None if limit is None else max(limit, MIN_CATALOG_BYTES)
                table = catalog.read_table(self._table_bytes, len(self), limit)
            catalog.check_clips(table, self.names)
            self._table = catalog.add_index_columns(table, self.index)
        return self._table

    @property
    def is_remote(self) -> bool:
        """Whether the archive is read over a network."""
        return self._files.remote

    @property
    def columns(self) -> list[str]:
        """Column names of the catalog; empty for a shard."""
        return [] if self._table_bytes is None else list(self.table.column_names)

    @property
    def request_totals(self) -> tuple[int, int]:
        """Number of requests and bytes that this process fetched from remote files."""
        return self._files.request_totals

    @property
    def file_size(self) -> int:
        """Bytes of the archive, including its shards."""
        return self._files.source(0).size + sum(size for _, size in self.index.files)

    @property
    def bytes_by_part(self) -> dict[str, int]:
        """Bytes of the archive (`file`) by part, and of its clips as single files.

        `shared` are skeletons, metadata and chunk headers.
        """
        _, _, _, sizes, _, _, _, _, kinds = self.index.columns.T
        catalog_size = len(self._table_bytes or b"")
        parts = {
            "file": self.file_size,
            "clips": int(sizes[kinds == FILE].sum()),
            "index": self.trailer_size - catalog_size,
            "catalog": catalog_size,
        }
        parts["shared"] = 2 * parts["file"] - sum(parts.values())
        bases = np.array([0, *map(len, self.index.bases)])
        parts["single_files"] = int((sizes + bases[self.index.columns[:, 0]]).sum())
        return parts

    def clip_index(self, key: int | str) -> int:
        """Return the index of a clip, from its name or from an index that may be negative."""
        if isinstance(key, str):
            known = self.index.clip_indices.get(key)
            if known is not None:
                return known
            with name_errors(self._files.name):
                return find_index(self.names, key)
        index = check_integer("key", key)
        if not -len(self) <= index < len(self):
            raise IndexError(f"clip {index} of an archive of {len(self)}")
        return index % len(self)

    def select(self, where: str | None) -> list[int]:
        """Return the indices of the clips that match an SQL condition on the catalog."""
        if where is None:
            return list(range(len(self)))
        names = catalog.filter_rows(self.table, where).column(catalog.CLIP_COLUMN).to_pylist()
        return [self.index.clip_indices[name] for name in names]

    def motion(self, index: int) -> Motion:
        """Return a clip by index; recently used clips stay open."""
        motion = self._motions.get(index) if type(index) is int else None
        if motion is None:
            place = self.index.place(check_integer("index", index))
            file = self._files.source(place.file)
            with name_errors(f"clip {self.names[index]!r}", FormatError):
                whole = _is_read_whole(place)
                source = read_clip_file(file, place) if whole else ClipSource(file, place)
                like = self._by_base.get(place.base)
                motion = Motion(source, memory_limit=self._limit, like=like)
            if like is None and len(self._by_base) < MAX_OPEN_CLIPS:
                self._by_base[place.base] = motion
            _keep(self._motions, index, motion)
        return motion

    def window_writer(self, index: int) -> WindowWriter:
        """Return the writer of windows of a clip, whose frames must be evenly spaced.

        Clips that differ only in their motion share everything else. A clip stays open from its
        second opening on: in random order, few windows of a large archive need a clip again.
        """
        writer = self._writers.get(index)
        if writer is not None:
            return writer
        place = self.index.place(index)
        like = self._by_base.get(place.base)
        opener = None if like is None or index in self._motions else like.window_opener
        if opener is not None and _is_read_whole(place):
            writer = opener(read_clip_file(self._files.source(place.file), place))
        if writer is None:
            motion = self.motion(index)
            if motion.take_data.times is not None:
                raise UsageError(
                    f"clip {self.names[index]!r} has uneven frame times; resample it before "
                    "packing, or exclude it with where="
                )
            writer = motion.window_writer
            if place.base in self._by_base and not isinstance(writer, ArrayWindows):
                self._by_base[place.base] = motion  # the one before it may have another codec
        if self._writers.pop(index, writer) is not None:  # it was not open before
            self._new_clips.append(index)
            if len(self._new_clips) > MAX_NEW_CLIPS:
                self._writers[self._new_clips.popleft()] = None
        _keep(self._writers, index, writer)
        return writer

    def read(self, key: int | str) -> bytes:
        """Return the .mocp file of a clip, byte for byte as it was packed."""
        place = self.index.place(self.clip_index(key))
        return read_clip_file(self._files.source(place.file), place)

    def prefetch(self, windows: Sequence[tuple[int, int, int]]) -> None:
        """Fetch the bytes of (clip, start, stop) windows in parallel; no effect for local files."""
        if not self._files.remote:
            return
        wanted: dict[int, list[tuple[int, int]]] = {}
        for index, start, stop in windows:
            place = self.index.place(index)
            ranges = wanted.setdefault(place.file, [])
            if _is_read_whole(place):
                ranges.append((place.offset, place.size))
                continue
            inside = ClipSource(self._files.source(place.file), place)
            for at, size in self.motion(index).byte_ranges(start, stop):
                ranges.extend(inside.ranges(at, size))
        for file, ranges in wanted.items():
            source = self._files.source(file)
            assert isinstance(source, RemoteSource)
            source.prefetch(ranges)

    def windows(self, seconds: float = 2.0, **options: Unpack[WindowOptions]) -> Windows:
        """Return the windows of all clips as arrays; see `Windows` for the options."""
        from mocpack.corpora.windows import Windows

        return Windows(self, seconds, **options)

    def stored_clips(self) -> Iterator[StoredClip]:
        """Yield the clips in stored form, for copying to another archive."""
        for name, place in self.index.places():
            yield from read_stored_clips(self._files.source(place.file), [(name, place)])

    def load_catalog(self) -> Table:
        """Return the catalog; for a shard, build it from the clips."""
        if self._table_bytes is not None:
            return self.table
        return catalog.make_table(
            [catalog.describe_clip(name, self.read(name)) for name in self.names]
        )

    def table_with_prefix(self, prefix: str) -> Table:
        """Return the catalog with `prefix` before every clip name."""
        table = self.load_catalog()
        names = catalog.import_arrow().array([prefix + name for name in self.names])
        place = table.column_names.index(catalog.CLIP_COLUMN)
        return table.set_column(place, catalog.CLIP_COLUMN, names)


def _keep(opened: OrderedDict[int, Opened], index: int, one: Opened) -> Opened:
    """Add an opened object, and remove the oldest beyond MAX_OPEN_CLIPS."""
    opened[index] = one
    while len(opened) > MAX_OPEN_CLIPS:
        with suppress(KeyError):  # another thread closed the archive
            opened.popitem(last=False)
    return one


def _is_read_whole(place: ClipLocation) -> bool:
    return not place.front and place.size <= MAX_WHOLE_CLIP_BYTES


class _Files:
    """The files of an archive, opened on first use; index 0 is the archive, then its shards."""

    def __init__(
        self, name: str, options: dict[str, object], cache: RangeCache, in_memory: bool
    ) -> None:
        self.name, self._options, self._cache, self._in_memory = name, options, cache, in_memory
        self.remote = is_url(name) and not in_memory
        self.shards: Sequence[tuple[str, int]] = ()
        self._open: dict[int, Source] = {}

    def __reduce__(self) -> tuple[object, ...]:
        return _Files, (self.name, self._options, self._cache, self._in_memory)

    @property
    def request_totals(self) -> tuple[int, int]:
        remotes = [one for one in self._open.values() if isinstance(one, RemoteSource)]
        return sum(one.request_count for one in remotes), sum(one.fetched_bytes for one in remotes)

    def source(self, index: int) -> Source:
        if index not in self._open:
            # two threads may open it at the same time; one of the two stays
            self._open.setdefault(index, self._open_file(index))
        return self._open[index]

    def close(self) -> None:
        for source in self._open.values():
            source.close()
        self._open = {}

    def _open_file(self, index: int) -> Source:
        name = self.name if not index else storage.sibling(self.name, self.shards[index - 1][0])
        size = None if not index else self.shards[index - 1][1]
        if is_url(name):
            first = self._open.get(0)
            version = first.version if isinstance(first, RemoteSource) else ""
            source: Source = RemoteSource(name, self._options, self._cache, size, version)
        else:
            source = open_source(name)
        if size is not None and source.size != size:
            source.close()
            raise FormatError(
                f"{name}: expected {size} bytes from the archive's index, got {source.size}"
            )
        if self._in_memory:
            whole = open_source(source.read(0, source.size))
            source.close()
            return whole
        return source
