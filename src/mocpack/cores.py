"""The number of cores that the current work may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_core_limit: ContextVar[int | None] = ContextVar("cores", default=None)


def core_count() -> int:
    """Return the number of cores that work may use: the limit if one is set, else the system's.

    >>> with limit_cores(3):
    ...     core_count()
    3
    """
    given = _core_limit.get()
    if given is not None:
        return given
    # a cluster job may be restricted to some of the machine's cores
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


@contextmanager
def limit_cores(count: int) -> Iterator[None]:
    """Limit the work of this block to `count` cores, at least 1."""
    token = _core_limit.set(max(1, count))
    try:
        yield
    finally:
        _core_limit.reset(token)


def set_core_count(count: int) -> None:
    """Limit all further work of this thread to `count` cores, at least 1; for worker processes."""
    _core_limit.set(max(1, count))
