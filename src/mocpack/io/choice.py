"""Choose one of several motions in a file, and check the rate to sample it at."""

from __future__ import annotations

from collections.abc import Sequence

from mocpack.arguments import check_number
from mocpack.errors import UsageError

MAX_FPS = 1e5
MAX_POSES = 1 << 25  # frames × joints: 1 GB of rotations


def find_index(known: Sequence[str], wanted: str | None, what: str) -> int:
    """Return the index of a motion given by name or by index from 0; by default 0.

    >>> find_index(["Walk", "Run"], "Run", "take"), find_index(["Walk", "Run"], "1", "take")
    (1, 1)
    """
    if wanted is None:
        return 0
    if wanted in known:
        return list(known).index(wanted)
    if wanted.isascii() and wanted.isdigit() and int(wanted[:9]) < len(known):
        return int(wanted[:9])
    raise UsageError(f"no {what} is named {wanted!r}; the file has: {', '.join(known)[:500]}")


def check_fps(fps: float | None) -> None:
    """Raise an error unless `fps` is None or a valid sampling rate."""
    if fps is not None and not 0 < check_number("fps", fps) <= MAX_FPS:
        raise UsageError(f"fps must be above 0 and at most {MAX_FPS:g}, got {fps}")
