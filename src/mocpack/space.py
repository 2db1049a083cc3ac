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
HANDEDNESS = ("right", "left")
MAX_COORDINATE_M = 1e7  # metres; beyond it float64 cannot keep a micrometre apart from rounding
# metres; what is decoded lies an error beyond its source, and is a clip all the same
MAX_DECODED_COORDINATE_M = 2 * MAX_COORDINATE_M
_AXIS_MATRICES = {
    "y": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "z": ((1, 0, 0), (0, 0, 1), (0, -1, 0)),
    "x": ((0, -1, 0), (1, 0, 0), (0, 0, 1)),
}
_MIRROR_SIGNS = {"y": (1, 1, -1), "z": (1, -1, 1), "x": (1, 1, -1)}


@cache
def conversion_matrix(up: str, handedness: str) -> F64:
    """Return the matrix (3, 3) that takes places of such a space inside.

    A left-handed space is mirrored along the axis that is neither x nor up, or z where x is up.
    """
    if up not in UP_AXES or handedness not in HANDEDNESS:
        raise UsageError(
            f"up must be one of {', '.join(UP_AXES)} and handedness of {', '.join(HANDEDNESS)}, "
            f"got {up!r} and {handedness!r}"
        )
    mirror = _MIRROR_SIGNS[up] if handedness == "left" else (1, 1, 1)
    found = np.array(_AXIS_MATRICES[up], np.float64) * mirror
    found.setflags(write=False)
    return found


def to_internal(points: npt.ArrayLike, up: str, handedness: str = "right") -> F64:
    """Return places (…, 3) of such a space as they are inside."""
    return np.asarray(points) @ conversion_matrix(up, handedness).T


def from_internal(points: npt.ArrayLike, up: str, handedness: str = "right") -> F64:
    """Return places (…, 3) from inside as they are in such a space; `to_internal` inverts it."""
    return np.asarray(points) @ conversion_matrix(up, handedness)
