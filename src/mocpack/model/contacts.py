"""Ground contacts: feet, and when points are planted on the ground."""

from __future__ import annotations

import re

import numpy as np

from mocpack.common.arrays import F64, Mask
from mocpack.model.skeleton import Skeleton

FOOT_NAME = re.compile(r"foot|toe|ankle|heel|paw|hoof", re.IGNORECASE)
FLOOR_PERCENTILE = 5  # of joint heights: the floor of a joint
MAX_PLANTED_HEIGHT_M = 0.03  # above the floor of the joint
MAX_PLANTED_SPEED_M_S = 0.15
PLANTED_WINDOW_S = 0.05  # to each side; averages the speed over noise
FOOT_HEIGHT_RATIO = 0.1  # leaf joints below this share of the body height are feet


def find_feet(skeleton: Skeleton, positions: F64) -> list[int]:
    """Return the foot joints: by name, otherwise the lowest leaf joints."""
    named = [j for j, name in enumerate(skeleton.names) if FOOT_NAME.search(name)]
    if named:
        return named
    floors = _floors(positions)
    reach = floors.min() + FOOT_HEIGHT_RATIO * np.ptp(positions[..., 1], axis=1).max()
    parents = set(skeleton.parents)
    return [j for j in range(len(skeleton)) if j not in parents and floors[j] <= reach]


def find_planted(positions: F64, frame_rate: float) -> Mask:
    """Return when points (T, P, 3) are planted on the ground, shape (T, P); y is up.

    A point is planted while it is within 3 cm of its floor (the 5th percentile of its height) and
    slower than 15 cm/s over a tenth of a second.
    """
    low = positions[..., 1] - _floors(positions) < MAX_PLANTED_HEIGHT_M
    span = max(1, round(PLANTED_WINDOW_S * frame_rate))
    frames = np.arange(len(positions))
    after = np.minimum(frames + span, len(frames) - 1)
    before = np.maximum(frames - span, 0)
    moved = np.linalg.norm(positions[after] - positions[before], axis=-1)
    seconds = np.maximum(after - before, 1)[:, np.newaxis] / frame_rate
    return np.asarray(low & (moved / seconds < MAX_PLANTED_SPEED_M_S))


def _floors(positions: F64) -> F64:
    return np.asarray(np.percentile(positions[..., 1], FLOOR_PERCENTILE, axis=0))
