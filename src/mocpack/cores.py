"""How many cores work may use: its share of a machine on which others work too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_core_limit: ContextVar[int | None] = ContextVar("cores", default=None)


def core_count() -> int:
    """Return how many cores work may use here: as many as it was given, or as the system has.

    >>> with limit_cores(3):
    ...     core_count()
    3
    """
    given = _core_limit.get()
    if given is not None:
        return given
    # a job of a cluster may be allowed some of a machine's cores
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


@contextmanager
def limit_cores(count: int) -> Iterator[None]:
    """Let the work within this block use so many cores, 1 or more."""
    token = _core_limit.set(max(1, count))
    try:
        yield
    finally:
        _core_limit.reset(token)


def set_core_count(count: int) -> None:
    """Let all further work of this thread use so many cores: for processes that do nothing else."""
    _core_limit.set(max(1, count))
