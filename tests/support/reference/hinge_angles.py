"""Hinge angles in numpy, which the core's are compared with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mocpack.common.arrays import F64
from mocpack.model import rotations
from mocpack.model.hinges import HingeAngles, Hinges, rotation_about


def hinge_angles(
    hinges: Hinges,
    rest: F64,
    offsets: F64,
    local: F64,
    translations: F64,
    translated_joints: Sequence[int],
) -> HingeAngles:
    """Return the hinge angles of a motion, and how far joints are off their axes."""
    angles = np.zeros((len(local), len(hinges)))
    off_axis = np.zeros_like(angles)
    column = {joint: m for m, joint in enumerate(translated_joints)}
    for joint, rows in hinges.rows_by_joint():
        turning = [h for h in rows if not hinges.slides[h]]
        sliding = [h for h in rows if hinges.slides[h]]
        if turning:
            turned = rotations.multiply(rotations.conjugate(rest[joint]), local[:, joint])
            angles[:, turning], off_axis[:, turning] = _axis_angles(hinges.axes[turning], turned)
        if sliding and joint in column:
            away = translations[:, column[joint]] - offsets[joint]
            way = rotations.rotate(rotations.conjugate(rest[joint]), away)
            angles[:, sliding], off_axis[:, sliding] = _slide_distances(hinges.axes[sliding], way)
    turns = ~hinges.slides
    angles[:, turns] = unwrap_angles(angles[:, turns], hinges.limits[turns])
    return HingeAngles(angles, off_axis)


def unwrap_angles(angles: F64, limits: F64) -> F64:
    """Return angles (T, H), unwrapped over time or shifted by full turns to fit their limits."""
    turn = 2 * np.pi
    lowest, highest = limits.T
    narrow = highest - lowest < turn
    near = 0.5 * np.where(narrow, lowest, 0.0) + 0.5 * np.where(narrow, highest, 0.0)
    around = angles - turn * np.round((angles - near) / turn)
    if narrow.all():
        return np.asarray(around)
    return np.where(narrow, around, np.unwrap(around, axis=0))


def _axis_angles(axes: F64, turned: F64) -> tuple[F64, F64]:
    """Return angles (T, n) about one or two axes, and the remaining rotation angle (T, 1)."""
    if len(axes) == 1:
        angle, off_axis = _twist(turned, axes[0])
        return angle[:, np.newaxis], off_axis[:, np.newaxis]
    first, second = axes
    flat = second - (second @ first) * first
    there = rotations.rotate(turned, np.broadcast_to(second, (len(turned), 3)))
    outer = np.arctan2(rotations.cross(flat, there) @ first, there @ flat)
    inner, off_axis = _twist(rotations.multiply(rotation_about(first, -outer), turned), second)
    return np.stack([outer, inner], axis=1), off_axis[:, np.newaxis]


def _twist(turned: F64, axes: F64) -> tuple[F64, F64]:
    """Return the angles (…) of the nearest rotations about axes, and the remaining angles.

    The part of the quaternion across the axis is the sine of half the remaining angle.
    """
    along = np.sum(turned[..., :3] * axes, axis=-1)
    across = np.linalg.norm(turned[..., :3] - along[..., np.newaxis] * axes, axis=-1)
    angles = 2 * np.arctan2(along, turned[..., 3])
    return np.asarray(angles), np.asarray(2 * np.arcsin(np.minimum(across, 1.0)))


def _slide_distances(axes: F64, way: F64) -> tuple[F64, F64]:
    """Return distances (T, n) along axes, and the remaining distance (T, 1)."""
    found = way @ np.linalg.pinv(axes)
    return found, np.linalg.norm(way - found @ axes, axis=1)[:, np.newaxis]
