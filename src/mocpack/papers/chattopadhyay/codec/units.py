"""MPEG-4's integers for body animation parameters: units and quantizer steps.

Rotations are counted in 10⁻⁵ radian, translations in millimeters (ISO/IEC 14496-2). The standard
also limits each of its 296 parameters by the axes of the H-Anim joint of that name. Captured
skeletons have neither these names nor these axes, so mocpack applies no limits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mocpack.common.arrays import F64, I64
from mocpack.model.skeleton import Skeleton

ANGLE_UNIT = 1e-5  # radians
LENGTH_UNIT = 1e-3  # meters
ANGLE_STEP, LENGTH_STEP = 128, 1  # in those units
MAX_STEPS = 2**30  # limit of the arithmetic coder


@dataclass(frozen=True)
class IntegerUnits:
    """The quantizer of each column; all arrays have shape (C,).

    Attributes
    ----------
    units : array of float
        Radians or meters of one MPEG-4 unit.
    steps : array of int
        MPEG-4 units of one quantizer step.
    """

    units: F64
    steps: I64

    def quantize(self, matrix: F64) -> I64:
        """Return the quantized integers of a matrix in meters and radians, shape (T, C)."""
        whole = np.rint(matrix / self.units)
        return np.asarray(np.rint(whole / self.steps), np.int64)

    def restore(self, integers: I64) -> F64:
        """Return meters and radians of quantized integers."""
        return np.asarray(integers * (self.steps * self.units))


def integer_units(skeleton: Skeleton, quant: float) -> IntegerUnits:
    """Return the units of a skeleton's columns with every step multiplied by `quant`.

    Steps stay whole numbers of MPEG-4's units, at least one.
    """
    angle = skeleton.columns.is_angle
    steps = np.maximum(1, np.rint(np.where(angle, ANGLE_STEP, LENGTH_STEP) * quant))
    return IntegerUnits(np.where(angle, ANGLE_UNIT, LENGTH_UNIT), steps.astype(np.int64))
