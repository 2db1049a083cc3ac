"""A cache of decoded motion as float32, in memory that processes share.

The cache is one sparse file in shared memory. Each clip has a fixed range of it, divided into
blocks of frames that are filled on demand. A writer sets a block's mark after it writes the values
and clears it before it drops them. A reader checks the mark before and after it copies, so readers
need no lock. The native core does this in the right memory order (`core/src/features/blocks.h`).
"""

from __future__ import annotations

import mmap
import os
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from mocpack import _core
from mocpack.common.arguments import check_integer
from mocpack.common.arrays import F32, I64
from mocpack.corpora.features import STORED_FEATURES, window_plan
from mocpack.corpora.reading import Corpus
from mocpack.errors import UsageError

BLOCK_FRAMES = 1024  # float32 rows of any width then fill whole pages of 4096 bytes
PAGE_BYTES = 4096
EVICTION_TARGET = 0.9  # fraction of the limit to evict down to
SHARED_MEMORY_FOLDER = "/dev/shm"


class DecodedCache:
    """A cache of decoded clips of an archive; it evicts the least recently used blocks.

    Parameters
    ----------
    corpus : Corpus
    limit : int
        Bytes.
    """

    def __init__(self, corpus: Corpus, limit: int) -> None:
        if not hasattr(os, "pwrite"):
            raise UsageError("the cache of decoded motion needs a POSIX system")
        check_integer("limit", limit, 1)
        self._corpus, self._limit = corpus, limit
        self._widths = _row_widths(corpus)
        blocks = -(-corpus.index.frame_counts // BLOCK_FRAMES)
        self._first_blocks = np.concatenate([[0], np.cumsum(blocks)])
        self._offsets = _head_size(int(self._first_blocks[-1])) + np.concatenate(
            [[0], np.cumsum(blocks * BLOCK_FRAMES * 4 * self._widths)]
        )
        self._map_file(self._create_file())

    _full: bool  # whether memory ran out

    def __getstate__(self) -> dict[str, object]:
        names = ("_corpus", "_limit", "_widths", "_first_blocks", "_offsets", "_path")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        try:
            handle = os.open(self._path, os.O_RDWR)
        except FileNotFoundError:  # the process that sent it has ended: start with an empty cache
            handle = self._create_file()
        self._map_file(handle)

    @property
    def used_bytes(self) -> int:
        """Bytes of decoded motion in the cache."""
        return int(self._counters[0])

    def write_window(
        self, clip: int, start: int, stop: int, plan: _core.WindowPlan, out: F32
    ) -> None:
        """Write a window of frames `start` to `stop` to `out`; decode blocks that are missing."""
        blocks = self._clips.get(clip) or self._open_blocks(clip)
        while (missing := blocks.write(plan, start, stop, out)) >= 0:
            if not self._fill_block(clip, missing):
                self._corpus.window_writer(clip).write(plan, start, stop, out)
                return

    def _open_blocks(self, clip: int) -> _core.RowBlocks:
        frames = int(self._corpus.index.frame_counts[clip])
        width, place = int(self._widths[clip]), int(self._offsets[clip])
        rows = np.frombuffer(self._memory, np.float32, frames * width, place)
        own = slice(int(self._first_blocks[clip]), int(self._first_blocks[clip + 1]))
        blocks = self._clips[clip] = _core.RowBlocks(
            rows.reshape(frames, width), self._marks[own], self._last_used[own], BLOCK_FRAMES
        )
        return blocks

    def _fill_block(self, clip: int, block: int) -> bool:
        """Decode a block into the cache; return whether there was enough memory."""
        if self._full:
            return False
        frames = int(self._corpus.index.frame_counts[clip])
        start, stop = block * BLOCK_FRAMES, min(frames, (block + 1) * BLOCK_FRAMES)
        self._corpus.prefetch([(clip, start, stop)])
        rows = decode_rows(self._corpus, clip, start, stop)
        number = int(self._first_blocks[clip]) + block
        width = int(self._widths[clip])
        with self._lock():
            if self._marks[number]:
                return True
            try:
                # pwrite, because a store to the mapping kills the process when memory runs out
                at = int(self._offsets[clip]) + start * width * 4
                _write_at(self._handle, rows.tobytes(), at)
            except OSError:
                self._full = True
                return False
            self._counters[0] += rows.nbytes  # bytes in use
            self._counters[1] += 1  # a refilled block gets a new mark
            self._sizes[number] = rows.nbytes
            self._last_used[number] = time.monotonic_ns() >> 20
            _core.mark_block(self._marks, number, int(self._counters[1]))
            if self._counters[0] > self._limit:
                self._evict(number)
        return True

    def _evict(self, but: int) -> None:
        """Evict the least recently used blocks, but keep block `but`, which a reader waits for."""
        filled = np.flatnonzero(self._marks)
        for number in filled[np.argsort(self._last_used[filled], kind="stable")].tolist():
            if self._counters[0] <= EVICTION_TARGET * self._limit:
                return
            if number == but:
                continue
            _core.mark_block(self._marks, number, 0)
            clip = int(np.searchsorted(self._first_blocks, number, side="right")) - 1
            place = int(self._offsets[clip])
            size = BLOCK_FRAMES * 4 * int(self._widths[clip])
            at = place + (number - int(self._first_blocks[clip])) * size
            with suppress(OSError, AttributeError):
                self._memory.madvise(mmap.MADV_REMOVE, at, size)
            self._counters[0] -= self._sizes[number]

    def _create_file(self) -> int:
        """Create the shared file; return its descriptor."""
        folder = SHARED_MEMORY_FOLDER if Path(SHARED_MEMORY_FOLDER).is_dir() else None
        handle, self._path = tempfile.mkstemp(prefix="mocpack-", dir=folder)
        os.truncate(handle, int(self._offsets[-1]))
        weakref.finalize(self, _remove_file, self._path, os.getpid())
        return handle

    def _map_file(self, handle: int) -> None:
        self._handle, self._full = handle, False
        weakref.finalize(self, os.close, handle)
        self._memory = mmap.mmap(handle, int(self._offsets[-1]))
        blocks = int(self._first_blocks[-1])
        head = np.frombuffer(self._memory, np.int64, 2 + 3 * blocks)
        self._counters: I64 = head[:2]
        self._marks: I64 = head[2 : 2 + blocks]
        self._last_used: I64 = head[2 + blocks : 2 + 2 * blocks]
        self._sizes: I64 = head[2 + 2 * blocks :]
        self._clips: dict[int, _core.RowBlocks] = {}
        self._guard, self._process = threading.Lock(), os.getpid()

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Lock the cache against other threads and processes that fill or evict blocks."""
        import fcntl

        if self._process != os.getpid():
            # a forked process shares the file's lock, so it opens the file again
            self._process, self._guard = os.getpid(), threading.Lock()
            self._handle = os.open(self._path, os.O_RDWR)
        with self._guard:
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._handle, fcntl.LOCK_UN)


def decode_rows(corpus: Corpus, clip: int, start: int, stop: int) -> F32:
    """Decode frames of a clip to rows (T, 4 J + 3 M): rotations, then translations."""
    plan = window_plan(corpus.motion(clip).header, STORED_FEATURES)
    rows = np.empty((stop - start, plan.width), np.float32)
    corpus.window_writer(clip).write(plan, start, stop, rows)
    return rows


def _row_widths(corpus: Corpus) -> I64:
    """Return the row width of each clip (N,): 4 per joint and 3 per translated joint."""
    bases = corpus.index.columns[:, 0]
    widths = np.zeros(len(corpus), np.int64)
    for base in np.unique(bases):
        clip = int(np.argmax(bases == base))
        header = corpus.motion(clip).header
        if hasattr(header, "skeleton"):
            width = 4 * len(header.skeleton) + 3 * len(header.translated_joints)
            widths[bases == base] = width
    return widths


def _head_size(blocks: int) -> int:
    return -(-8 * (2 + 3 * blocks) // PAGE_BYTES) * PAGE_BYTES


def _write_at(handle: int, data: bytes, at: int) -> None:
    while data:
        done = os.pwrite(handle, data, at)
        data, at = data[done:], at + done


def _remove_file(path: str, process: int) -> None:
    if os.getpid() == process:  # a forked process must not remove its parent's file
        Path(path).unlink(missing_ok=True)
