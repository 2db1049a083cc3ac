"""Hinges: joints that rotate about fixed axes or slide along them, and their angles.

The rotation of a hinged joint is its rest rotation, then the rotations about its axes in the order
of its rows: ``rest · R(axis₁, angle₁) · R(axis₂, angle₂)``. The position of a slider is
``offset + rest · Σ axis · distance``. Axes are given in the frame after the rest rotation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mocpack.common.arguments import check_integers
from mocpack.common.arrays import F64, Mask
from mocpack.common.frozen import FrozenValue, freeze_array
from mocpack.common.texts import check_text
from mocpack.errors import InvalidClipError
from mocpack.model import rotations

MAX_HINGES = 65_535
MAX_NAME = 1024  # bytes of UTF-8
MAX_TURN_AXES = 2  # per joint: three angles are not unique at gimbal lock
MAX_SLIDE_AXES = 3
MIN_AXIS_SINE = 1e-3  # of the angle between two axes of a joint; below, they count as parallel
UNIT_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Hinges(FrozenValue):
    """Hinges of a skeleton: one row per degree of freedom, in the order of the source.

    Parameters
    ----------
    joints : sequence of int, length H
        The joint that each row moves. **Rows are in the order of the source, so joints need not
        increase.** Rows of one joint apply in order: sliders (at most three) before rotations (at
        most two, about axes that are not parallel).
    axes : array, shape (H, 3)
        Unit vectors.
    limits : array, shape (H, 2), optional
        Minimum and maximum in radians, or meters for sliders; ∓inf without a limit.
    slides : sequence of bool, length H, optional
        Whether the row slides along its axis instead of rotating about it.
    names : sequence of str, length H, optional
        Names in the source: joints of a robot, ``Knee.Xrotation`` of a BVH file.
    """

    joints: tuple[int, ...]
    axes: F64
    limits: F64 = field(default_factory=lambda: np.zeros((0, 2)))
    slides: Mask = field(default_factory=lambda: np.zeros(0, np.bool_))
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze = object.__setattr__
        joints = check_integers("joints", self.joints, 0, error=InvalidClipError)
        freeze(self, "joints", tuple(joints))
        count = len(self.joints)
        freeze(self, "axes", freeze_array(self.axes))
        limits = self.limits if len(self.limits) else np.tile([-np.inf, np.inf], (count, 1))
        freeze(self, "limits", freeze_array(limits))
        slides = np.array(self.slides if len(self.slides) else np.zeros(count), np.bool_)
        slides.setflags(write=False)
        freeze(self, "slides", slides)
        freeze(self, "names", tuple(map(str, self.names or [""] * count)))
        _check_rows(self)
        for joint, rows in self.rows_by_joint():
            _check_joint(self, joint, rows)

    def __len__(self) -> int:
        return len(self.joints)

    @cached_property
    def by_joint(self) -> tuple[int, ...]:
        """Rows sorted by joint; rows of one joint in the order in which they apply."""
        return tuple(map(int, np.argsort(self.joints, kind="stable")))

    @cached_property
    def sliding_joints(self) -> tuple[int, ...]:
        """Joints with sliders, in increasing order."""
        return tuple(sorted({self.joints[h] for h in np.flatnonzero(self.slides)}))

    def rows_by_joint(self) -> Iterator[tuple[int, list[int]]]:
        """Yield each hinged joint with its rows, joints in increasing order."""
        rows: dict[int, list[int]] = {}
        for h in self.by_joint:
            rows.setdefault(self.joints[h], []).append(h)
        yield from rows.items()

    def rows(self, kept: Sequence[int], joints: Sequence[int]) -> Hinges | None:
        """Return some rows, moved to joints of another skeleton; None without rows.

        Parameters
        ----------
        kept : sequence of int
            Rows.
        joints : sequence of int
            New joint of each row.
        """
        if not len(kept):
            return None
        at = list(kept)
        names = tuple(self.names[h] for h in at)
        return Hinges(tuple(joints), self.axes[at], self.limits[at], self.slides[at], names)

    def concatenate(self, other: Hinges) -> Hinges:
        """Return these rows followed by the others."""
        return Hinges(
            self.joints + other.joints,
            np.concatenate([self.axes, other.axes]),
            np.concatenate([self.limits, other.limits]),
            np.concatenate([self.slides, other.slides]),
            self.names + other.names,
        )

    def remap_joints(self, new_index: dict[int, int]) -> Hinges | None:
        """Return the rows of joints that have a new index, moved to it."""
        kept = [h for h, joint in enumerate(self.joints) if joint in new_index]
        return self.rows(kept, [new_index[self.joints[h]] for h in kept])


@dataclass(frozen=True)
class HingeAngles:
    """Hinge angles of a motion.

    Attributes
    ----------
    angles : array, shape (T, H)
        Radians, or meters for sliders, in the order of the rows.
    off_axis : array, shape (T, H)
        Deviation of the joint from the pose that its angles give, in radians or meters. 0 up to
        rounding if the joint moves only on its hinges.
    """

    angles: F64
    off_axis: F64


def joint_rotations(hinges: Hinges, rest: F64, angles: F64) -> Iterator[tuple[int, F64]]:
    """Yield each rotating joint with its rotations (T, 4) for angles (T, H)."""
    for joint, rows in hinges.rows_by_joint():
        pose = np.broadcast_to(rest[joint], (len(angles), 4))
        turning = [h for h in rows if not hinges.slides[h]]
        for h in turning:
            pose = rotations.multiply(pose, rotation_about(hinges.axes[h], angles[:, h]))
        if turning:
            yield joint, pose


def joint_positions(
    hinges: Hinges, rest: F64, offsets: F64, angles: F64
) -> Iterator[tuple[int, F64]]:
    """Yield each sliding joint with its positions (T, 3) for distances (T, H)."""
    for joint, rows in hinges.rows_by_joint():
        sliding = [h for h in rows if hinges.slides[h]]
        if sliding:
            way = angles[:, sliding] @ hinges.axes[sliding]
            yield joint, offsets[joint] + rotations.rotate(rest[joint], way)


def rotation_about(axis: F64, angle: F64) -> F64:
    """Return the rotations (..., 4) by angles (...) about unit axes (..., 3), or one (3,)."""
    half = 0.5 * np.asarray(angle)[..., np.newaxis]
    return np.concatenate([np.sin(half) * axis, np.cos(half)], axis=-1)


def _check_rows(hinges: Hinges) -> None:
    count = len(hinges)
    if not 1 <= count <= MAX_HINGES:
        raise InvalidClipError(
            f"hinges must have 1 to {MAX_HINGES} rows, got {count}; use None for no hinges"
        )
    shapes: tuple[tuple[str, npt.NDArray[np.generic], tuple[int, ...]], ...] = (
        ("axes", hinges.axes, (count, 3)),
        ("limits", hinges.limits, (count, 2)),
        ("slides", hinges.slides, (count,)),
    )
    for what, array, shape in shapes:
        if array.shape != shape:
            raise InvalidClipError(f"expected hinge {what} of shape {shape}, got {array.shape}")
    if len(hinges.names) != count:
        raise InvalidClipError(f"expected names of {count} hinges, got {len(hinges.names)}")
    lengths = np.linalg.norm(hinges.axes, axis=1)
    for h in np.flatnonzero(~(np.abs(lengths - 1) < UNIT_TOLERANCE)):
        raise InvalidClipError(
            f"hinge axes must be unit vectors, got length {lengths[h]:.6g} of {hinges.names[h]!r}"
        )
    lowest, highest = hinges.limits.T
    for h in np.flatnonzero(~(lowest <= highest) | (lowest == np.inf) | (highest == -np.inf)):
        raise InvalidClipError(
            f"limits of hinge {hinges.names[h]!r} must increase, got {lowest[h]} to {highest[h]}"
        )
    for name in hinges.names:
        check_text(name, MAX_NAME, "a hinge name")


def _check_joint(hinges: Hinges, joint: int, rows: list[int]) -> None:
    sliding = [h for h in rows if hinges.slides[h]]
    turning = [h for h in rows if not hinges.slides[h]]
    if len(turning) > MAX_TURN_AXES or len(sliding) > MAX_SLIDE_AXES:
        raise InvalidClipError(
            f"joint {joint} can have at most {MAX_TURN_AXES} rotation axes and "
            f"{MAX_SLIDE_AXES} sliders, got {len(turning)} and {len(sliding)}"
        )
    if rows != sliding + turning:
        raise InvalidClipError(f"joint {joint}: sliders must come before rotations")
    for axes in (hinges.axes[turning], hinges.axes[sliding]):
        if len(axes) > 1 and np.linalg.svd(axes, compute_uv=False)[-1] < MIN_AXIS_SINE:
            raise InvalidClipError(f"axes of joint {joint} must not be parallel")
