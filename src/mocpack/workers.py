"""Processes to work in: fresh ones, with one thread each for linear algebra, none of them trusted.

`run_each` is for jobs of which any may kill its process: a death costs the job it came in, and
no other; a `WorkerGroup` keeps its processes from one list of jobs to the next. `worker_pool` is for work
that is ours alone, where a death is a defect.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext, SpawnProcess
from threading import Thread
from time import monotonic
from types import FrameType
from typing import Any

from mocpack import progress
from mocpack.cores import core_count, set_core_count
from mocpack.errors import UsageError

# numpy's libraries take all cores for the smallest product; several workers that all do so
# make each other twenty times slower
THREAD_COUNT_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
PROGRESS_INTERVAL_S = 0.5  # seconds between two words of a process on how far it has come
STOP_TIMEOUT_S = (
    0.3  # seconds in which a process that is stopped can put away its half-written file
)


@dataclass(frozen=True)
class LostJob:
    """What becomes of work whose process died or was ended: one clause saying why."""

    reason: str


def worker_pool(
    workers: int,
    *,
    initializer: Callable[..., None] | None = None,
    initargs: tuple[Any, ...] = (),
) -> ProcessPoolExecutor:
    """Return a pool of `workers` processes (0: as many as there are cores), which share the cores.

    Each calls ``initializer(*initargs)`` when it starts: what all its work needs is sent once.
    """
    count = workers or core_count()
    first = (core_count() // count, initializer, initargs)
    return ProcessPoolExecutor(
        count, spawn_context(), initializer=_initialize_worker, initargs=first
    )


def spawn_context() -> SpawnContext:
    """Return the way to start processes that share nothing with this one, one thread each."""
    for name in THREAD_COUNT_VARIABLES:
        # read when a worker first imports numpy; ours is loaded already and keeps its threads
        os.environ.setdefault(name, "1")
    return get_context("spawn")


def run_each(
    work: Callable[..., Any],
    jobs: Sequence[tuple[Any, ...]],
    *,
    workers: int,
    max_crashes: int = 1,
    on_start: Callable[[int], None] = lambda index: None,
    on_progress: Callable[[int, float], None] = lambda index, share: None,
) -> Generator[tuple[int, Any], None, None]:
    """Do ``work(*job)`` for run job; yield (index of the job, result or `Lost`) as they come.

    Each process has its share of the cores, and one job at a time, so that its death costs no
    other. Who leaves the loop early, by Ctrl-C too, ends all processes within `STOP_TIMEOUT_S` seconds and
    the time a kill takes.

    Parameters
    ----------
    work : callable, importable by name
        Its result must be picklable; what it raises ends its process.
    workers : int
        Processes at a time.
    max_crashes : int
        How many processes a job may cost before it is `LostJob`; until then another one tries.
    on_start : callable
        Is told the place of each job before it is given to a process.
    on_progress : callable
        Is told the place of a job and the share of it that is done, where its work says so.
    """
    with WorkerGroup(work, workers, max_crashes=max_crashes) as crew:
        yield from crew.run(jobs, on_start=on_start, on_progress=on_progress)


class WorkerGroup:
    """Processes for several lists of jobs, one after the other; they end with the ``with`` block.

    Parameters
    ----------
    work, workers, deaths
        As for `run_each`; processes start when there is a job for them.
    initargs : tuple
        What each process is sent once, when it starts: the first arguments of `work`.
    """

    def __init__(
        self,
        work: Callable[..., Any],
        workers: int,
        *,
        max_crashes: int = 1,
        initargs: tuple[Any, ...] = (),
    ) -> None:
        self._work, self._workers, self._max_crashes, self._initargs = (
            work,
            workers,
            max_crashes,
            initargs,
        )
        self._members: list[_Worker] = []

    def __enter__(self) -> WorkerGroup:
        return self

    def __exit__(self, *_: object) -> None:
        _stop_workers(self._members)
        self._members = []

    def run(
        self,
        jobs: Sequence[tuple[Any, ...]],
        *,
        on_start: Callable[[int], None] = lambda index: None,
        on_progress: Callable[[int, float], None] = lambda index, done: None,
    ) -> Generator[tuple[int, Any], None, None]:
        """Do ``work(*initargs, *job)`` for run job; yield as `run_each` does."""
        waiting = deque(range(len(jobs)))
        crashes = [0] * len(jobs)
        try:
            while waiting or self._busy():
                self._assign_jobs(jobs, waiting, on_start)
                for worker in self._wait_for_workers():
                    index, result = worker.index, worker.result()
                    if isinstance(result, _Started):
                        worker.started = True
                        continue
                    if isinstance(result, _Progress):
                        if index is not None:
                            on_progress(index, result.done)
                        continue
                    worker.index = None
                    if isinstance(result, LostJob):
                        self._members.remove(worker)
                        _check_start(worker)
                    if index is None:
                        continue
                    if isinstance(result, LostJob):
                        crashes[index] += 1
                        if crashes[index] < self._max_crashes:
                            waiting.appendleft(index)
                            continue
                    yield index, result
        finally:
            # whoever is still at a job of this list is of no use for the next
            late = self._busy()
            self._members = [worker for worker in self._members if worker.index is None]
            _stop_workers(late)

    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._members if worker.index is not None]

    def _assign_jobs(
        self,
        jobs: Sequence[tuple[Any, ...]],
        waiting: deque[int],
        on_start: Callable[[int], None],
    ) -> None:
        idle = len(self._members) - len(self._busy())
        missing = min(self._workers - len(self._members), len(waiting) - idle)
        cores = core_count() // self._workers
        self._members += [_start_worker(self._work, self._initargs, cores) for _ in range(missing)]
        for worker in self._members:
            if waiting and worker.index is None:
                worker.index = waiting.popleft()
                on_start(worker.index)
                worker.send(jobs[worker.index])

    def _wait_for_workers(self) -> list[_Worker]:
        ready = wait([worker.pipe for worker in self._members])
        return [worker for worker in self._members if worker.pipe in ready]


def exit_with_parent() -> None:
    """Let this process end when the one that started it has gone, however it went."""
    Thread(target=_exit_after_parent, daemon=True).start()


def describe_exit(code: int | None) -> str:
    """Return the clause for a process's exit code.

    >>> describe_exit(-9)
    'its process was ended by signal 9 (SIGKILL; often for lack of memory)'
    >>> describe_exit(3)
    'its process ended with code 3'
    """
    if code is None or code >= 0:
        return f"its process ended with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    hint = "; often for lack of memory" if name == "SIGKILL" else ""
    return f"its process was ended by signal {-code} ({name}{hint})"


@dataclass(frozen=True)
class _Started:
    """A process is there and takes jobs."""


@dataclass(frozen=True)
class _Progress:
    """How much of its job a worker has done."""

    done: float


@dataclass
class _Worker:
    """A process and the pipe to it; `index` is that of the job it has."""

    process: SpawnProcess
    pipe: Connection
    index: int | None = None
    started: bool = False

    def send(self, job: tuple[Any, ...]) -> None:
        # one that is dead already is noticed when its result is asked for
        with suppress(BrokenPipeError, ConnectionResetError):
            self.pipe.send(job)

    def result(self) -> Any:
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            self.pipe.close()
            return LostJob(describe_exit(self.process.exitcode))


def _check_start(worker: _Worker) -> None:
    """Complain of a process that ended by itself before it began: every other would do the same."""
    if not worker.started and (worker.process.exitcode or 0) > 0:
        raise UsageError(
            "a process to work in ended while it started; a script that starts any has to do so "
            'under `if __name__ == "__main__":`'
        )


def _initialize_worker(
    cores: int, initializer: Callable[..., None] | None, initargs: tuple[Any, ...]
) -> None:
    set_core_count(cores)
    if initializer is not None:
        initializer(*initargs)


def _start_worker(work: Callable[..., Any], initargs: tuple[Any, ...], cores: int) -> _Worker:
    context = spawn_context()
    ours, theirs = context.Pipe()
    process = context.Process(
        target=_worker_main, args=(work, initargs, cores, theirs), daemon=True
    )
    with _block_interrupts():
        process.start()
    theirs.close()  # so that the end of the process ends the pipe
    return _Worker(process, ours)


@contextmanager
def _block_interrupts() -> Iterator[None]:
    """Keep Ctrl-C for later; processes started here never get it: it is for us to end them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _worker_main(
    work: Callable[..., Any], initargs: tuple[Any, ...], cores: int, pipe: Connection
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _exit_on_signal)  # so that half-written files are put away
    exit_with_parent()
    set_core_count(cores)
    pipe.send(_Started())
    with suppress(EOFError):
        while True:
            job = pipe.recv()
            with progress.report_to(_progress_sender(pipe)):
                result = work(*initargs, *job)
            pipe.send(result)


def _progress_sender(pipe: Connection) -> Callable[[float], None]:
    """Return what sends the share of a job that is done, now and then."""
    next_time = 0.0

    def tell(share: float) -> None:
        nonlocal next_time
        if monotonic() >= next_time:
            next_time = monotonic() + PROGRESS_INTERVAL_S
            pipe.send(_Progress(share))

    return tell


def _exit_on_signal(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(1)


def _stop_workers(crew: Sequence[_Worker]) -> None:
    for worker in crew:
        worker.pipe.close()  # one that waits for a job goes by itself
        if worker.index is not None:
            worker.process.terminate()
    until = monotonic() + STOP_TIMEOUT_S
    for worker in crew:
        worker.process.join(max(0.0, until - monotonic()))
        if worker.process.exitcode is None:
            worker.process.kill()
    for worker in crew:
        worker.process.join()


def _exit_after_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
