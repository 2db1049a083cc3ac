"""How far long work has come: told by those who do it to whoever listens, if anybody does.

Work is counted in units of the worker's own choice, and what is done within a unit in units of
its own: an encoder that tries three settings has three units, whatever each of them counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class _Stage:
    """A stretch of work: units done, units in all, and who is told the share."""

    on_progress: Callable[[float], None]
    total: float = 0.0
    done: float = 0.0

    def report(self, done: float, total: float) -> None:
        self.on_progress(min(done / total, 1.0) if total else 0.0)


_current: ContextVar[_Stage | None] = ContextVar("progress", default=None)


@contextmanager
def report_to(on_progress: Callable[[float], None]) -> Iterator[None]:
    """Call `on_progress` with the share of the work within this block that is done, 0 to 1.

    It is called by the thread that does the work. A share may fall: work that has to be done again
    was not expected. What `on_progress` raises ends the work.
    """
    token = _current.set(_Stage(on_progress))
    try:
        yield
    finally:
        _current.reset(token)


def expect(units: float) -> None:
    """Say that so many units of work are to come, from here on."""
    level = _current.get()
    if level is not None:
        level.total = max(level.total, level.done + units)


@contextmanager
def stage(units: float = 1.0) -> Iterator[None]:
    """Do so many units of work within this block; what was not expected is added to the rest.

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
    """Return what a loop may call with (done, in all); None where nobody listens."""
    level = _current.get()
    return None if level is None else level.report
