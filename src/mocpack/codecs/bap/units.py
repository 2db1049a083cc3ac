"""MPEG-4's integers for body animation parameters: units, quantiser steps and limits.

Rotations are counted in 10⁻⁵ radian, translations in millimetres (ISO/IEC 14496-2). The standard
gives each of its 296 parameters a step and limits of the quantised value in I frames and of its
change in P frames. They hold for the axes of the H-Anim joint of that name, so only a skeleton
with such names has them; all other channels have the step alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack.dofs import is_angle, joint_of_dof
from mocpack.skeleton import Skeleton

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

ANGLE_UNIT = 1e-5  # radians
LENGTH_UNIT = 1e-3  # metres
ANGLE_STEP, LENGTH_STEP = 128, 1  # in those units
UNLIMITED = 2**30  # what the arithmetic coder takes

# H-Anim joint: step, largest quantised value in an I frame, largest change in a P frame; the
# same for its tilt, torsion and roll
STANDARD = {
    "vc7": (256, 240, 120),
    "vc6": (256, 240, 120),
    "vt1": (128, 660, 360),
    "vt2": (256, 240, 120),
}


@dataclass(frozen=True)
class IntegerUnits:
    """How each column becomes an integer; all arrays have shape (C,).

    Attributes
    ----------
    units : array of float
        Radians or metres of one MPEG-4 unit.
    steps : array of int
        MPEG-4 units of one quantiser step.
    intra, predicted : array of int
        Largest magnitude of the quantised value, and of its change from frame to frame.
    """

    units: F64
    steps: I64
    intra: I64
    predicted: I64

    def quantise(self, matrix: F64) -> I64:
        """Return the quantised integers of a matrix in metres and radians, shape (T, C)."""
        whole = np.rint(matrix / self.units)
        nearest = np.rint(whole / self.steps)
        return np.asarray(np.clip(nearest, -self.intra, self.intra), np.int64)

    def restore(self, integers: I64) -> F64:
        """Return metres and radians of quantised integers."""
        return np.asarray(integers * (self.steps * self.units))


def integer_units(skeleton: Skeleton, quant: float, *, limits: bool) -> IntegerUnits:
    """Return the units of a skeleton's columns with every step multiplied by `quant`.

    Steps stay whole numbers of MPEG-4's units, at least one; limits keep their meaning as angles.
    """
    angle = is_angle(skeleton)
    base = np.where(angle, ANGLE_STEP, LENGTH_STEP)
    intra, predicted = np.full(len(base), UNLIMITED), np.full(len(base), UNLIMITED)
    names = [skeleton.names[j] for j in joint_of_dof(skeleton)]
    for c in np.flatnonzero(angle) if limits else []:
        if names[c] in STANDARD:
            base[c], intra[c], predicted[c] = STANDARD[names[c]]
    steps = np.maximum(1, np.rint(base * quant)).astype(np.int64)
    for limit in (intra, predicted):
        bounded = limit < UNLIMITED
        limit[bounded] = (limit * base // steps)[bounded]
    return IntegerUnits(np.where(angle, ANGLE_UNIT, LENGTH_UNIT), steps, intra, predicted)
