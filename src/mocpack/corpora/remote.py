"""Archives by URL: fetches byte ranges, merges near ones, and caches them in memory or a folder."""

from __future__ import annotations

import hashlib
import os
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mocpack.common.file_errors import add_path_to_errors
from mocpack.common.remote_files import file_system, name_store_errors
from mocpack.common.source import Source
from mocpack.container import ARCHIVE_MAGIC, FOOTER_BYTES, read_footer
from mocpack.errors import FormatError, TruncatedError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

TAIL_BYTES = 1 << 18  # first request, from the end: the trailer of some hundred clips
MAX_GAP_BYTES = 1 << 15  # ranges closer than this are fetched by one request
MAX_PARALLEL_REQUESTS = 16
Connection = tuple[int, "AbstractFileSystem", str, ThreadPoolExecutor]  # of a process, by its id


class RemoteSource(Source):
    """A file by its URL. Threads share fetched bytes; other processes fetch their own."""

    def __init__(
        self,
        url: str,
        options: Mapping[str, object],
        cache: RangeCache,
        size: int | None = None,
        version: str = "",
    ) -> None:
        self.url, self._options, self._cache = url, dict(options), cache
        self._own: Connection | None = None
        self.request_count = self.fetched_bytes = 0
        # identifies the contents, so that cached bytes of an older archive at this URL are not used
        self.version = version
        self.size = self._fetch_tail() if size is None else size

    def __reduce__(self) -> tuple[object, ...]:
        return RemoteSource, (self.url, self._options, self._cache, self.size, self.version)

    @property
    def _key(self) -> str:
        return f"{self.version} {self.url}"

    def read(self, offset: int, size: int) -> bytes:
        if offset < 0 or size < 0 or offset + size > self.size:
            raise TruncatedError(
                f"{self.url}: {offset + size - self.size} bytes are missing at the end"
            )
        if not size:
            return b""
        data = self._cache.get(self._key, offset, size)
        return self._fetch(offset, size) if data is None else data

    def prefetch(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Fetch the ranges that are not cached; near ones share a request."""
        missing = [one for one in ranges if self._cache.get(self._key, *one) is None]
        wanted = merge_ranges(missing)
        if len(wanted) == 1:
            self._fetch(*wanted[0])
        elif wanted:
            list(self._connect()[3].map(lambda one: self._fetch(*one), wanted))

    def _fetch(self, offset: int, size: int) -> bytes:
        data = self._request(offset, offset + size)
        if len(data) != size:
            raise TruncatedError(f"{self.url}: expected {size} bytes at {offset}, got {len(data)}")
        self._cache.put(self._key, offset, data)
        return data

    def _fetch_tail(self) -> int:
        """Fetch the trailer, by a second request if it is long; return the file's size."""
        tail = self._request(-TAIL_BYTES, None)
        if len(tail) < FOOTER_BYTES:
            raise TruncatedError(f"{self.url}: {len(tail)} bytes are too few for a .mocps archive")
        try:
            start, size = read_footer(tail[-FOOTER_BYTES:])
        except TruncatedError as error:
            if len(tail) < TAIL_BYTES and tail[:4] != ARCHIVE_MAGIC:
                raise FormatError(f"{self.url}: not a .mocps archive") from error
            raise
        first = size - len(tail)
        if first < 0:
            raise TruncatedError(f"{self.url}: its footer says {size} bytes, but it has more")
        if start < first:
            tail = self._request(start, first) + tail
        self.version = hashlib.sha256(tail[start - size :]).hexdigest()[:16]
        self._cache.put(self._key, size - len(tail), tail)
        return size

    def _request(self, start: int, stop: int | None) -> bytes:
        _, system, path, _ = self._connect()
        self.request_count += 1
        with name_store_errors(self.url):
            data = system.cat_file(path, start=start, end=stop)
        self.fetched_bytes += len(data)
        return bytes(data)

    def _connect(self) -> Connection:
        """Return this process's file system; threads and sockets do not survive a fork."""
        own = self._own
        if own is None or own[0] != os.getpid():
            system, path = file_system(self.url, self._options)
            self._own = own = os.getpid(), system, path, ThreadPoolExecutor(MAX_PARALLEL_REQUESTS)
        return own


class RangeCache:
    """A cache of byte ranges of files; it drops the least recently used ranges first.

    Parameters
    ----------
    limit : int
        Bytes to keep.
    folder : path, optional
        Where to keep them for other processes and later runs; default: memory.
    """

    def __init__(self, limit: int, folder: str | Path | None = None) -> None:
        self._limit, self._folder = limit, None if folder is None else Path(folder)
        self._process, self._guard = os.getpid(), threading.RLock()
        self._listed: set[str] = set()
        self._sizes: OrderedDict[tuple[str, int], int] = OrderedDict()
        self._starts: dict[str, list[int]] = {}
        self._memory: dict[tuple[str, int], bytes] = {}
        self._total = 0

    def __reduce__(self) -> tuple[object, ...]:
        return RangeCache, (self._limit, self._folder)

    def get(self, url: str, offset: int, size: int) -> bytes | None:
        """Return these bytes, or None if they are not cached."""
        with self._lock():
            self._scan_folder(url)
            starts = self._starts.get(url, [])
            place = bisect_right(starts, offset) - 1
            # ranges overlap: a longer one that starts earlier may contain these bytes
            for first in starts[max(0, place - 3) : place + 1][::-1]:
                length = self._sizes[url, first]
                if offset + size <= first + length:
                    data = self._load(url, first, length)
                    if data is not None:
                        self._sizes.move_to_end((url, first))
                        return data[offset - first : offset - first + size]
        return None

    def put(self, url: str, offset: int, data: bytes) -> None:
        """Store bytes, unless a longer range is cached at the same offset."""
        if len(data) > self._limit:
            return
        with self._lock():
            self._scan_folder(url)
            if self._sizes.get((url, offset), -1) >= len(data):
                return
            self._drop(url, offset)
            self._store(url, offset, data)
            self._add_range(url, offset, len(data))
            while self._total > self._limit:
                self._drop(*next(iter(self._sizes)))

    def _lock(self) -> threading.RLock:
        # a lock that a thread held during a fork is never released in the child
        if self._process != os.getpid():
            self._process, self._guard = os.getpid(), threading.RLock()
        return self._guard

    def _scan_folder(self, url: str) -> None:
        """Register the ranges that earlier runs and other processes stored in the folder."""
        if self._folder is None or url in self._listed:
            return
        self._listed.add(url)
        paths = self._folder.glob(f"{_digest(url)}-*-*") if self._folder.is_dir() else ()
        for path in sorted(paths):
            _, offset, size = path.name.split("-")
            if offset.isdecimal() and size.isdecimal() and (url, int(offset)) not in self._sizes:
                self._add_range(url, int(offset), int(size))

    def _add_range(self, url: str, offset: int, size: int) -> None:
        starts = self._starts.setdefault(url, [])
        starts.insert(bisect_right(starts, offset), offset)
        self._sizes[url, offset] = size
        self._total += size

    def _drop(self, url: str, offset: int) -> None:
        size = self._sizes.pop((url, offset), None)
        if size is None:
            return
        self._starts[url].remove(offset)
        self._total -= size
        self._memory.pop((url, offset), None)
        if self._folder is not None:
            self._path(url, offset, size).unlink(missing_ok=True)

    def _path(self, url: str, offset: int, size: int) -> Path:
        assert self._folder is not None
        return self._folder / f"{_digest(url)}-{offset}-{size}"

    def _store(self, url: str, offset: int, data: bytes) -> None:
        if self._folder is None:
            self._memory[url, offset] = data
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._path(url, offset, len(data))
        temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
        with add_path_to_errors(path):
            temporary.write_bytes(data)
            temporary.replace(path)

    def _load(self, url: str, offset: int, size: int) -> bytes | None:
        if self._folder is None:
            return self._memory.get((url, offset))
        with suppress(OSError):
            data = self._path(url, offset, size).read_bytes()
            return data if len(data) == size else None
        return None  # another process removed it


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def merge_ranges(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges (offset, size), with near ones merged.

    >>> merge_ranges([(0, 10), (20, 10), (1_000_000, 5)])
    [(0, 30), (1000000, 5)]
    """
    merged: list[tuple[int, int]] = []
    for offset, size in sorted(ranges):
        if merged and offset <= merged[-1][0] + merged[-1][1] + MAX_GAP_BYTES:
            first, length = merged[-1]
            merged[-1] = first, max(length, offset + size - first)
        else:
            merged.append((offset, size))
    return merged
