"""Worker processes: freshly spawned, with one thread each for linear algebra.

`run_each` is for jobs that may crash their process, such as reading untrusted files: a crash loses
only the current job. A `WorkerGroup` keeps its processes for several lists of jobs.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext, SpawnProcess
from threading import Thread
from time import monotonic, sleep
from typing import Generic, Self, TypeVar, TypeVarTuple

from mocpack import progress
from mocpack.common.termination import unwind_when_terminated
from mocpack.cores import core_count, set_core_count
from mocpack.errors import UsageError

# numpy's libraries use all cores even for small products; several workers that do so slow each
# other down twentyfold
THREAD_COUNT_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
PROGRESS_INTERVAL_S = 0.5  # between progress messages of a worker
LATE_CHECK_S = 0.5  # between checks for jobs that take too long
STOP_TIMEOUT_S = 0.3  # for a stopped worker to remove its unfinished file

Job = TypeVarTuple("Job")  # the arguments of one call
Result = TypeVar("Result")


@dataclass(frozen=True)
class LostJob:
    """The result of a job whose process died, with the reason as a clause."""

    reason: str


def spawn_context() -> SpawnContext:
    """Return a context that spawns processes with one linear algebra thread each."""
    for name in THREAD_COUNT_VARIABLES:
        # a worker reads it when it imports numpy; this process has imported it already
        os.environ.setdefault(name, "1")
    return get_context("spawn")


def run_each(
    work: Callable[[*Job], Result],
    jobs: Sequence[tuple[*Job]],
    *,
    workers: int,
    max_crashes: int = 1,
    max_seconds: float | None = None,
    on_start: Callable[[int], None] = lambda index: None,
    on_progress: Callable[[int, float], None] = lambda index, share: None,
) -> Generator[tuple[int, Result | LostJob], None, None]:
    """Run ``work(*job)`` for each job; yield (job index, result or `LostJob`) as jobs finish.

    Each process has its share of the cores and runs one job at a time, so its death loses no other
    job. Leaving the loop early, also by Ctrl-C, stops all processes after at most `STOP_TIMEOUT_S`.

    Parameters
    ----------
    work : callable, importable by name
        Its result must be picklable; an exception ends its process.
    workers : int
        Number of processes.
    max_crashes : int
        Processes that a job may crash before it counts as lost; until then it is tried again.
    max_seconds : float, optional
        Time after which the process of a job is killed, and the job counts as lost.
    on_start : callable
        Called with the index of a job before it is sent to a process.
    on_progress : callable
        Called with the index of a job and the fraction done, if its work reports progress.
    """
    with WorkerGroup(work, workers, max_crashes=max_crashes, max_seconds=max_seconds) as group:
        yield from group.run(jobs, on_start=on_start, on_progress=on_progress)


class WorkerGroup(Generic[*Job, Result]):
    """Worker processes for several lists of jobs; they end with the ``with`` block.

    Parameters
    ----------
    work, workers, max_crashes, max_seconds
        As for `run_each`; processes start when there are jobs for them. Each process receives
        `work` once, so a `functools.partial` can hold arguments that all jobs share.
    """

    def __init__(
        self,
        work: Callable[[*Job], Result],
        workers: int,
        *,
        max_crashes: int = 1,
        max_seconds: float | None = None,
    ) -> None:
        self._work, self._workers = work, workers
        self._max_crashes, self._max_seconds = max_crashes, max_seconds
        self._members: list[_Worker[*Job, Result]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _stop_workers(self._members)
        self._members = []

    def run(
        self,
        jobs: Sequence[tuple[*Job]],
        *,
        on_start: Callable[[int], None] = lambda index: None,
        on_progress: Callable[[int, float], None] = lambda index, done: None,
    ) -> Generator[tuple[int, Result | LostJob], None, None]:
        """Run ``work(*job)`` for each job; yield as `run_each` does."""
        waiting = deque(range(len(jobs)))
        crashes = [0] * len(jobs)
        try:
            while waiting or self._busy_workers():
                self._assign_jobs(jobs, waiting, on_start)
                for worker in self._wait_for_workers():
                    index, result = worker.index, worker.receive()
                    if isinstance(result, _Started):
                        worker.started, worker.job_started_at = True, monotonic()
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
            # stop workers that still run jobs of this list
            late = self._busy_workers()
            self._members = [worker for worker in self._members if worker.index is None]
            _stop_workers(late)

    def _busy_workers(self) -> list[_Worker[*Job, Result]]:
        return [worker for worker in self._members if worker.index is not None]

    def _assign_jobs(
        self,
        jobs: Sequence[tuple[*Job]],
        waiting: deque[int],
        on_start: Callable[[int], None],
    ) -> None:
        idle = len(self._members) - len(self._busy_workers())
        missing = min(self._workers - len(self._members), len(waiting) - idle)
        cores = core_count() // self._workers
        self._members += [_start_worker(self._work, cores) for _ in range(missing)]
        for worker in self._members:
            if waiting and worker.index is None:
                worker.index = waiting.popleft()
                worker.job_started_at = monotonic()
                on_start(worker.index)
                worker.send(jobs[worker.index])

    def _wait_for_workers(self) -> list[_Worker[*Job, Result]]:
        """Return the workers that have sent something or died, after killing late ones."""
        limit = self._max_seconds
        ready = wait([worker.pipe for worker in self._members], limit and LATE_CHECK_S)
        for worker in self._busy_workers():
            late = limit is not None and monotonic() - worker.job_started_at > limit
            if late and worker.started and worker.pipe not in ready:
                worker.process.kill()
                worker.death = f"took more than {limit:g} s"
        return [worker for worker in self._members if worker.pipe in ready]


def exit_with_parent() -> None:
    """Exit this process when its parent ends for any reason."""
    Thread(target=_exit_after_parent, daemon=True).start()


def describe_exit(code: int | None) -> str:
    """Describe a process's exit code as a clause.

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
    """The worker has started and accepts jobs."""


@dataclass(frozen=True)
class _Progress:
    """The fraction of its job that a worker has done."""

    done: float


@dataclass
class _Worker(Generic[*Job, Result]):
    """A process and the pipe to it; `index` is the index of its current job."""

    process: SpawnProcess
    pipe: Connection
    index: int | None = None
    started: bool = False
    job_started_at: float = 0.0
    death: str | None = None

    def send(self, job: tuple[*Job]) -> None:
        # `receive` notices if the process is dead
        with suppress(BrokenPipeError, ConnectionResetError):
            self.pipe.send(job)

    def receive(self) -> Result | LostJob | _Started | _Progress:
        try:
            message: Result | _Started | _Progress = self.pipe.recv()
            return message
        except (EOFError, OSError):
            self.process.join()
            self.pipe.close()
            return LostJob(self.death or describe_exit(self.process.exitcode))


def _check_start(worker: _Worker[*Job, Result]) -> None:
    """Raise if a process exited before it started to work, because all others would do the same."""
    if not worker.started and (worker.process.exitcode or 0) > 0:
        raise UsageError(
            "a worker process exited during startup; scripts that use workers must start them "
            'under `if __name__ == "__main__":`'
        )


def _start_worker(work: Callable[[*Job], Result], cores: int) -> _Worker[*Job, Result]:
    context = spawn_context()
    ours, theirs = context.Pipe()
    process = context.Process(target=_worker_main, args=(work, cores, theirs), daemon=True)
    with _block_interrupts():
        process.start()
    theirs.close()  # so that the pipe closes when the process ends
    return _Worker(process, ours)


@contextmanager
def _block_interrupts() -> Iterator[None]:
    """Block SIGINT; processes started here inherit that, and this process stops them on Ctrl-C."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _worker_main(work: Callable[[*Job], Result], cores: int, pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    exit_with_parent()
    set_core_count(cores)
    pipe.send(_Started())
    with unwind_when_terminated(), suppress(EOFError):
        while True:
            job = pipe.recv()
            with progress.report_to(_progress_sender(pipe)):
                result = work(*job)
            pipe.send(result)


def _progress_sender(pipe: Connection) -> Callable[[float], None]:
    """Return a progress callback that sends the fraction done at intervals."""
    next_time = 0.0

    def send(share: float) -> None:
        nonlocal next_time
        if monotonic() >= next_time:
            next_time = monotonic() + PROGRESS_INTERVAL_S
            pipe.send(_Progress(share))

    return send


def _stop_workers(crew: Sequence[_Worker[*Job, Result]]) -> None:
    for worker in crew:
        worker.pipe.close()  # an idle worker exits by itself
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
        os.kill(os.getpid(), signal.SIGTERM)  # so that unfinished files are removed
        sleep(STOP_TIMEOUT_S)
        os._exit(1)
