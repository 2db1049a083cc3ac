"""Other programs' spaces: which axis is up, which hand; inside, y is up and right-handed.

The change is a permutation of axes with signs, so that it is exact both ways.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from mocpack.arrays import F64
from mocpack.errors import UsageError

UP_AXES = ("y", "x", "z")
HANDS = ("right", "left")
FARTHEST = 1e7  # metres; beyond it float64 cannot keep a micrometre apart from rounding
# metres; what is decoded lies an error beyond its source, and is a clip all the same
FARTHEST_DECODED = 2 * FARTHEST
_TURNS = {
    "y": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "z": ((1, 0, 0), (0, 0, 1), (0, -1, 0)),
    "x": ((0, -1, 0), (1, 0, 0), (0, 0, 1)),
}
_MIRRORS = {"y": (1, 1, -1), "z": (1, -1, 1), "x": (1, 1, -1)}


@cache
def basis(up: str, handedness: str) -> F64:
    """Return the matrix (3, 3) that takes places of such a space inside.

    A left-handed space is mirrored along the axis that is neither x nor up, or z where x is up.
    """
    if up not in UP_AXES or handedness not in HANDS:
        raise UsageError(
            f"up must be one of {', '.join(UP_AXES)} and handedness of {', '.join(HANDS)}, "
            f"got {up!r} and {handedness!r}"
        )
    mirror = _MIRRORS[up] if handedness == "left" else (1, 1, 1)
    found = np.array(_TURNS[up], np.float64) * mirror
    found.setflags(write=False)
    return found


def inside(points: npt.ArrayLike, up: str, handedness: str = "right") -> F64:
    """Return places (…, 3) of such a space as they are inside."""
    return np.asarray(points) @ basis(up, handedness).T


def outside(points: npt.ArrayLike, up: str, handedness: str = "right") -> F64:
    """Return places (…, 3) from inside as they are in such a space; `inside` inverts it."""
    return np.asarray(points) @ basis(up, handedness)
