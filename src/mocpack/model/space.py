"""Convert between mocpack's axes (y up, right-handed) and those of other programs.

The conversion permutes axes and flips signs, so it is exact in both directions.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from mocpack.common.arrays import F64
from mocpack.errors import UsageError

UP_AXES = ("y", "x", "z")
HANDEDNESS = ("right", "left")
MAX_COORDINATE_M = 1e7  # float64 cannot resolve a micrometer reliably beyond this
# Decoded coordinates may exceed those of the source by the error bound.
MAX_DECODED_COORDINATE_M = 2 * MAX_COORDINATE_M
_AXIS_MATRICES = {
    "y": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "z": ((1, 0, 0), (0, 0, 1), (0, -1, 0)),
    "x": ((0, -1, 0), (1, 0, 0), (0, 0, 1)),
}
_MIRROR_SIGNS = {"y": (1, 1, -1), "z": (1, -1, 1), "x": (1, 1, -1)}


@cache
def conversion_matrix(up: str, handedness: str) -> F64:
    """Return the matrix (3, 3) that converts coordinates with these axes to mocpack's.

    A left-handed space is mirrored along z, or along y if z is up.
    """
    if up not in UP_AXES or handedness not in HANDEDNESS:
        raise UsageError(
            f"up must be one of {', '.join(UP_AXES)} and handedness one of "
            f"{', '.join(HANDEDNESS)}, got {up!r} and {handedness!r}"
        )
    mirror = _MIRROR_SIGNS[up] if handedness == "left" else (1, 1, 1)
    matrix = np.array(_AXIS_MATRICES[up], np.float64) * mirror
    matrix.setflags(write=False)
    return matrix


def to_internal(points: npt.ArrayLike, up: str, handedness: str = "right") -> F64:
    """Convert positions (…, 3) with these axes to mocpack's axes."""
    return np.asarray(points) @ conversion_matrix(up, handedness).T


def from_internal(points: npt.ArrayLike, up: str, handedness: str = "right") -> F64:
    """Convert positions (…, 3) from mocpack's axes to these; the inverse of `to_internal`."""
    return np.asarray(points) @ conversion_matrix(up, handedness)
