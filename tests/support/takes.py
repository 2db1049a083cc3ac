"""Synthetic clips with take data: every combination of features, from a seed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations

import numpy as np

from mocpack.common.arrays import F64
from mocpack.model import rotations
from mocpack.model.clip import Clip, ClipHeader
from mocpack.model.dofs import from_channels
from mocpack.model.hinges import Hinges, joint_positions, joint_rotations
from mocpack.model.skeleton import DEFAULT_JOINT, DEFAULT_ROOT, Skeleton
from mocpack.model.take_data import Track

FEATURES = (
    "rest",
    "roots",
    "names",
    "scale",
    "scales",
    "tracks",
    "valid",
    "times",
    "space",
    "hinges",
)
"""Features that `take` can add to a motion."""


def take(features: Collection[str] = FEATURES, *, frames: int = 12, seed: int = 0) -> Clip:
    """Return a small motion of two limbs with the given features.

    Parameters
    ----------
    features : collection of str
        Of `FEATURES`: rest rotations, several roots, names that are empty or repeated, constant
        scales, scales that move, tracks of every kind, gaps, times that are not even, a start,
        a loop and another space, and hinges of one axis and of two.
    """
    rng = np.random.default_rng(seed)
    time = np.arange(frames) / 30
    skeleton = _skeleton(features, rng)
    joints = len(skeleton)
    turns = 0.6 * np.sin(2 * time[:, None, None] + rng.uniform(0, 6, (1, joints, 3)))
    local = rotations.from_rotvec(turns)
    roots = list(skeleton.roots)
    places = rng.normal(size=(1, len(roots), 3)) + np.stack([time, 0 * time + 1, -time], 1)[:, None]
    moving = roots
    if skeleton.hinges:
        moving = sorted({*roots, *skeleton.hinges.sliding_joints})
        local, places = _on_hinges(skeleton, local, places, turns[:, :, 0], moving)
    scaled = (1, joints - 1) if "scales" in features else ()
    seen = rng.random((frames, joints)) > 0.2 if "valid" in features else None
    odd = "space" in features
    return Clip.build(
        skeleton,
        local,
        places,
        frame_rate=30,
        translated_joints=moving,
        scaled_joints=scaled,
        scales=_scales(time, len(scaled)) if scaled else None,
        times=np.cumsum(rng.uniform(0.01, 0.06, frames)) if "times" in features else None,
        start_time=2.5 if odd else 0.0,
        valid=seen,
        tracks=tracks(frames, rng) if "tracks" in features else None,
        loop=odd,
        up="z" if odd else "y",
        handedness="left" if odd else "right",
        interpolated=odd,
    )


def all_takes(*, most: int = len(FEATURES), frames: int = 12) -> Iterator[tuple[str, Clip]]:
    """Yield names and clips with up to `most` features each, and one with all features."""
    for count in range(1, most + 1):
        for features in combinations(FEATURES, count):
            yield ", ".join(features), take(features, frames=frames)
    if most < len(FEATURES):
        yield "everything", take(frames=frames)


def markers(frames: int = 40, count: int = 6, *, seed: int = 3) -> Clip:
    """Return moving markers with gaps."""
    rng = np.random.default_rng(seed)
    time = np.arange(frames)[:, None, None] / 100
    points = rng.normal(size=(1, count, 3)) + 0.3 * np.sin(
        5 * time + rng.uniform(0, 6, (1, count, 3))
    )
    for p in range(1, count):
        start = int(rng.integers(0, frames - 5))
        points[start : start + 5, p] = np.nan
    return Clip.from_points(points, [f"M{p}" for p in range(count)], frame_rate=100, unit=0.001)


def tracks(frames: int, rng: np.random.Generator) -> dict[str, Track]:
    """Return a track of every kind, bounded and exact, at several rates."""
    fine = np.arange(4 * frames) / 120
    turns = np.stack([np.sin(fine), fine, 0 * fine], axis=1)
    return {
        "smile": Track("scalar", np.clip(np.sin(3 * fine[::4]), 0, 1), bound=0.002),
        "force": Track("scalar", rng.normal(size=4 * frames), frame_time=1 / 120, unit="N"),
        "contact": Track("flag", np.arange(frames) % 5 < 2),
        "gaze": Track("vec3", np.stack([fine, fine**2, -fine], 1), 1 / 120, 0.1, bound=1e-3),
        "prop": Track("quaternion", rotations.from_rotvec(turns), 1 / 120, bound=0.01),
        "pulse": Track("scalar", 0.7 * (np.arange(frames) % 5 == 3), start=-0.25, bound=0.01),
        "noise": Track("vec3", rng.uniform(-1, 1, (frames, 3)), 1 / 29.97, bound=1 / 300),
        "": Track("label", ["stand", "step", "stand"], times=np.array([0.0, 0.125, 0.3])),
        "none": Track("scalar", np.zeros(0)),
    }


def coded_tracks() -> dict[str, Track]:
    """Return tracks that take every form of numbers and nearly every coder."""
    rng = np.random.default_rng(0)
    time = np.arange(400) / 60
    smooth = np.sin(3 * time) + 0.01 * rng.standard_normal(400)
    spin = rotations.from_rotvec(np.stack([0 * time, 4 * time, 0.1 * np.sin(time)], 1))
    around = rotations.from_rotvec(0.2 * rng.standard_normal((400, 3)))
    away = rotations.multiply(rotations.from_rotvec(np.array([3.1, 0, 0])), around)
    return {
        "smooth": Track("scalar", smooth, bound=1e-4),
        "coarse": Track("scalar", smooth, bound=0.1),
        "decimals": Track("scalar", np.round(smooth, 2)),
        "floats": Track("scalar", smooth.astype(np.float32)),
        "doubles": Track("vec3", rng.standard_normal((50, 3))),
        "noise": Track("vec3", rng.uniform(-1, 1, (400, 3)), bound=0.003),
        "jitter": Track("scalar", 0.01 + 1e-3 * rng.standard_normal(400), bound=0.01),
        "still": Track("scalar", np.full(400, 0.25), bound=0.01),
        "still decimals": Track("scalar", np.full(400, 0.25)),
        "nothing": Track("vec3", np.zeros((40, 3)), bound=0.01),
        "weight": Track("scalar", np.clip(smooth, 0, 1), bound=0.001),
        "held": Track("scalar", np.round(smooth, 1), bound=0.02),
        "line": Track("scalar", (time**2)[:40], bound=1e-5),
        "decimal noise": Track("scalar", np.round(rng.uniform(-1, 1, 400), 3)),
        "spin": Track("quaternion", spin, 1 / 60, bound=0.002),
        "upside down": Track("quaternion", away, 1 / 60, bound=0.002),
    }


def asf_clip() -> Clip:
    """Return a clip whose joints have channels in frames of their own, as ASF has them."""
    turns = rotations.from_rotvec(np.array([[0.1, 0.4, -0.3], [0.0, 0.2, 1.0], [-0.5, 0.3, 0.1]]))
    skeleton = Skeleton(
        ("root", "knee", "toe"),
        (-1, 0, 1),
        0.3 * np.eye(3),
        channels=(("tx", "tz", "ty", "rx", "ry", "rz"), ("tz", "rz", "ry"), ("rx",)),
        axes=turns,
    )
    numbers = np.random.default_rng(4).uniform(-40, 40, (30, 10))
    return from_channels(numbers, ClipHeader(skeleton, 30, 1 / 30, (0, 1), 0.01))


def _skeleton(features: Collection[str], rng: np.random.Generator) -> Skeleton:
    names = ["hips", "knee", "foot", "chest", "hand"]
    parents = [-1, 0, 1, 0, 3]
    if "roots" in features:
        names, parents = [*names, "prop", "handle"], [*parents, -1, 5]
    if "names" in features:
        names[2], names[4] = "", "knee"
    count = len(names)
    unit = 0.01 if "scale" in features else 1.0  # an armature in centimeters
    scales = np.ones((count, 3))
    if "scale" in features:
        scales[[j for j, parent in enumerate(parents) if parent < 0]] = 100.0
        scales[3] = (1.0, 1.5, 0.8)
    turned = rotations.from_rotvec(rng.normal(size=(count, 3)))
    offsets = np.where(np.array(parents)[:, None] < 0, 0.0, unit * rng.normal(size=(count, 3)))
    channels = [DEFAULT_ROOT if parent < 0 else DEFAULT_JOINT for parent in parents]
    if "hinges" in features:
        channels[2] = DEFAULT_ROOT  # it slides
    return Skeleton(
        tuple(names),
        tuple(parents),
        0.4 * offsets,
        0.1 * unit * rng.normal(size=(2, 3)),
        (2, 4),
        tuple(channels),
        rest=turned if "rest" in features else np.zeros((0, 4)),
        scales=scales,
        hinges=_hinges(unit) if "hinges" in features else None,
    )


def _hinges(unit: float) -> Hinges:
    """Return hinges: a knee with one axis, a chest with two, a foot with a slider and an axis."""
    return Hinges(
        (3, 3, 1, 2, 2),
        np.array([[1, 0, 0], [0, 0, -1], [0.6, 0.8, 0], [0, 1, 0], [0, 0, 1]]),
        np.array([[-1, 1], [-np.inf, np.inf], [-0.7, 2.5], [-0.1 * unit, np.inf], [-2, 2]]),
        np.array([False, False, False, True, False]),
        ("chest_x", "chest_z", "knee_hinge", "foot_slide", "foot"),
    )


def _on_hinges(
    skeleton: Skeleton, local: F64, places: F64, angles: F64, moving: Collection[int]
) -> tuple[F64, F64]:
    """Return the pose with hinged joints at some angles."""
    hinges = skeleton.hinges
    assert hinges is not None
    angles = angles[:, : len(hinges)] * np.where(hinges.slides, 0.01, 1.0)
    for joint, pose in joint_rotations(hinges, skeleton.rest, angles):
        local[:, joint] = pose
    slid = dict(joint_positions(hinges, skeleton.rest, skeleton.offsets, angles))
    every = dict(zip(skeleton.roots, np.moveaxis(places, 1, 0), strict=True)) | slid
    return local, np.stack([every[joint] for joint in moving], axis=1)


def _scales(time: F64, count: int) -> F64:
    phase = np.arange(3 * count).reshape(1, count, 3)
    return np.asarray(1.1 + 0.3 * np.sin(4 * time[:, None, None] + phase))
