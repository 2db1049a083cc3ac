"""How far joints are turned from where they pointed: angles between rotations. Radians."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mocpack.rotations import angle_between

F64 = npt.NDArray[np.float64]


def largest(a: F64, b: F64) -> float:
    """Return the largest angle, 0 to π, between rotations (..., 4)."""
    return float(angle_between(a, b).max())


def mean(a: F64, b: F64) -> float:
    """Return the mean angle between rotations (..., 4)."""
    return float(angle_between(a, b).mean())
