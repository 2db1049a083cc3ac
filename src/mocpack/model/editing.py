"""Edit clips by handles: move joints to targets at given times. Changes fade out around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack.common.arguments import check_number
from mocpack.common.arrays import F64
from mocpack.errors import UsageError
from mocpack.model import rotations
from mocpack.model.clip import Clip
from mocpack.model.contacts import find_planted
from mocpack.model.handles import CHANGE_WEIGHT, Goal, Handle, solve_pose
from mocpack.model.hinges import joint_rotations
from mocpack.model.kinematics import forward_kinematics, forward_kinematics_scaled

FALLOFF_S = 0.5  # seconds before and after a handle that change
PLANTED_WEIGHT = 30.0  # cost of moving a joint with ground contact; 1 for others
MOVED_M = 1e-3  # a frame has changed if a joint moved at least so far


@dataclass(frozen=True, eq=False)
class Edit:
    """What an edit changed.

    Attributes
    ----------
    misses : array, shape (H,)
        Distance of each handle's joint from its target, in meters or radians.
    changes : array, shape (J,)
        Maximum displacement of each joint or vertex over all frames, in meters.
    changes_at_handles : array, shape (J,)
        The same at the times of the handles only.
    frames : range
        The frames in which anything moved by at least one millimeter.
    """

    misses: F64
    changes: F64
    changes_at_handles: F64
    frames: range


@dataclass(frozen=True, eq=False)
class ClipEdit(Edit):
    """An edited clip and its changes."""

    clip: Clip


def edit_clip(
    clip: Clip,
    handles: Sequence[Handle],
    *,
    falloff: float = FALLOFF_S,
    weights: Mapping[str | int, float] | None = None,
    contacts: bool = True,
) -> ClipEdit:
    """Move joints to their handle targets, and report how far other joints moved.

    Data beside the poses stays as it is. Hinges rotate about their axes and keep their limits.

    Parameters
    ----------
    falloff : float, seconds
        Seconds before and after a handle that change.
    weights : mapping from joints to float, optional
        Cost of moving some joints; that of others is 1.
    contacts : bool
        Whether moving joints that are on the ground at a handle's time costs much more.

    Raises
    ------
    UsageError
        If a joint cannot reach its target.

    >>> from mocpack.testing import walk
    >>> edit = edit_clip(walk(1.0), [Handle("LeftHand", 0.5, by=(0, 0.1, 0))])
    >>> bool(edit.misses[0] < 0.001)
    True
    """
    if not handles:
        raise UsageError("expected at least one handle, got none")
    check_number("falloff", falloff, 1e-6, 1e6)
    times = sorted({handle.time for handle in handles})
    at = np.array([_frame_of(clip, time) for time in times])
    costs = costs_of_moving(clip, at, weights or {}, contacts=contacts)
    changes = [
        _change(_PoseRows(clip, frame), [h for h in handles if h.time == time], cost)
        for time, frame, cost in zip(times, at, costs, strict=True)
    ]
    fade = _fade(clip.times, np.array(times), falloff)
    # solved for, so that overlapping fades add up to the change of each handle at its time
    first = at.astype(int)
    last = np.minimum(first + 1, clip.frame_count - 1)
    share = (at - first)[:, np.newaxis]
    at_handles = (1 - share) * fade[first] + share * fade[last]
    rows = fade @ np.linalg.lstsq(at_handles, np.array(changes), rcond=1e-9)[0]
    turned, places = _PoseRows(clip, np.arange(clip.frame_count)).poses(rows)
    made = clip.replace(rotations=turned, translations=places)
    return measure_edit(clip, made, handles)


def measure_edit(before: Clip, after: Clip, handles: Sequence[Handle]) -> ClipEdit:
    """Return what an edit changed, at frames and at handles."""
    at = np.array([_frame_of(before, handle.time) for handle in handles])
    new, turns = after.poses_at(at).world()
    points = before.skeleton.indices([handle.joint for handle in handles])
    places = (before.positions(), after.positions()), (before.poses_at(at).positions(), new)
    found = measure_changes(*places, turns, handles, points)
    return ClipEdit(**vars(found), clip=after)


def measure_changes(
    places: tuple[F64, F64],
    places_at_handles: tuple[F64, F64],
    turns: F64,
    handles: Sequence[Handle],
    points: Sequence[int],
) -> Edit:
    """Return what an edit changed.

    Parameters
    ----------
    places : arrays, shape (T, P, 3)
        World positions before and after, in meters.
    places_at_handles : arrays, shape (H, P, 3)
        The same at the times of the handles.
    turns : array, shape (H, P, 4)
        World rotations after the edit.
    points : sequence of int, length H
        The joint or vertex of each handle.
    """
    old, new = places_at_handles
    at = zip(handles, enumerate(points), strict=True)
    misses = [handle.miss(old[h, p], new[h, p], turns[h, p]) for handle, (h, p) in at]
    moved = np.linalg.norm(places[1] - places[0], axis=-1)
    changed = np.flatnonzero(moved.max(axis=1) >= MOVED_M)
    span = range(int(changed[0]), int(changed[-1]) + 1) if len(changed) else range(0)
    at_handles = np.linalg.norm(new - old, axis=-1).max(axis=0)
    return Edit(np.array(misses), np.maximum(moved.max(axis=0), at_handles), at_handles, span)


class _PoseRows:
    """Changes of the poses at frame indices, as rows of numbers.

    A row holds a rotation vector per joint, in its own frame, or the angles of its hinges; then the
    displacement of each translated root.
    """

    def __init__(self, clip: Clip, at: npt.ArrayLike) -> None:
        self.clip = clip
        self._poses = clip.poses_at(np.atleast_1d(np.asarray(at, np.float64)))
        skeleton = clip.skeleton
        hinges = skeleton.hinges
        slides = np.zeros(0, np.bool_) if hinges is None else hinges.slides
        self._hinges = np.flatnonzero(~slides)
        hinged = set() if hinges is None else {hinges.joints[h] for h in self._hinges}
        self._free = [j for j in range(len(skeleton)) if j not in hinged]
        self._roots = [m for m, j in enumerate(clip.translated_joints) if skeleton.parents[j] < 0]
        self.width = 3 * len(self._free) + len(self._hinges) + 3 * len(self._roots)

    def poses(self, rows: F64) -> tuple[F64, F64]:
        """Return rotations (N, J, 4) and translations (N, M, 3) of changed poses (N, width)."""
        count = len(rows)
        turned = _repeat(self._poses.rotations, count)
        places = _repeat(self._poses.translations, count)
        free, bent = 3 * len(self._free), 3 * len(self._free) + len(self._hinges)
        vectors = rows[:, :free].reshape(count, -1, 3)
        turned[:, self._free] = rotations.multiply(
            turned[:, self._free], rotations.from_rotvec(vectors)
        )
        hinges = self.clip.skeleton.hinges
        if hinges is not None and len(self._hinges):
            own = self._poses.hinge_angles(measure_off_axis=False).angles
            angles = _repeat(own, count)
            low, high = hinges.limits.T
            # a source may be beyond its limits already
            low, high = np.minimum(low, angles), np.maximum(high, angles)
            angles[:, self._hinges] += rows[:, free:bent]
            angles = np.clip(angles, low, high)
            for joint, turns in joint_rotations(hinges, self.clip.skeleton.rest, angles):
                turned[:, joint] = turns
        places[:, self._roots] += rows[:, bent:].reshape(count, -1, 3)
        return turned, places

    def world(self, rows: F64) -> tuple[F64, F64]:
        """Return positions (N, J, 3) and world rotations (N, J, 4) of one changed pose."""
        turned, places = self.poses(rows)
        given = self.clip.skeleton, turned, places, self.clip.translated_joints
        positions, turns = forward_kinematics(*given)
        if self.clip.header.is_scaled:
            scales = _repeat(self._poses.scales, len(rows))
            positions = forward_kinematics_scaled(*given, scales)[0]
        return positions, turns


def _repeat(values: F64, count: int) -> F64:
    """Return a copy of (N, …) with `count` rows; one row is repeated."""
    return np.array(np.broadcast_to(values, (count, *values.shape[1:])))


def _change(pose: _PoseRows, handles: Sequence[Handle], costs: F64) -> F64:
    """Return the change (M,) of one pose that reaches its handles."""
    positions = pose.world(np.zeros((1, pose.width)))[0][0]
    skeleton, goals = pose.clip.skeleton, list[Goal]()
    for handle in handles:
        joint = skeleton.indices([handle.joint])[0]
        costs[joint] = 0.0
        goals += handle.goals(joint, positions[joint])
    return solve_pose(
        pose.world,
        np.zeros(pose.width),
        goals,
        skeleton.names,
        weights=costs,
        cost=CHANGE_WEIGHT**2 * np.eye(pose.width),
        scales=np.ones(pose.width),
    )


def costs_of_moving(
    clip: Clip, at: F64, weights: Mapping[str | int, float], *, contacts: bool
) -> list[F64]:
    """Return the cost of moving each joint at each of the frame indices."""
    usual = np.ones(len(clip.skeleton))
    for joint, weight in weights.items():
        check_number(f"the weight of {joint}", weight, 0, 1e6)
        usual[clip.skeleton.indices([joint])[0]] = weight
    if not contacts:
        return [usual.copy() for _ in at]
    ground = find_planted(clip.positions(), clip.frame_rate)
    return [np.where(ground[round(f)], np.maximum(PLANTED_WEIGHT, usual), usual) for f in at]


def _fade(frames: F64, times: F64, falloff: float) -> F64:
    """Return a raised cosine around each time, (T, H); `frames` (T,) are times too."""
    away = np.abs(frames[:, np.newaxis] - (frames[0] + times)) / falloff
    return np.where(away < 1, 0.5 + 0.5 * np.cos(np.pi * np.minimum(away, 1)), 0.0)


def _frame_of(clip: Clip, time: float) -> float:
    """Return the frame index, which may be fractional, at a time after the first frame."""
    duration = float(clip.times[-1] - clip.times[0])
    if not 0 <= time <= duration + 1e-9:
        raise UsageError(f"time must be in 0..{duration:.6g} s, got {time}")
    return float(np.interp(clip.times[0] + time, clip.times, np.arange(clip.frame_count)))
