"""Processes to work in: fresh ones, with one thread each for linear algebra, none of them trusted.

`run_each` is for jobs of which any may kill its process: a death costs the job it came in, and
no other; a `Crew` keeps its processes from one list of jobs to the next. `worker_pool` is for work
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
from mocpack.cores import core_count, take_cores
from mocpack.errors import UsageError

# numpy's libraries take all cores for the smallest product; several workers that all do so
# make each other twenty times slower
THREAD_SETTINGS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
TELLING = 0.5  # seconds between two words of a process on how far it has come
LEAVING = 0.3  # seconds in which a process that is stopped can put away its half-written file


@dataclass(frozen=True)
class Lost:
    """What becomes of work whose process died or was ended: one clause saying why."""

    why: str


def worker_pool(
    workers: int,
    *,
    begin: Callable[..., None] | None = None,
    given: tuple[Any, ...] = (),
) -> ProcessPoolExecutor:
    """Return a pool of `workers` processes (0: as many as there are cores), which share the cores.

    Each calls ``begin(*given)`` when it starts: what all its work needs is sent once.
    """
    count = workers or core_count()
    first = (core_count() // count, begin, given)
    return ProcessPoolExecutor(count, fresh_processes(), initializer=_begin, initargs=first)


def fresh_processes() -> SpawnContext:
    """Return the way to start processes that share nothing with this one, one thread each."""
    for name in THREAD_SETTINGS:
        # read when a worker first imports numpy; ours is loaded already and keeps its threads
        os.environ.setdefault(name, "1")
    return get_context("spawn")


def run_each(
    work: Callable[..., Any],
    jobs: Sequence[tuple[Any, ...]],
    *,
    workers: int,
    deaths: int = 1,
    begun: Callable[[int], None] = lambda place: None,
    told: Callable[[int, float], None] = lambda place, share: None,
) -> Generator[tuple[int, Any], None, None]:
    """Do ``work(*job)`` for each job; yield (place of the job, result or `Lost`) as they come.

    Each process has its share of the cores, and one job at a time, so that its death costs no
    other. Who leaves the loop early, by Ctrl-C too, ends all processes within `LEAVING` seconds and
    the time a kill takes.

    Parameters
    ----------
    work : callable, importable by name
        Its result must be picklable; what it raises ends its process.
    workers : int
        Processes at a time.
    deaths : int
        How many processes a job may cost before it is `Lost`; until then another one tries.
    begun : callable
        Is told the place of each job before it is given to a process.
    told : callable
        Is told the place of a job and the share of it that is done, where its work says so.
    """
    with Crew(work, workers, deaths=deaths) as crew:
        yield from crew.each(jobs, begun=begun, told=told)


class Crew:
    """Processes for several lists of jobs, one after the other; they end with the ``with`` block.

    Parameters
    ----------
    work, workers, deaths
        As for `run_each`; processes start when there is a job for them.
    given : tuple
        What each process is sent once, when it starts: the first arguments of `work`.
    """

    def __init__(
        self,
        work: Callable[..., Any],
        workers: int,
        *,
        deaths: int = 1,
        given: tuple[Any, ...] = (),
    ) -> None:
        self._work, self._workers, self._deaths, self._given = work, workers, deaths, given
        self._crew: list[_Worker] = []

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        _dismiss(self._crew)
        self._crew = []

    def each(
        self,
        jobs: Sequence[tuple[Any, ...]],
        *,
        begun: Callable[[int], None] = lambda place: None,
        told: Callable[[int, float], None] = lambda place, done: None,
    ) -> Generator[tuple[int, Any], None, None]:
        """Do ``work(*given, *job)`` for each job; yield as `run_each` does."""
        waiting = deque(range(len(jobs)))
        died = [0] * len(jobs)
        try:
            while waiting or self._busy():
                self._hand_out(jobs, waiting, begun)
                for worker in self._ready():
                    place, result = worker.place, worker.result()
                    if isinstance(result, _Started):
                        worker.started = True
                        continue
                    if isinstance(result, _Share):
                        if place is not None:
                            told(place, result.done)
                        continue
                    worker.place = None
                    if isinstance(result, Lost):
                        self._crew.remove(worker)
                        _check_start(worker)
                    if place is None:
                        continue
                    if isinstance(result, Lost):
                        died[place] += 1
                        if died[place] < self._deaths:
                            waiting.appendleft(place)
                            continue
                    yield place, result
        finally:
            # whoever is still at a job of this list is of no use for the next
            late = self._busy()
            self._crew = [worker for worker in self._crew if worker.place is None]
            _dismiss(late)

    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._crew if worker.place is not None]

    def _hand_out(
        self,
        jobs: Sequence[tuple[Any, ...]],
        waiting: deque[int],
        begun: Callable[[int], None],
    ) -> None:
        idle = len(self._crew) - len(self._busy())
        missing = min(self._workers - len(self._crew), len(waiting) - idle)
        cores = core_count() // self._workers
        self._crew += [_hire(self._work, self._given, cores) for _ in range(missing)]
        for worker in self._crew:
            if waiting and worker.place is None:
                worker.place = waiting.popleft()
                begun(worker.place)
                worker.give(jobs[worker.place])

    def _ready(self) -> list[_Worker]:
        ready = wait([worker.pipe for worker in self._crew])
        return [worker for worker in self._crew if worker.pipe in ready]


def end_with_parent() -> None:
    """Let this process end when the one that started it has gone, however it went."""
    Thread(target=_wait_for_the_end, daemon=True).start()


def why_it_ended(code: int | None) -> str:
    """Return the clause for a process's exit code.

    >>> why_it_ended(-9)
    'its process was ended by signal 9 (SIGKILL; often for lack of memory)'
    >>> why_it_ended(3)
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
class _Share:
    """How much of its job a worker has done."""

    done: float


@dataclass
class _Worker:
    """A process and the pipe to it; `place` is that of the job it has."""

    process: SpawnProcess
    pipe: Connection
    place: int | None = None
    started: bool = False

    def give(self, job: tuple[Any, ...]) -> None:
        # one that is dead already is noticed when its result is asked for
        with suppress(BrokenPipeError, ConnectionResetError):
            self.pipe.send(job)

    def result(self) -> Any:
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            self.pipe.close()
            return Lost(why_it_ended(self.process.exitcode))


def _check_start(worker: _Worker) -> None:
    """Complain of a process that ended by itself before it began: every other would do the same."""
    if not worker.started and (worker.process.exitcode or 0) > 0:
        raise UsageError(
            "a process to work in ended while it started; a script that starts any has to do so "
            'under `if __name__ == "__main__":`'
        )


def _begin(cores: int, begin: Callable[..., None] | None, given: tuple[Any, ...]) -> None:
    take_cores(cores)
    if begin is not None:
        begin(*given)


def _hire(work: Callable[..., Any], given: tuple[Any, ...], cores: int) -> _Worker:
    context = fresh_processes()
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(work, given, cores, theirs), daemon=True)
    with _interrupts_held():
        process.start()
    theirs.close()  # so that the end of the process ends the pipe
    return _Worker(process, ours)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Keep Ctrl-C for later; processes started here never get it: it is for us to end them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(work: Callable[..., Any], given: tuple[Any, ...], cores: int, pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)  # so that half-written files are put away
    end_with_parent()
    take_cores(cores)
    pipe.send(_Started())
    with suppress(EOFError):
        while True:
            job = pipe.recv()
            with progress.listening(_telling(pipe)):
                result = work(*given, *job)
            pipe.send(result)


def _telling(pipe: Connection) -> Callable[[float], None]:
    """Return what sends the share of a job that is done, now and then."""
    next_time = 0.0

    def tell(share: float) -> None:
        nonlocal next_time
        if monotonic() >= next_time:
            next_time = monotonic() + TELLING
            pipe.send(_Share(share))

    return tell


def _leave(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(1)


def _dismiss(crew: Sequence[_Worker]) -> None:
    for worker in crew:
        worker.pipe.close()  # one that waits for a job goes by itself
        if worker.place is not None:
            worker.process.terminate()
    until = monotonic() + LEAVING
    for worker in crew:
        worker.process.join(max(0.0, until - monotonic()))
        if worker.process.exitcode is None:
            worker.process.kill()
    for worker in crew:
        worker.process.join()


def _wait_for_the_end() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
