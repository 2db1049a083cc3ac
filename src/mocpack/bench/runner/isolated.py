"""Work done apart: in processes of their own, within limits, so that a death is only a result."""

from __future__ import annotations

import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from mocpack.errors import UsageError
from mocpack.workers import LostJob, exit_with_parent, spawn_context

Work = Callable[..., Iterator[Any]]
"""``work(subject, items)`` yields one result for each item, in order; importable by name."""

READY = "ready"  # what a process says first: loading counts for no item


@dataclass(frozen=True)
class Limits:
    """What one item may take.

    Attributes
    ----------
    seconds : float, optional
        By the clock, loading not counted.
    processor_seconds : int, optional
        Of the processor, for the whole process: the same on a busy machine.
    megabytes : int, optional
        Of address space for the whole process, libraries included.
    """

    seconds: float | None = None
    processor_seconds: int | None = None
    megabytes: int | None = None


@dataclass
class _Running:
    subject: Any
    items: deque[Any]
    process: SpawnProcess
    results: Connection
    since: float | None = None


def run_apart(
    work: Work,
    jobs: Sequence[tuple[Any, Sequence[Any]]],
    *,
    workers: int = 1,
    limits: Limits = Limits(),
) -> Iterator[tuple[Any, Any, Any]]:
    """Run each (subject, items) in a process; yield (subject, item, result or `LostJob`).

    The items after a lost one are done in a new process.
    """
    waiting = deque((subject, deque(items)) for subject, items in jobs if items)
    running: list[_Running] = []
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                running.append(_start(work, *waiting.popleft(), limits))
            wait([r.results for r in running], timeout=0.5)
            for one in list(running):
                yield from _received(one)
                why = _end_of(one, limits)
                if why is None:
                    continue
                running.remove(one)
                if one.items:
                    yield one.subject, one.items.popleft(), LostJob(why)
                if one.items:
                    waiting.append((one.subject, one.items))
    finally:
        for one in running:
            one.process.kill()


def _start(work: Work, subject: Any, items: deque[Any], limits: Limits) -> _Running:
    context = spawn_context()
    ours, theirs = context.Pipe(duplex=False)
    arguments = (work, subject, list(items), theirs, limits)
    process = context.Process(target=_serve, args=arguments, daemon=True)
    process.start()
    theirs.close()  # so that the end of the process ends the pipe
    return _Running(subject, items, process, ours)


def _serve(
    work: Work, subject: Any, items: Sequence[Any], results: Connection, limits: Limits
) -> None:
    _limit_this_process(limits)
    exit_with_parent()
    results.send(READY)
    for result in work(subject, items):
        results.send(result)


def _limit_this_process(limits: Limits) -> None:
    if limits.megabytes is None and limits.processor_seconds is None:
        return
    if sys.platform == "win32":
        raise UsageError("limits of memory and processor time cannot be set on Windows")
    import resource  # which Windows does not have, while the rest of this module works there

    if limits.megabytes is not None:
        most = limits.megabytes << 20
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    if limits.processor_seconds is not None:
        most = limits.processor_seconds
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))


def _received(one: _Running) -> Iterator[tuple[Any, Any, Any]]:
    while one.results.poll():
        try:
            result = one.results.recv()
        except EOFError:
            one.process.join()
            return
        started, one.since = one.since, time.monotonic()
        if started is not None:
            yield one.subject, one.items.popleft(), result


def _end_of(one: _Running, limits: Limits) -> str | None:
    """Return why a process is over, None for one that works on."""
    seconds = limits.seconds
    started = time.monotonic() if one.since is None else one.since
    if one.items and seconds is not None and time.monotonic() - started > seconds:
        one.process.kill()
        one.process.join()
        return f"took more than {seconds:g} s"
    if one.process.is_alive():
        return None
    code = one.process.exitcode or 0
    if sys.platform != "win32" and code == -signal.SIGXCPU:
        return f"took more than {limits.processor_seconds} s of the processor"
    return f"the process was ended by signal {-code}" if code < 0 else f"ended with code {code}"
