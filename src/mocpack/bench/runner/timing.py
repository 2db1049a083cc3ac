"""Measure time: the fastest of several runs, because other work only makes a run slower."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable


def fastest(
    work: Callable[[], object],
    repeats: int = 3,
    *,
    clock: Callable[[], float] = time.process_time,
) -> float:
    """Return the seconds of the fastest of `repeats` runs, by default of processor time."""
    return min(seconds_of(work, clock=clock) for _ in range(repeats))


def seconds_of(
    work: Callable[[], object], *, clock: Callable[[], float] = time.process_time
) -> float:
    """Return the seconds of one run."""
    started = clock()
    work()
    return clock() - started


def inflate_speed() -> float:
    """Return how fast this machine inflates a fixed text now, in MB/s, to compare runs by."""
    text = b"".join(b"%d %d " % (i, i * i % 977) for i in range(60_000))
    packed = zlib.compress(text, 6)
    return len(text) / fastest(lambda: zlib.decompress(packed), 5) / 1e6
