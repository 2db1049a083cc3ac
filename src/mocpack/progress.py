"""Progress of long work, reported to a callback of the caller, if there is one.

Work is counted in units that the worker chooses. Stages nest: an encoder that tries three settings
has three units, and each setting counts its own units within one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class _Stage:
    """A stage of work: units done, units in total, and the callback for the fraction."""

    on_progress: Callable[[float], None]
    total: float = 0.0
    done: float = 0.0

    def report(self, done: float, total: float) -> None:
        self.on_progress(min(done / total, 1.0) if total else 0.0)


_current: ContextVar[_Stage | None] = ContextVar("progress", default=None)


@contextmanager
def report_to(on_progress: Callable[[float], None]) -> Iterator[None]:
    """Call `on_progress` with the fraction of this block's work that is done, 0 to 1.

    The thread that does the work calls it. The fraction can decrease when unexpected work is added.
    An exception of `on_progress` ends the work.
    """
    token = _current.set(_Stage(on_progress))
    try:
        yield
    finally:
        _current.reset(token)


def expect(units: float) -> None:
    """Announce `units` more units of work in the current stage."""
    level = _current.get()
    if level is not None:
        level.total = max(level.total, level.done + units)


@contextmanager
def stage(units: float = 1.0) -> Iterator[None]:
    """Count this block as `units` units of work; unannounced units are added to the total.

    >>> def pack():
    ...     expect(4)
    ...     with stage(1):
    ...         report = reporter()
    ...         report(1, 2)
    ...     with stage(3):
    ...         pass
    >>> shares = []
    >>> with report_to(shares.append):
    ...     pack()
    >>> shares
    [0.125, 0.25, 1.0]
    """
    level = _current.get()
    if level is None:
        yield
        return
    start = level.done
    level.total = max(level.total, start + units)
    token = _current.set(_Stage(lambda share: level.report(start + units * share, level.total)))
    try:
        yield
    finally:
        _current.reset(token)
    level.done = start + units
    level.report(level.done, level.total)


def reporter() -> Callable[[int, int], None] | None:
    """Return a function of (done, total) for a loop to call, or None without a callback."""
    level = _current.get()
    return None if level is None else level.report
