"""How far joints are turned from where they stood against their parents, and how fast that changes.

A joint with hinges counts by the angles about its axes, any other by the angle between its local
rotations, as if it were one more hinge. Radians.
"""

from __future__ import annotations

import numpy as np

from mocpack.arrays import F64
from mocpack.clip import Clip
from mocpack.hinges import hinge_angles
from mocpack.rotations import angle_between, as_rotvec, conjugate, multiply


def angle_errors(original: Clip, decoded: Clip) -> F64:
    """Return the error (T, N) of each angle: hinges that turn, then joints without any."""
    free = _free_joints(original)
    apart = angle_between(original.rotations[:, free], decoded.rotations[:, free])
    return np.concatenate([np.abs(_hinge_differences(original, decoded)), apart], axis=1)


def largest_angle(original: Clip, decoded: Clip) -> float:
    """Return the largest error of an angle, which `max_angle` bounds."""
    return float(angle_errors(original, decoded).max(initial=0.0))


def mean_angle(original: Clip, decoded: Clip) -> float:
    """Return the mean error of angles."""
    return float(angle_errors(original, decoded).mean())


def rate_errors(original: Clip, decoded: Clip, order: int) -> F64 | None:
    """Return the error (T - order, N) of the angles' velocity (order 1) or acceleration (2).

    Of a joint without hinges, that of the rotation vector between its local rotations. None for
    clips that are too short.
    """
    if original.frame_count <= order:
        return None
    free = _free_joints(original)
    apart = as_rotvec(multiply(conjugate(original.rotations[:, free]), decoded.rotations[:, free]))
    hinged = np.diff(_hinge_differences(original, decoded), n=order, axis=0)
    turned = np.linalg.norm(np.diff(apart, n=order, axis=0), axis=-1)
    return np.concatenate([np.abs(hinged), turned], axis=1) * original.frame_rate**order


def _free_joints(clip: Clip) -> list[int]:
    hinges = clip.skeleton.hinges
    turning = (
        set() if hinges is None else {hinges.joints[h] for h in np.flatnonzero(~hinges.slides)}
    )
    return [j for j in range(len(clip.skeleton)) if j not in turning]


def _hinge_differences(original: Clip, decoded: Clip) -> F64:
    """Return decoded less original angles (T, N) of hinges that turn, in [-π, π]."""
    hinges = original.skeleton.hinges
    if hinges is None:
        return np.zeros((original.frame_count, 0))
    apart = (_angles_on(original, decoded) - _angles_on(original, original))[:, ~hinges.slides]
    return np.asarray(apart - 2 * np.pi * np.round(apart / (2 * np.pi)))


def _angles_on(original: Clip, clip: Clip) -> F64:
    """Return the angles (T, H) of a motion about the axes of the original's hinges."""
    skeleton = original.skeleton
    assert skeleton.hinges is not None
    places, translated = clip.translations, clip.translated_joints
    return hinge_angles(
        skeleton.hinges, skeleton.rest, skeleton.offsets, clip.rotations, places, translated
    ).angles
