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

from mocpack import rotations
from mocpack.arrays import F64, Mask
from mocpack.errors import InvalidClipError
from mocpack.frozen import FrozenValue, freeze_array
from mocpack.texts import check_text

MAX_HINGES = 65_535
MAX_NAME = 1024  # bytes of UTF-8
MAX_TURN_AXES = 2  # per joint: three angles are not unique at gimbal lock
MAX_SLIDE_AXES = 3
MIN_AXIS_SINE = (
    1e-3  # sine of the angle between two axes of a joint; below it they count as parallel
)
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
        freeze(self, "joints", tuple(map(int, self.joints)))
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

    @cached_property
    def single_axis(self) -> tuple[list[int], list[int]]:
        """Rows that are the only row of their joint and rotate it, and these joints."""
        rows = [
            own[0] for _, own in self.rows_by_joint() if len(own) == 1 and not self.slides[own[0]]
        ]
        return rows, [self.joints[h] for h in rows]

    @cached_property
    def multi_axis(self) -> list[tuple[int, list[int]]]:
        """The joints and rows of `rows_by_joint` that are not in `single_axis`."""
        single = set(self.single_axis[1])
        return [(joint, rows) for joint, rows in self.rows_by_joint() if joint not in single]

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
    rows, joints = hinges.single_axis
    turned = rotation_about(hinges.axes[rows], angles[:, rows])
    poses = rotations.multiply(rest[joints], turned)
    yield from ((joint, poses[:, k]) for k, joint in enumerate(joints))
    for joint, more in hinges.multi_axis:
        pose = np.broadcast_to(rest[joint], (len(angles), 4))
        turning = [h for h in more if not hinges.slides[h]]
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


def hinge_angles(
    hinges: Hinges,
    rest: F64,
    offsets: F64,
    local: F64,
    translations: F64,
    translated_joints: Sequence[int],
    frames: F64 | None = None,
    *,
    measure_off_axis: bool = True,
) -> HingeAngles:
    """Return the hinge angles of a motion, and how far joints are off their axes.

    For a joint off its axis, the angle is that of the nearest rotation about it; with two axes, of
    the rotation that aligns the second axis. An angle whose limits are less than a full turn apart
    is the one nearest to their middle. Any other starts in [-π, π] and is unwrapped over time.

    Parameters
    ----------
    rest : array, shape (J, 4)
    offsets : array, shape (J, 3)
    local : array, shape (T, J, 4)
    translations : array, shape (T, M, 3)
    frames : array, shape (N, 4, 4), optional
        Result of `hinge_frames`, if already computed.
    measure_off_axis : bool
        Whether `off_axis` is wanted; else it is 0 for joints of one axis.
    """
    local = np.asarray(local)
    angles = np.zeros((len(local), len(hinges)))
    off_axis = np.zeros_like(angles)
    rows, joints = hinges.single_axis
    # all single-axis joints at once: training reads many short windows of robots
    frames = hinge_frames(hinges, rest) if frames is None else frames
    sine, one, other, cosine = np.moveaxis(local.swapaxes(0, 1)[joints] @ frames, 2, 0)
    angles[:, rows] = 2 * np.arctan2(sine, cosine).T
    if measure_off_axis:
        off_axis[:, rows] = 2 * np.arcsin(np.minimum(np.hypot(one, other), 1.0)).T
    column = {joint: m for m, joint in enumerate(translated_joints)}
    for joint, more in hinges.multi_axis:
        turning = [h for h in more if not hinges.slides[h]]
        sliding = [h for h in more if hinges.slides[h]]
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


def hinge_frames(hinges: Hinges, rest: F64) -> F64:
    """Return matrices (N, 4, 4) that decompose the rotations of `single_axis` rows.

    A rotation (x, y, z, w) times a matrix gives the sine of half the angle about the axis, two
    components across the axis, and the cosine of half the angle.
    """
    rows, joints = hinges.single_axis
    base, axes = rest[joints], hinges.axes[rows]
    # two directions across each axis, starting from the coordinate axis least aligned with it
    aside = np.eye(3)[np.abs(axes).argmin(axis=1)]
    second = rotations.cross(axes, aside)
    second = second / np.linalg.norm(second, axis=1, keepdims=True)
    columns = []
    for axis in (axes, second, rotations.cross(axes, second)):
        upper = base[:, 3:] * axis - rotations.cross(axis, base[:, :3])
        lower = -np.sum(axis * base[:, :3], axis=1, keepdims=True)
        columns.append(np.concatenate([upper, lower], axis=1))
    return np.stack([*columns, base], axis=2)


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
    if not np.abs(np.linalg.norm(hinges.axes, axis=1) - 1).max() < UNIT_TOLERANCE:
        raise InvalidClipError("hinge axes must be unit vectors")
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
