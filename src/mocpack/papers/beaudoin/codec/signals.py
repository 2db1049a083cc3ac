"""A clip as signals in time, joint by joint: places, then the rotation in a chosen form.

Of each joint that translates, x, y and z of its place in the parent's frame, in meters; then its
rotation: Euler angles in radians about the skeleton's own axes, outermost first ("euler"), the
four components of its quaternion ("quaternion"), or its rotation vector ("rotvec"). A joint without
rotation channels has no rotation signals. The order of signals follows from the header alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.common.arrays import F64, I32
from mocpack.errors import UnsupportedClipError
from mocpack.model import rotations
from mocpack.model.clip import Clip, ClipHeader
from mocpack.model.dofs import to_dofs
from mocpack.model.skeleton import Skeleton, rotation_order

Rotation = Literal["euler", "quaternion", "rotvec"]
ROTATIONS: tuple[Rotation, ...] = ("euler", "quaternion", "rotvec")

PLACE, ANGLE, QUATERNION, ROTVEC = 0, 3, 6, 7  # kinds of signals, numbered as in the native core
STILL = 1e-9  # meters or radians; a signal that changes less is constant
LOST = 1e-6  # sine of half the rotation that a joint without rotation channels may have


@dataclass(frozen=True)
class SignalPlan:
    """The meaning of each signal.

    Attributes
    ----------
    skeleton : Skeleton
    translated_joints : tuple of int
    rotation : {"euler", "quaternion", "rotvec"}
    first : array, shape (J + 1,)
        Where each joint's signals start; the last entry is their number S.
    kinds : array, shape (S,)
        0, 1, 2 for a place along x, y, z; 3, 4, 5 for a turn about them; 6 for a component of a
        quaternion; 7 for one of a rotation vector.
    """

    skeleton: Skeleton
    translated_joints: tuple[int, ...]
    rotation: Rotation
    first: I32
    kinds: I32

    def __len__(self) -> int:
        return len(self.kinds)

    @cached_property
    def joints(self) -> npt.NDArray[np.intp]:
        """The joint (S,) that each signal belongs to."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    @cached_property
    def is_place(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.kinds < ANGLE)

    def moves(self, weights: F64) -> npt.NDArray[np.bool_]:
        """Return which signals (S,) move any point of weight; joints come first, then end sites."""
        own = weights[: len(self.skeleton)] > 0
        below = np.zeros(len(self.skeleton), bool)
        for joint, weight in zip(self.skeleton.end_site_joints, weights[len(own) :], strict=True):
            below[joint] |= weight > 0
        for j in range(len(self.skeleton) - 1, 0, -1):
            below[self.skeleton.parents[j]] |= below[j] | own[j]
        return np.where(self.is_place, (below | own)[self.joints], below[self.joints])

    @cached_property
    def native(self) -> _core.Signals:
        """This layout as arguments of the native core."""
        axes = self.skeleton.axes
        straight = bool((axes == rotations.IDENTITY).all())
        return _core.Signals(self.first, self.kinds, axes[:0] if straight else axes)


def layout(header: ClipHeader, rotation: Rotation) -> SignalPlan:
    """Return which signals a clip of this header has."""
    kinds: list[int] = []
    first = [0]
    for j, channels in enumerate(header.skeleton.channels):
        if j in header.translated_joints:
            kinds += [PLACE, PLACE + 1, PLACE + 2]
        kinds += _rotation_kinds(rotation_order(channels)[0], rotation)
        first.append(len(kinds))
    return SignalPlan(
        header.skeleton,
        header.translated_joints,
        rotation,
        np.array(first, np.int32),
        np.array(kinds, np.int32),
    )


def to_signals(clip: Clip, plan: SignalPlan) -> F64:
    """Return the signals (S, T) of a clip."""
    signals = np.empty((len(plan), clip.frame_count))
    signals[plan.is_place] = np.moveaxis(clip.translations, 0, -1).reshape(-1, clip.frame_count)
    if plan.rotation == "euler":
        signals[~plan.is_place] = _euler_angles(clip)
        return signals
    _check_fixed_joints(clip)
    for j in range(len(clip.skeleton)):
        rows = np.arange(plan.first[j], plan.first[j + 1])
        rows = rows[~plan.is_place[rows]]
        if len(rows):
            local = clip.rotations[:, j]
            signals[rows] = (local if plan.rotation == "quaternion" else unwrapped_rotvec(local)).T
    return signals


def from_signals(signals: F64, header: ClipHeader, plan: SignalPlan) -> Clip:
    """Return the clip of signals (S, T); quaternions need not be of unit length."""
    values = np.ascontiguousarray(signals.T)
    local = _core.signal_rotations(plan.native, values)
    places = values[:, plan.is_place].reshape(len(values), -1, 3)
    return Clip(header, local, places)


def moving(signals: F64) -> npt.NDArray[np.bool_]:
    """Return which signals (S, T) are not constant."""
    return np.asarray(np.ptp(signals, axis=1) > STILL)


def unwrapped_rotvec(local: F64) -> F64:
    """Return rotation vectors (T, 3), each of the angle nearest to the frame before.

    A rotation has one vector for every full turn about its axis; past half a turn the smallest
    would jump to the opposite side.
    """
    vectors = rotations.as_rotvec(local)
    angles = np.linalg.norm(vectors, axis=-1)
    axes = vectors / np.maximum(angles, 1e-12)[:, np.newaxis]
    for t in range(1, len(vectors)):
        before = vectors[t - 1]
        if angles[t] < 1e-6:
            length = np.linalg.norm(before)
            if length < np.pi:
                continue
            axes[t] = before / length  # after a full turn any axis is valid
        along = axes[t] @ before
        turns = np.round((along - angles[t]) / (2 * np.pi))
        vectors[t] = (angles[t] + 2 * np.pi * turns) * axes[t]
    return vectors


def ranking_weights(plan: SignalPlan, reach: F64) -> F64:
    """Return the weight of each signal (S,): meters that one unit of it moves its bone's end.

    Parameters
    ----------
    reach : array, shape (J,)
        Length in meters of the bone that each joint drives.
    """
    # a quaternion's components move by half the angle
    per_unit = 2.0 if plan.rotation == "quaternion" else 1.0
    return np.where(plan.is_place, 1.0, per_unit * reach[plan.joints])


def bone_reach(clip: Clip) -> F64:
    """Return the length (J,) in meters of the bone that each joint drives.

    If a joint drives several bones, the longest counts. Bones without length are skipped, up to the
    first bone that has one. The root drives no bone; it gets the mean distance of all joints.
    """
    skeleton = clip.skeleton
    reach = np.zeros(len(skeleton))
    for joint, end in zip(skeleton.end_site_joints, skeleton.end_sites, strict=True):
        reach[joint] = max(reach[joint], float(np.linalg.norm(end)))
    for j in range(len(skeleton) - 1, 0, -1):
        length = float(np.linalg.norm(skeleton.offsets[j]))
        parent = skeleton.parents[j]
        reach[parent] = max(reach[parent], length if length > 0 else reach[j])
    positions = clip.positions()
    from_root = np.linalg.norm(positions[:, 1:] - positions[:, :1], axis=-1)
    reach[0] = from_root.mean() if from_root.size else reach[0]
    return reach


def _rotation_kinds(order: str, rotation: Rotation) -> list[int]:
    if not order:
        return []
    if rotation == "euler":
        return [ANGLE + "XYZ".index(axis) for axis in order]
    return [QUATERNION] * 4 if rotation == "quaternion" else [ROTVEC] * 3


def _euler_angles(clip: Clip) -> F64:
    """Return the angles (A, T) of all joints, outermost first, without avoidable jumps.

    A source may jump from one triple of angles to another of the same rotation; to code that jump
    would cost many coefficients and buy nothing.
    """
    matrix = to_dofs(clip)
    angles, start = [np.empty((clip.frame_count, 0))], 0
    for channels in clip.skeleton.channels:
        columns = [start + k for k in rotation_order(channels)[1]]
        own = matrix[:, columns]
        angles.append(rotations.unwrap_euler(own) if len(columns) == 3 else own)
        start += len(channels)
    return np.concatenate(angles, axis=1).T


def _check_fixed_joints(clip: Clip) -> None:
    for j, channels in enumerate(clip.skeleton.channels):
        if not rotation_order(channels)[0] and np.abs(clip.rotations[:, j, :3]).max() > LOST:
            raise UnsupportedClipError(
                f"joint {clip.skeleton.names[j]!r} rotates, but has no rotation channel"
            )
