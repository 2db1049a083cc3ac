"""Foot skate: the speed of feet while they are planted in the original."""

from __future__ import annotations

import numpy as np

from mocpack.common.arguments import check_number
from mocpack.common.arrays import F64, Mask
from mocpack.model.clip import Clip
from mocpack.model.contacts import find_feet, find_planted
from mocpack.model.skeleton import Skeleton

ALLOWED_SKATE = 0.2  # added movement of a planted foot per frame, relative to the error bound


def foot_skate(
    skeleton: Skeleton, original: F64, decoded: F64, frame_rate: float
) -> tuple[float, float] | None:
    """Return the mean speed in m/s of planted feet, in `original` and in `decoded` (T, J, 3).

    The mean is over all pairs of consecutive frames in which the original foot is planted. None if
    no foot is ever planted.
    """
    joints = find_feet(skeleton, original)
    steps, source, found = _slides(original[:, joints], decoded[:, joints], frame_rate)
    return (float(source[steps].mean()), float(found[steps].mean())) if steps.any() else None


def foot_skate_excess(original: Clip, decoded: Clip, max_error: float) -> float:
    """Return the largest ratio of foot skate to allowed foot skate; above 1, a foot skates.

    0 if no foot is ever planted.
    """
    return max(skate_per_foot(original, decoded, max_error).values(), default=0.0)


def skate_per_foot(original: Clip, decoded: Clip, max_error: float) -> dict[int, float]:
    """Return the speed of each planted foot over its allowed speed, by joint.

    The allowed speed is the mean speed in the source plus 0.2 · `max_error` per frame.
    """
    positions, rate = original.positions(), original.frame_rate
    joints = find_feet(original.skeleton, positions)
    places = positions[:, joints], decoded.positions()[:, joints]
    steps, source, found = _slides(*places, rate)
    check_number("max_error", max_error, 0)
    free = ALLOWED_SKATE * max_error * rate
    return {
        joint: float(found[on, f].mean() / (source[on, f].mean() + free))
        for f, (joint, on) in enumerate(zip(joints, steps.T, strict=True))
        if on.any()
    }


def has_foot_skate(original: Clip, decoded: Clip, max_error: float) -> bool:
    """Return whether a planted foot skates more than allowed for `max_error` in meters."""
    return foot_skate_excess(original, decoded, max_error) > 1


def _slides(original: F64, decoded: F64, frame_rate: float) -> tuple[Mask, F64, F64]:
    """Return which steps between frames are planted, and the horizontal speeds in m/s.

    All arrays have shape (T - 1, P); the speeds are those of `original` and `decoded`.
    """
    on = find_planted(original, frame_rate)
    moved = np.diff(np.stack([original, decoded])[..., [0, 2]], axis=1)
    source, found = np.sqrt(np.sum(moved**2, axis=-1)) * frame_rate
    return np.asarray(on[1:] & on[:-1]), source, found
