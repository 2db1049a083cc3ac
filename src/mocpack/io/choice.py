"""Which of several motions in a file is meant, and at which rate it is sampled."""

from __future__ import annotations

from collections.abc import Sequence

from mocpack.arguments import check_number
from mocpack.errors import UsageError

MAX_FPS = 1e5  # frames a second
MAX_POSES = 1 << 25  # frames × joints: 1 GB of rotations


def find_index(known: Sequence[str], wanted: str | None, what: str) -> int:
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


def check_fps(fps: float | None) -> None:
    """Complain of frames a second that nothing can be sampled at; None is none asked for."""
    if fps is not None and not 0 < check_number("fps", fps) <= MAX_FPS:
        raise UsageError(f"frames a second must be above 0 and at most {MAX_FPS:g}, got {fps}")
