"""Progress bars with the estimated time left, shown only on a terminal."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from datetime import timedelta
from math import inf
from threading import Thread
from time import monotonic
from typing import TypeVar

from rich.console import Console
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

from mocpack import progress as work_progress
from mocpack.cli.terminal import printable, stderr
from mocpack.workers import STOP_TIMEOUT_S

SHOW_BAR_AFTER_S = 2.0  # work on a single file that is faster shows no bar
POLL_INTERVAL_S = 0.1  # between two checks whether the work is done
MIN_FRACTION_DONE = 0.02  # below this, the time left cannot be estimated
# Slightly above 1, because rich never moves a full bar back, and work can be repeated.
BAR_TOTAL = 1 + 1e-6

Result = TypeVar("Result")


class TimeLeftColumn(ProgressColumn):
    """The estimated time left, assuming a constant speed."""

    def render(self, task: Task) -> Text:
        left = estimate_seconds_left(task.elapsed or 0.0, task.completed, task.total)
        return Text("" if left is None else f"{timedelta(seconds=left)} left")


def estimate_seconds_left(elapsed: float, done: float, total: float | None) -> int | None:
    """Return the estimated seconds left; None if it is too early to estimate.

    >>> estimate_seconds_left(10.0, 20, 100)
    40
    >>> estimate_seconds_left(10.0, 0, 100) is None
    True
    """
    if not total or done <= 0 or done < MIN_FRACTION_DONE * total:
        return None
    return max(0, round(elapsed * (total - done) / done))


def make_progress_bar() -> Progress:
    """Return a bar that counts finished items and shows the time left."""
    return _make_bar(BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeLeftColumn())


def run_with_progress(
    title: str, work: Callable[[], Result], *, slow: float = SHOW_BAR_AFTER_S
) -> Result:
    """Return the result of `work()`; show a bar once it has taken `slow` seconds.

    The work runs in a thread, so that Ctrl-C also interrupts a long native call. It reports its
    progress through `mocpack.progress`; without reports, the bar shows only the elapsed time.
    """
    results: list[Result] = []
    errors: list[BaseException] = []
    interrupted = False
    shown = _make_bar(BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TimeLeftColumn())
    task = shown.add_task(printable(title), total=None)

    def on_progress(fraction: float) -> None:
        if interrupted:
            raise KeyboardInterrupt
        shown.update(task, completed=fraction, total=BAR_TOTAL)

    def run() -> None:
        try:
            with work_progress.report_to(on_progress):
                results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=copy_context().run, args=(run,), daemon=True)
    thread.start()
    try:
        _join_thread(thread, slow)
        if thread.is_alive():
            with shown:
                _join_thread(thread, inf)
    except KeyboardInterrupt:
        interrupted = True
        thread.join(STOP_TIMEOUT_S)  # it may be writing a file
        if not results:
            raise
    if errors:
        raise errors[0]
    return results[0]


def _join_thread(thread: Thread, seconds: float) -> None:
    """Wait for a thread in short steps, because Windows delivers Ctrl-C only between waits."""
    until = monotonic() + seconds
    while thread.is_alive() and (left := until - monotonic()) > 0:
        thread.join(min(left, POLL_INTERVAL_S))


def _make_bar(*columns: ProgressColumn) -> Progress:
    """Return a bar with a description and these columns, shown only on a terminal."""
    console = stderr()
    shown = console.is_terminal
    return Progress(
        TextColumn("{task.description}"),
        *columns,
        console=console if shown else Console(quiet=True),  # rich before 15 ends with a line break
        transient=True,
        disable=not shown,
    )
