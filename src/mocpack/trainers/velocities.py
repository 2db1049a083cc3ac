"""Definitions of velocity: mocpack's own, and those of trainers.

All are differences of frames, averaged over taps. Between frames, velocities are interpolated.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mocpack.common.arrays import F64
from mocpack.errors import UsageError

MAX_TAPS = 19
CENTRAL, FORWARD = 0, 1  # one-sided at both ends of a clip; the last frame has no next one
REPEAT_LAST, ZERO_LAST, REPEAT_THIRD_LAST = 0, 1, 2  # what its forward difference is
FILTER = np.dtype(
    [
        ("difference", "i4"),
        ("last", "i4"),
        ("radius", "i4"),
        ("is_zero_outside", "i4"),
        ("weights", "f4", MAX_TAPS),
    ],
    align=True,
)
FILTERS = ("linear", "angular", "angle")
VELOCITY = np.dtype(
    [("is_of_bodies", "i4"), ("horizon", "i4"), *((name, FILTER) for name in FILTERS)], align=True
)
Record = npt.NDArray[np.void]


def _filter(difference: int, last: int, taps: F64, *, is_zero_outside: bool = False) -> Record:
    found = np.zeros((), FILTER)
    found["difference"], found["last"], found["radius"] = difference, last, len(taps) // 2
    found["is_zero_outside"], found["weights"][: len(taps)] = is_zero_outside, taps
    return found


def _velocity(
    linear: Record, angular: Record, angle: Record, *, of_bodies: bool = False, horizon: int = 0
) -> Record:
    found = np.zeros(1, VELOCITY)
    found["is_of_bodies"], found["horizon"] = of_bodies, horizon
    found["linear"], found["angular"], found["angle"] = linear, angular, angle
    return found


def _gaussian(sigma: float, radius: int) -> F64:
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    return np.asarray(weights / weights.sum())


ONE = np.ones(1)
SMOOTH = _gaussian(2.0, 8)  # as scipy.ndimage.gaussian_filter1d(…, 2, mode="nearest")
BOX = np.full(19, 1 / 19)
CENTRAL_DIFFERENCE = _filter(CENTRAL, REPEAT_LAST, ONE)
FORWARD_DIFFERENCE = _filter(FORWARD, REPEAT_LAST, ONE)
FORWARD_BOX = _filter(FORWARD, REPEAT_LAST, BOX, is_zero_outside=True)

VELOCITIES = {
    # of root and joints; velocities of bodies follow by kinematics, as in a simulator
    "central": _velocity(CENTRAL_DIFFERENCE, CENTRAL_DIFFERENCE, CENTRAL_DIFFERENCE),
    # of each body, the smallest of the differences over 1, 2 and 3 frames
    "protomotions": _velocity(
        FORWARD_DIFFERENCE, FORWARD_DIFFERENCE, FORWARD_DIFFERENCE, of_bodies=True, horizon=3
    ),
    "sonic": _velocity(
        _filter(CENTRAL, REPEAT_LAST, SMOOTH),
        _filter(FORWARD, ZERO_LAST, SMOOTH),
        _filter(FORWARD, REPEAT_THIRD_LAST, ONE),
        of_bodies=True,
    ),
    "twist": _velocity(FORWARD_BOX, FORWARD_BOX, FORWARD_BOX),
}


def velocity_table(name: str) -> Record:
    """Return the definition of a name, as the native core reads it (1,)."""
    if name not in VELOCITIES:
        raise UsageError(f"velocity must be one of {', '.join(VELOCITIES)}, got {name!r:.80}")
    return VELOCITIES[name]
