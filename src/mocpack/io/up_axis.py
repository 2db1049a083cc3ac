"""Guess the up axis of a file that states none, and turn its motion to y up.

Three signs vote for y or z. The body stands along the up axis in most frames (posture) and in the
rest pose. Its lowest point stays at the height of the floor, while it sways and travels along
the other axes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from mocpack.common.arrays import F64
from mocpack.model import rotations, space
from mocpack.model.clip import AnyClip, Clip, VertexClip, require_skeleton
from mocpack.model.kinematics import forward_kinematics
from mocpack.model.skeleton import DEFAULT_JOINT, POSITION_CHANNELS, ROTATION_CHANNELS

MIN_RATIO = 1.25  # by which a sign must favor one axis to vote
MAX_PROBE_FRAMES = 256
MIN_FLOOR_SECONDS = 1.0  # a shorter motion says nothing about the floor
Y, Z = 1, 2


def read_with_up_axis(
    read: Callable[..., AnyClip], *, guess: bool = True
) -> Callable[..., AnyClip]:
    """Return a reader with the option `up`, the up axis of files of a format that states none.

    Without it, the axis is guessed if `guess`, and else is y.
    """

    def call(
        data: bytes, *, up: str | None = None, **options: Path | str | float | None
    ) -> AnyClip:
        clip = read(data, **options)
        if up is not None:
            return turn_to_y_up(clip, up)
        if not guess:
            return clip
        clip = require_skeleton(clip, "guessing the up axis")
        points, rest = _sample_body(clip)
        axis, is_certain = guess_up_axis(points, clip.duration, rest)
        if axis == "y":
            return clip
        fact = "up_guessed" if is_certain else "up_doubtful"
        clip = replace(clip, header=replace(clip.header, metadata={**clip.metadata, fact: axis}))
        return turn_to_y_up(clip, axis) if is_certain else clip

    return call


def guess_up_axis(
    points: F64, seconds: float, rest: F64 | None = None, default: str = "y"
) -> tuple[str, bool]:
    """Return the most likely up axis, y or z, and whether it is certain.

    `points` (T, P, 3) are those of the body in some frames, NaN where one is missing; `seconds` is
    the duration, `rest` (P, 3) the rest pose. The axis is the default unless there is evidence
    against it: the floor is along the other axis and the body stands along it. Evidence that
    contradicts itself is not certain.
    """
    points = points[:: -(-len(points) // MAX_PROBE_FRAMES)]
    points = points[np.any(np.isfinite(points).all(axis=-1), axis=1)]
    if not len(points):
        return default, True
    low, high = np.nanmin(points, axis=1), np.nanmax(points, axis=1)
    drift = np.subtract(*np.percentile(low, (75, 25), axis=0))
    # the smaller drift
    floor = _vote(drift[Z], drift[Y]) if seconds >= MIN_FLOOR_SECONDS else None
    posture = _vote(*np.median(high - low, axis=0)[[Y, Z]])
    stance = None if rest is None or not len(rest) else _vote(*np.ptp(rest, axis=0)[[Y, Z]])
    other = "z" if default == "y" else "y"
    votes = (floor, posture, stance)
    if floor == default or votes.count(other) < 2:
        return default, True
    return other, set(votes) == {other}


def turn_to_y_up(clip: AnyClip, up: str) -> AnyClip:
    """Return a clip whose world has another up axis in mocpack's axes; local poses stay."""
    if up == "y":
        return clip
    if isinstance(clip, VertexClip):
        return VertexClip(clip.header, space.to_internal(clip.vertices, up))
    skeleton, roots = clip.skeleton, list(clip.skeleton.roots)
    turn = rotations.from_matrix(space.conversion_matrix(up, "right"))
    offsets, places, turns = skeleton.offsets.copy(), clip.translations.copy(), clip.rotations
    offsets[roots] = space.to_internal(offsets[roots], up)
    moved = [m for m, j in enumerate(clip.translated_joints) if j in roots]
    places[:, moved] = space.to_internal(places[:, moved], up)
    skeleton = replace(skeleton, offsets=offsets)
    if not skeleton.is_points:  # the rotations of markers mean nothing
        turns, rest = turns.copy(), skeleton.rest.copy()
        turns[:, roots] = rotations.multiply(turn, turns[:, roots])
        rest[roots] = rotations.multiply(turn, rest[roots])
        hinged = skeleton.hinges is not None and not set(roots).isdisjoint(skeleton.hinges.joints)
        skeleton = replace(
            skeleton,
            rest=rest if hinged or skeleton.has_rest else skeleton.rest,
            channels=tuple(
                _free_rotation(c) if j in roots else c for j, c in enumerate(skeleton.channels)
            ),
        )
    return clip.replace(skeleton=skeleton, rotations=turns, translations=places, up=up)


def _vote(along_y: float, along_z: float) -> str | None:
    """Return the axis with the clearly larger value, if there is one."""
    if along_y >= MIN_RATIO * along_z and along_y > 0:
        return "y"
    return "z" if along_z >= MIN_RATIO * along_y and along_z > 0 else None


def _free_rotation(channels: tuple[str, ...]) -> tuple[str, ...]:
    """Return the channels of a joint with all three rotations."""
    if sum(name in ROTATION_CHANNELS for name in channels) == len(DEFAULT_JOINT):
        return channels
    return (*(name for name in channels if name in POSITION_CHANNELS), *DEFAULT_JOINT)


def _sample_body(clip: Clip) -> tuple[F64, F64 | None]:
    """Return points of the body in some frames (T, P, 3), NaN in gaps, and its rest pose (P, 3)."""
    skeleton, valid = clip.skeleton, clip.take_data.valid
    few = slice(None, None, -(-clip.frame_count // MAX_PROBE_FRAMES))
    poses = clip.rotations[few], clip.translations[few]
    points, _ = forward_kinematics(skeleton, *poses, clip.translated_joints)
    if valid is not None:
        points = np.where(valid[few, :, np.newaxis], points, np.nan)
    if skeleton.is_points:
        return points, None
    parents = skeleton.parents
    # A root whose only child carries the position of the body stays on the ground.
    body = int(parents.count(0) == 1 and 1 in clip.translated_joints)
    rest = skeleton.offsets.copy()
    for j, parent in enumerate(parents):
        rest[j] = rest[j] + rest[parent] if parent >= body else 0.0
    return points[:, body:], rest[body:]
