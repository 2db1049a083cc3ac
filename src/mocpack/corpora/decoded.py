"""Decoded motion kept as float32 in memory that processes share.

Every clip has its place in one sparse file in memory, in blocks of frames; a block is there once
somebody has decoded it. A block's mark is set after its numbers are written and taken away before
they are dropped, and who reads looks at the mark before and after: no reader waits for another.
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
from typing import Any

import numpy as np

from mocpack import _core
from mocpack.arrays import F32, F64, I64
from mocpack.corpora.reading import Corpus
from mocpack.errors import UsageError

BLOCK = 1024  # frames: with numbers of four bytes, any row makes whole pages of 4096
PAGE = 4096
ROOM = 0.9  # of the limit, that is left after blocks were dropped
SHARED = "/dev/shm"


class DecodedCache:
    """Decoded motion of an archive's clips, up to a limit; the longest unused is dropped first.

    Parameters
    ----------
    corpus : Corpus
    limit : int
        Bytes.
    """

    def __init__(self, corpus: Corpus, limit: int) -> None:
        if not hasattr(os, "pwrite"):
            raise UsageError("a cache of decoded motion needs a POSIX system")
        if limit < 1:
            raise UsageError(f"cache must be above 0 bytes, got {limit}")
        self._corpus, self._limit = corpus, limit
        self._widths = _row_widths(corpus)
        blocks = -(-corpus.index.frame_counts // BLOCK)
        self._first = np.concatenate([[0], np.cumsum(blocks)])
        self._places = _head_size(int(self._first[-1])) + np.concatenate(
            [[0], np.cumsum(blocks * BLOCK * 4 * self._widths)]
        )
        folder = SHARED if Path(SHARED).is_dir() else None
        handle, self._path = tempfile.mkstemp(prefix="mocpack-", dir=folder)
        os.truncate(handle, int(self._places[-1]))
        weakref.finalize(self, _remove, self._path, os.getpid())
        self._map(handle)

    def __getstate__(self) -> dict[str, Any]:
        kept = ("_corpus", "_limit", "_widths", "_first", "_places", "_path")
        return {name: getattr(self, name) for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._map(os.open(self._path, os.O_RDWR))

    @property
    def held(self) -> int:
        """Bytes that are held now."""
        return int(self._numbers[0])

    def window(
        self,
        clip: int,
        start: int,
        stop: int,
        plan: _core.WindowPlan,
        step: float,
        rate: float,
        out: F32,
    ) -> None:
        """Write a window of frames `start` to `stop` to `out`, decoding what is not there."""
        first, last = start // BLOCK, (stop - 1) // BLOCK
        base = self._bases[clip]
        marks = self._marks[base + first : base + last + 1]
        while True:
            before = marks.tolist()
            if 0 in before:
                self._fill(clip, first + before.index(0))
                if self._full:
                    self._directly(clip, start, stop, plan, step, rate, out)
                    return
                continue
            rows = self._rows(clip)[start:stop]
            _core.window_of_rows(plan, rows, 0.0, step, rate, out)
            if marks.tolist() == before:
                self._note_whole(clip)
                self._used[base + first : base + last + 1] = time.monotonic_ns() >> 20
                return

    def _note_whole(self, clip: int) -> None:
        """Remember a clip that is there to its end, if nothing is ever dropped."""
        if self._keeps_all and self._marks[self._bases[clip] : self._bases[clip + 1]].all():
            self.whole[clip] = self._rows(clip)

    def _directly(
        self,
        clip: int,
        start: int,
        stop: int,
        plan: _core.WindowPlan,
        step: float,
        rate: float,
        out: F32,
    ) -> None:
        turns, places = self._corpus.motion(clip).arrays(start, stop)
        _core.window_of_motion(plan, turns, places, 0.0, step, rate, out)

    def _rows(self, clip: int) -> F32:
        found = self._views.get(clip)
        if found is None:
            frames = int(self._corpus.index.frame_counts[clip])
            width, place = int(self._widths[clip]), int(self._places[clip])
            whole = np.frombuffer(self._memory, np.float32, frames * width, place)
            self._views[clip] = found = whole.reshape(frames, width)
        return found

    def _fill(self, clip: int, block: int) -> None:
        """Decode a block and put it in its place."""
        frames = int(self._corpus.index.frame_counts[clip])
        start, stop = block * BLOCK, min(frames, (block + 1) * BLOCK)
        self._corpus.prefetch([(clip, start, stop)])
        turns, places = self._corpus.motion(clip).arrays(start, stop)
        rows = float_rows(turns, places)
        number = int(self._first[clip]) + block
        width = int(self._widths[clip])
        with self._locked():
            if self._marks[number]:
                return
            try:
                # no store through the mapping: where memory is short that ends the process
                at = int(self._places[clip]) + start * width * 4
                _write(self._handle, rows.tobytes(), at)
            except OSError:
                self._full = True
                return
            self._numbers[0] += rows.nbytes  # bytes that are held
            self._numbers[1] += 1  # editions: a block that comes again has another mark
            self._sizes[number] = rows.nbytes
            self._used[number] = time.monotonic_ns() >> 20
            self._marks[number] = self._numbers[1]
            if self._numbers[0] > self._limit:
                self._drop(number)

    def _drop(self, but: int) -> None:
        """Drop what was unused for longest; `but` stays, or its reader would never get it."""
        held = np.flatnonzero(self._marks)
        for number in held[np.argsort(self._used[held], kind="stable")].tolist():
            if self._numbers[0] <= ROOM * self._limit:
                return
            if number == but:
                continue
            self._marks[number] = 0
            clip = int(np.searchsorted(self._first, number, side="right")) - 1
            place = int(self._places[clip])
            size = BLOCK * 4 * int(self._widths[clip])
            at = place + (number - int(self._first[clip])) * size
            with suppress(OSError, AttributeError):
                self._memory.madvise(mmap.MADV_REMOVE, at, size)
            self._numbers[0] -= self._sizes[number]

    def _map(self, handle: int) -> None:
        self._handle, self._full = handle, False
        self._bases: list[int] = self._first.tolist()
        self._keeps_all = bool(self._places[-1] <= self._limit)
        # clips that are there to their ends, and stay: no mark of theirs need be looked at
        self.whole: dict[int, F32] = {}
        weakref.finalize(self, os.close, handle)
        self._memory = mmap.mmap(handle, int(self._places[-1]))
        blocks = int(self._first[-1])
        head = np.frombuffer(self._memory, np.int64, 2 + 3 * blocks)
        self._numbers: I64 = head[:2]
        self._marks: I64 = head[2 : 2 + blocks]
        self._used: I64 = head[2 + blocks : 2 + 2 * blocks]
        self._sizes: I64 = head[2 + 2 * blocks :]
        self._views: dict[int, F32] = {}
        self._guard, self._process = threading.Lock(), os.getpid()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other threads and processes from filling and dropping blocks."""
        import fcntl

        if self._process != os.getpid():
            # a fork shares the open file, and with it the file's lock: this process opens its own
            self._process, self._guard = os.getpid(), threading.Lock()
            self._handle = os.open(self._path, os.O_RDWR)
        with self._guard:
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._handle, fcntl.LOCK_UN)


def float_rows(turns: F64, places: F64) -> F32:
    """Return rotations (T, J, 4) and translations (T, M, 3) as rows (T, 4 J + 3 M)."""
    count, turn = len(turns), turns.shape[1] * 4
    rows = np.empty((count, turn + places.shape[1] * 3), np.float32)
    rows[:, :turn] = turns.reshape(count, -1)
    rows[:, turn:] = places.reshape(count, -1)
    return rows


def _row_widths(corpus: Corpus) -> Any:
    """Return the numbers of a row of each clip: 4 a joint, 3 a translated one (N,)."""
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
    return -(-8 * (2 + 3 * blocks) // PAGE) * PAGE


def _write(handle: int, data: bytes, at: int) -> None:
    while data:
        done = os.pwrite(handle, data, at)
        data, at = data[done:], at + done


def _remove(path: str, process: int) -> None:
    if os.getpid() == process:  # a forked process that ends leaves the others theirs
        Path(path).unlink(missing_ok=True)
