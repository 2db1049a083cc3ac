"""Errors of joint angles, their velocity and their acceleration, in radians.

A joint with hinges is measured by its hinge angles, any other joint by the angle between its local
rotations.
"""

from __future__ import annotations

import numpy as np

from mocpack.common.arrays import F64
from mocpack.model.clip import Clip
from mocpack.model.rotations import angle_between, as_rotvec, conjugate, multiply


def angle_errors(original: Clip, decoded: Clip) -> F64:
    """Return the error (T, N) of each angle: rotating hinges, then joints without hinges."""
    free = _free_joints(original)
    apart = angle_between(original.rotations[:, free], decoded.rotations[:, free])
    return np.concatenate([np.abs(_hinge_differences(original, decoded)), apart], axis=1)


def largest_angle(original: Clip, decoded: Clip) -> float:
    """Return the largest angle error, which `max_angle` bounds."""
    return float(angle_errors(original, decoded).max(initial=0.0))


def joint_angles(original: Clip, decoded: Clip) -> F64:
    """Return the largest angle error (J,) of each joint."""
    hinges, largest = original.skeleton.hinges, np.zeros(len(original.skeleton))
    turning = [] if hinges is None else [hinges.joints[h] for h in np.flatnonzero(~hinges.slides)]
    joints = [*turning, *_free_joints(original)]
    np.maximum.at(largest, joints, angle_errors(original, decoded).max(axis=0))
    return largest


def rate_errors(original: Clip, decoded: Clip, order: int) -> F64 | None:
    """Return the error (T - order, N) of angular velocity (order 1) or acceleration (order 2).

    Joints without hinges use the rotation vector between their local rotations. None for clips that
    are too short.
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
    """Return decoded minus original angles (T, N) of rotating hinges, in [-π, π]."""
    hinges = original.skeleton.hinges
    if hinges is None:
        return np.zeros((original.frame_count, 0))
    apart = (_angles_on(original, decoded) - _angles_on(original, original))[:, ~hinges.slides]
    return np.asarray(apart - 2 * np.pi * np.round(apart / (2 * np.pi)))


def _angles_on(original: Clip, clip: Clip) -> F64:
    """Return the angles (T, H) of a clip about the hinge axes of the original."""
    return original.skeleton.hinge_angles(
        clip.rotations, clip.translations, clip.translated_joints, measure_off_axis=False
    ).angles
