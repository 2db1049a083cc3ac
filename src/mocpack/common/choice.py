"""Choose one of several motions in a file, and check the rate to sample it at."""

from __future__ import annotations

from collections.abc import Sequence

from mocpack.common.arguments import check_number, did_you_mean
from mocpack.errors import SceneError, UsageError

MAX_FPS = 1e5
MAX_POSES = 1 << 25  # frames × joints: 1 GB of rotations
MAX_CLIPS_LISTED = 16  # in an error
MAX_CLIPS_COMPARED = 20_000  # with an unknown name, to suggest one; takes half a second


def find_index(
    known: Sequence[str], wanted: str | None, what: str = "clip", *, required: bool = False
) -> int:
    """Return the index of a motion given by name or by index from 0; by default 0.

    If a name is `required`, there is no default for several motions.

    >>> find_index(["Walk", "Run"], "Run"), find_index(["Walk", "Run"], "1")
    (1, 1)
    """
    if wanted is None and (len(known) == 1 or not required):
        return 0
    listed = f"the file has {len(known)}: {list_names(known, MAX_CLIPS_LISTED)}"
    if wanted is None:
        raise SceneError(f"name one {what} with --clip (clip= in Python); {listed}")
    if not isinstance(wanted, str):
        raise UsageError(f"clip must be a name, got {wanted!r:.80}")
    if wanted in known:
        return known.index(wanted)
    if wanted.isascii() and wanted.isdigit() and int(wanted[:9]) < len(known):
        return int(wanted[:9])
    hint = did_you_mean(wanted, known[:MAX_CLIPS_COMPARED])
    raise SceneError(f"no {what} is named {wanted!r:.80}{hint or ';'} {listed}")


def match_clip(known: Sequence[str], wanted: str) -> str | None:
    """Return the motion that `wanted` means in one of several files; None if it has no choice.

    An archive names the motions of a file ``FILE/MOTION``, the file itself ``MOTION``.

    >>> match_clip(["Walk", "Run"], "Fox/Run"), match_clip([], "Fox/Run")
    ('Run', None)
    """
    last = wanted.rpartition("/")[2]
    if wanted not in known and last in known:
        return last
    if wanted in known or len(known) > 1:
        return known[find_index(known, wanted)]
    return None


def list_names(names: Sequence[str], most: int = 40) -> str:
    """Return names for an error message, at most `most` of them.

    >>> list_names(["Walk", "Run", "Jump"], 2)
    'Walk, Run and 1 more'
    """
    words = ", ".join(name[:60] for name in names[:most])
    return words if len(names) <= most else f"{words} and {len(names) - most} more"


def check_fps(fps: float | None) -> None:
    """Raise an error unless `fps` is None or a valid sampling rate."""
    if fps is not None and not 0 < check_number("fps", fps) <= MAX_FPS:
        raise UsageError(f"fps must be above 0 and at most {MAX_FPS:g}, got {fps}")
