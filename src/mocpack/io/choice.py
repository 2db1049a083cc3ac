"""Which of several motions in a file is meant."""

from __future__ import annotations

from collections.abc import Sequence

from mocpack.errors import UsageError


def chosen(known: Sequence[str], wanted: str | None, what: str) -> int:
    """Return the place of the one named, or numbered from 0, or else of the first.

    >>> chosen(["Walk", "Run"], "Run", "take"), chosen(["Walk", "Run"], "1", "take")
    (1, 1)
    """
    if wanted is None:
        return 0
    if wanted in known:
        return list(known).index(wanted)
    if wanted.isascii() and wanted.isdigit() and int(wanted[:9]) < len(known):
        return int(wanted[:9])
    raise UsageError(f"there is no {what} {wanted!r}; there are: {', '.join(known)[:500]}")
