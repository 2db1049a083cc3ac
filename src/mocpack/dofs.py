"""The matrix of degrees of freedom: frames × channels, a view of a clip with an exact way back.

Columns follow the skeleton's channels: positions in metres, Euler angles in radians, unwrapped,
each on the branch nearest to the frame before. Joints with one or two axes keep just those.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from mocpack import rotations
from mocpack.clip import Clip, ClipHeader
from mocpack.errors import UnsupportedClipError
from mocpack.skeleton import ROTATION_CHANNELS, Skeleton, position_axes, rotation_order

F64 = npt.NDArray[np.float64]

LOST_ANGLE = 1e-6  # radians of rotation that a joint's channels cannot express before we refuse
LOST_LENGTH = 1e-6  # metres, likewise


def dof_names(skeleton: Skeleton) -> list[str]:
    """Return the name of each column: ``Hips.Xposition``, ``Hips.Zrotation``, …"""
    pairs = zip(skeleton.names, skeleton.channels, strict=True)
    return [f"{name}.{channel}" for name, channels in pairs for channel in channels]


def is_angle(skeleton: Skeleton) -> npt.NDArray[np.bool_]:
    """Return which columns are angles (the others are lengths)."""
    return np.array([c in ROTATION_CHANNELS for cs in skeleton.channels for c in cs], bool)


def joint_of_dof(skeleton: Skeleton) -> npt.NDArray[np.intp]:
    """Return the joint each column belongs to."""
    return np.repeat(np.arange(len(skeleton)), [len(c) for c in skeleton.channels])


def to_dofs(clip: Clip) -> F64:
    """Return the matrix of degrees of freedom, shape (T, C).

    A clip that still has its source's numbers gives those; any other gives the Euler angles of
    its rotations.

    Raises
    ------
    UnsupportedClipError
        If a joint moves in a way that its channels cannot say.
    """
    given = None if clip.channels is None else clip.channels * _scale(clip.header)
    matrix = np.empty((clip.frame_count, clip.skeleton.channel_count)) if given is None else given
    for j, start, channels in _joints(clip.skeleton):
        order, at = rotation_order(channels)
        columns = [start + k for k in at]
        if given is None:
            matrix[:, columns] = _angles(clip, j, order)
            matrix[:, [start + k for _, k in position_axes(channels)]] = _places(clip, j)
        matrix[:, columns] = _unwound(matrix[:, columns])
    return matrix


def from_dofs(matrix: F64, header: ClipHeader, *, channels: F64 | None = None) -> Clip:
    """Return the clip of a matrix of degrees of freedom; `to_dofs` inverts it."""
    skeleton = header.skeleton
    local = np.tile(rotations.IDENTITY, (len(matrix), len(skeleton), 1))
    moving = header.translated_joints
    places = np.tile(skeleton.offsets[list(moving)], (len(matrix), 1, 1))
    for j, start, names in _joints(skeleton):
        order, at = rotation_order(names)
        if order:
            turn = rotations.from_euler(matrix[:, [start + k for k in at]], order)
            axis = skeleton.axes[j]
            if not np.array_equal(axis, rotations.IDENTITY):
                turn = rotations.multiply(rotations.multiply(axis, turn), rotations.conjugate(axis))
            local[:, j] = turn
        if j in moving:
            place = places[:, moving.index(j)]
            listed = position_axes(names)
            if _adds_to_offset(names):
                shift = np.zeros((len(matrix), 3))
                shift[:, [a for a, _ in listed]] = matrix[:, [start + k for _, k in listed]]
                place += rotations.rotate(skeleton.axes[j], shift)
            else:
                place[:, [a for a, _ in listed]] = matrix[:, [start + k for _, k in listed]]
    return Clip(header, local, places, channels)


def from_channels(numbers: F64, header: ClipHeader) -> Clip:
    """Return the clip of a source's own numbers (its units, degrees), kept along with it."""
    return from_dofs(numbers * _scale(header), header, channels=numbers)


def to_channels(clip: Clip) -> F64:
    """Return the numbers to write to a file of the source's kind: its units, degrees."""
    if clip.channels is not None:
        return clip.channels
    return to_dofs(clip) / _scale(clip.header)


def moving_dofs(matrix: F64) -> npt.NDArray[np.bool_]:
    """Return which columns move at all."""
    return np.asarray(np.ptp(matrix, axis=0) > 0)


def _scale(header: ClipHeader) -> F64:
    return np.where(is_angle(header.skeleton), np.pi / 180, header.unit)


def _joints(skeleton: Skeleton) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    start = 0
    for j, channels in enumerate(skeleton.channels):
        yield j, start, channels
        start += len(channels)


def _angles(clip: Clip, j: int, order: str) -> F64:
    """Return the Euler angles (T, len(order)) of a joint about the axes that it has."""
    local = _in_axis_frame(clip, j)
    angles = rotations.as_euler(local, order) if order else np.empty((len(local), 0))
    lost = rotations.angle_between(rotations.from_euler(angles, order), local).max()
    if lost > LOST_ANGLE:
        raise UnsupportedClipError(
            f"joint {clip.skeleton.names[j]!r} turns {np.degrees(lost):.3g} degrees about axes "
            f"that it has no channel for; it has {order or 'none'}"
        )
    return angles


def _places(clip: Clip, j: int) -> F64:
    """Return the positions (T, n) of a joint as its position channels give them."""
    skeleton = clip.skeleton
    place = np.tile(skeleton.offsets[j], (clip.frame_count, 1))
    if j in clip.translated_joints:
        place = clip.translations[:, clip.translated_joints.index(j)]
    shift = place - skeleton.offsets[j]
    if _adds_to_offset(skeleton.channels[j]):
        place = shift = rotations.rotate(rotations.conjugate(skeleton.axes[j]), shift)
    given = [axis for axis, _ in position_axes(skeleton.channels[j])]
    lost = np.abs(np.delete(shift, given, axis=1)).max(initial=0.0)
    if lost > LOST_LENGTH:
        raise UnsupportedClipError(
            f"joint {skeleton.names[j]!r} moves {lost:.3g} m where it has no position channel"
        )
    return place[:, given]


def _unwound(angles: F64) -> F64:
    """Choose for angles (T, n) of one joint the branch nearest to the frame before."""
    three = angles.shape[1] == 3
    return rotations.nearest_euler(angles) if three else np.unwrap(angles, axis=0)


def _in_axis_frame(clip: Clip, j: int) -> F64:
    axis = clip.skeleton.axes[j]
    local = clip.rotations[:, j]
    if np.array_equal(axis, rotations.IDENTITY):
        return local
    return rotations.multiply(rotations.multiply(rotations.conjugate(axis), local), axis)


def _adds_to_offset(channels: tuple[str, ...]) -> bool:
    """ASF's tx ty tz move a joint from its rest place, in its axis frame; BVH's replace it."""
    return any(name.startswith("t") for name in channels)
