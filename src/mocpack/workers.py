"""Processes to work in: fresh ones, with one thread each for linear algebra."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from multiprocessing.context import SpawnContext

# numpy's libraries take all cores for the smallest product; several workers that all do so
# make each other twenty times slower
THREAD_SETTINGS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def worker_pool(workers: int, *, tasks_each: int | None = None) -> ProcessPoolExecutor:
    """Return a pool of `workers` processes (0: as many as there are cores).

    With `tasks_each`, a process ends after that many tasks and a new one takes its place.
    """
    return ProcessPoolExecutor(
        workers or os.cpu_count() or 1, fresh_processes(), max_tasks_per_child=tasks_each
    )


def fresh_processes() -> SpawnContext:
    """Return the way to start processes that share nothing with this one, one thread each."""
    for name in THREAD_SETTINGS:
        # read when a worker first imports numpy; ours is loaded already and keeps its threads
        os.environ.setdefault(name, "1")
    return get_context("spawn")
