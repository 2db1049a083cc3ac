"""Processes to work in: fresh ones, with one thread each for linear algebra."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from multiprocessing.context import SpawnContext
from typing import Any

# numpy's libraries take all cores for the smallest product; several workers that all do so
# make each other twenty times slower
THREAD_SETTINGS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def worker_pool(
    workers: int,
    *,
    begin: Callable[..., None] | None = None,
    given: tuple[Any, ...] = (),
) -> ProcessPoolExecutor:
    """Return a pool of `workers` processes (0: as many as there are cores).

    Each calls ``begin(*given)`` when it starts: what all its work needs is sent once.
    """
    return ProcessPoolExecutor(
        workers or os.cpu_count() or 1, fresh_processes(), initializer=begin, initargs=given
    )


def fresh_processes() -> SpawnContext:
    """Return the way to start processes that share nothing with this one, one thread each."""
    for name in THREAD_SETTINGS:
        # read when a worker first imports numpy; ours is loaded already and keeps its threads
        os.environ.setdefault(name, "1")
    return get_context("spawn")
