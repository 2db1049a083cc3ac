"""Bars for work that takes long, on a terminal and nowhere else, each with the time left."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from datetime import timedelta
from math import inf
from threading import Thread
from time import monotonic
from typing import TypeVar

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from mocpack import progress as told_progress
from mocpack.cli.terminal import printable, stderr
from mocpack.workers import STOP_TIMEOUT_S

SLOW = 2.0  # seconds after which a single piece of work shows how far it has come
LOOKING = 0.1  # seconds between two looks at whether the work is done
SOON = 0.02  # of the work, before which the time left cannot be told
NEVER_DONE = 1 + 1e-6  # in shares: a bar that is full does not come back if work is done again

Made = TypeVar("Made")


class TimeLeft(ProgressColumn):
    """The time that the rest takes, if it goes on as fast as it went so far."""

    def render(self, task: Task) -> Text:
        left = seconds_left(task.elapsed or 0.0, task.completed, task.total)
        return Text("" if left is None else f"{timedelta(seconds=left)} left")


def seconds_left(elapsed: float, done: float, total: float | None) -> int | None:
    """Return the seconds that the rest of the work takes, None while that cannot be told.

    >>> seconds_left(10.0, 20, 100)
    40
    >>> seconds_left(10.0, 0, 100) is None
    True
    """
    if not total or done <= 0 or done < SOON * total:
        return None
    return max(0, round(elapsed * (total - done) / done))


def counted() -> Progress:
    """Return a bar for work that is counted, with the time left."""
    return bar(BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeLeft())


def watched(title: str, work: Callable[[], Made], *, slow: float = SLOW) -> Made:
    """Return what `work()` does, under a bar with the time left once it has taken `slow` seconds.

    It runs in a thread, so that Ctrl-C is noticed during a long native call, and says how far it
    has come by `mocpack.progress`; of work that does not say, only the time so far is shown.
    """
    found: list[Made] = []
    failed: list[BaseException] = []
    leaving = False
    shown = bar(BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TimeLeft())
    task = shown.add_task(printable(title), total=None)

    def told(share: float) -> None:
        if leaving:
            raise KeyboardInterrupt
        shown.update(task, completed=share, total=NEVER_DONE)

    def do() -> None:
        try:
            with told_progress.report_to(told):
                found.append(work())
        except BaseException as error:
            failed.append(error)

    thread = Thread(target=copy_context().run, args=(do,), daemon=True)
    thread.start()
    try:
        _join_for(thread, slow)
        if thread.is_alive():
            with shown:
                _join_for(thread, inf)
    except KeyboardInterrupt:
        leaving = True
        thread.join(STOP_TIMEOUT_S)  # it may be writing
        if not found:
            raise
    if failed:
        raise failed[0]
    return found[0]


def _join_for(thread: Thread, seconds: float) -> None:
    """Wait for a thread, and look up often: Windows tells of Ctrl-C between two waits only."""
    until = monotonic() + seconds
    while thread.is_alive() and (left := until - monotonic()) > 0:
        thread.join(min(left, LOOKING))


def bar(*columns: ProgressColumn) -> Progress:
    """Return a bar of a description and these columns, shown on a terminal only."""
    console = stderr()
    return Progress(
        TextColumn("{task.description}"),
        *columns,
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
