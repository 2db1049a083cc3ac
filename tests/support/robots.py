"""Robots made from a seed: trees of any shape as URDF and MJCF, as skeletons, and their motions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mocpack.common.arrays import F64
from mocpack.model import rotations
from mocpack.model.clip import Clip
from mocpack.model.hinges import Hinges
from mocpack.model.skeleton import Skeleton

KINDS = ("revolute", "continuous", "prismatic", "fixed")
ROUNDING = 1e-9  # tolerance of limits in radians and meters
MASS = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'


def urdf(seed: int = 0, *, links: int = 12, shuffled: bool = True, mimic: bool = False) -> str:
    """Return the URDF of a robot whose root floats: hinges, wheels, sliders and fixed links.

    `shuffled` puts joints in another order than that of the tree; with `mimic`, the last joint that
    turns follows the first.
    """
    rng = np.random.default_rng(seed)
    names = [f"link{k}" for k in range(links)]
    joints, turning = [], []
    for k in range(1, links):
        kind = "revolute" if k < 3 else str(rng.choice(KINDS, p=[0.5, 0.15, 0.15, 0.2]))
        axis = np.eye(3)[rng.integers(3)] if rng.random() < 0.5 else rng.normal(size=3)
        parts = [
            f'<origin xyz="{_words(rng.normal(size=3) / 5)}" rpy="{_words(rng.normal(size=3))}"/>'
            if rng.random() < 0.8
            else "",
            f'<parent link="{names[int(rng.integers(k))]}"/><child link="{names[k]}"/>',
            f'<axis xyz="{_words(axis)}"/>' if kind != "fixed" else "",
            '<limit lower="-2.5" upper="2.5" effort="1" velocity="1"/>'
            if kind in ("revolute", "prismatic")
            else "",
        ]
        if kind == "revolute":
            turning.append(k)
        joints.append((k, kind, "".join(parts)))
    if mimic:
        last = turning[-1]
        joints = [
            (
                k,
                kind,
                parts + '<mimic joint="joint1" multiplier="-0.5" offset="0.1"/>' * (k == last),
            )
            for k, kind, parts in joints
        ]
    if shuffled:
        joints = [joints[at] for at in rng.permutation(len(joints))]
    mass = '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    lines = [f'<link name="{name}"><inertial>{mass}</inertial></link>' for name in names]
    lines += [f'<joint name="joint{k}" type="{kind}">{parts}</joint>' for k, kind, parts in joints]
    root = '<joint name="float" type="floating"><parent link="world"/><child link="link0"/></joint>'
    return "\n".join(['<robot name="made">', '<link name="world"/>', *lines, root, "</robot>"])


def mjcf(seed: int = 0, *, bodies: int = 10, free: bool = True) -> str:
    """Return the MJCF of a robot: bodies with no joint, one or several, of every kind and manner.

    Anchors beside the body, references other than 0, default classes, frames, and every way of
    writing a rotation.
    """
    rng = np.random.default_rng(seed)
    degrees = bool(rng.integers(2))
    children: dict[int, list[int]] = {}
    for k in range(1, bodies):
        children.setdefault(int(rng.integers(k)), []).append(k)

    def body(k: int) -> str:
        joints = _mjcf_joints(rng, k, degrees)
        inside = "".join(body(child) for child in children.get(k, []))
        if k == 0:
            joints = '<freejoint name="root"/>' if free else joints
        kind = ' childclass="limb"' if rng.random() < 0.3 else ""
        pose = f'pos="{_words(rng.normal(size=3) / 5)}" {_orientation(rng, degrees)}'
        made = f'<body name="body{k}" {pose}{kind}>{joints}{MASS}{inside}</body>'
        if k and rng.random() < 0.2:
            frame = f'pos="{_words(rng.normal(size=3) / 9)}" {_orientation(rng, degrees)}'
            made = f"<frame {frame}>{made}</frame>"
        return made

    unit, euler = "degree" if degrees else "radian", rng.choice(["xyz", "XYZ", "zyx"])
    return (
        f'<mujoco model="made"><compiler angle="{unit}" eulerseq="{euler}"/>'
        '<default><default class="limb"><joint axis="0 1 0"/>'
        '<default class="rail"><joint type="slide" axis="1 0 0"/></default></default></default>'
        f"<worldbody>{body(0)}</worldbody></mujoco>"
    )


def angles_for(count: int, *, frames: int = 40, seed: int = 0) -> F64:
    """Return smooth angles (T, H) within ±2.4."""
    rng = np.random.default_rng(seed)
    time = np.arange(frames)[:, np.newaxis] / 30
    differentiate, sizes, phases = (
        rng.uniform(1, 6, count),
        rng.uniform(0.1, 1.2, count),
        rng.uniform(0, 6, count),
    )
    return np.asarray(sizes * (np.sin(differentiate * time + phases) + rng.uniform(-1, 1, count)))


def _mjcf_joints(rng: np.random.Generator, k: int, degrees: bool) -> str:
    if k > 1 and rng.random() < 0.1:
        return f'<joint name="joint{k}_0" type="ball" pos="{_words(rng.normal(size=3) / 9)}"/>'
    count = 1 if k == 1 else int(rng.choice(4, p=[0.2, 0.5, 0.15, 0.15]))
    return "".join(_mjcf_joint(rng, f"joint{k}_{i}", degrees) for i in range(count))


def _mjcf_joint(rng: np.random.Generator, name: str, degrees: bool) -> str:
    kind = "slide" if rng.random() < 0.2 else "hinge"
    words = [f'name="{name}"']
    kind_words = 'class="rail"' if kind == "slide" and rng.random() < 0.5 else f'type="{kind}"'
    words.append(kind_words)
    if rng.random() < 0.7 and "rail" not in kind_words:
        words.append(f'axis="{_words(rng.normal(size=3))}"')
    if rng.random() < 0.4:
        words.append(f'pos="{_words(rng.normal(size=3) / 9)}"')
    if rng.random() < 0.3:
        words.append(f'ref="{rng.normal() * (30 if degrees and kind == "hinge" else 0.5):.4f}"')
    if rng.random() < 0.5:
        most = 150 if degrees and kind == "hinge" else 2.6
        words.append(f'range="{-most} {most}"')
    return f"<joint {' '.join(words)}/>"


def _orientation(rng: np.random.Generator, degrees: bool) -> str:
    size = 57.0 if degrees else 1.0
    ways = {
        "none": "",
        "quat": f'quat="{_words(rng.normal(size=4))}"',
        "euler": f'euler="{_words(size * rng.normal(size=3))}"',
        "axisangle": f'axisangle="{_words(rng.normal(size=3))} {size * rng.normal():.6f}"',
        "xyaxes": f'xyaxes="{_words(rng.normal(size=6))}"',
        "zaxis": f'zaxis="{_words(rng.normal(size=3))}"',
    }
    return ways[str(rng.choice(list(ways)))]


def _words(numbers: F64) -> str:
    return " ".join(f"{number:.6f}" for number in numbers)


def hinged_skeleton(seed: int = 0) -> Skeleton:
    """Return a tree of two to thirteen joints, most of them hinges or sliders."""
    rng = np.random.default_rng(seed)
    count, scale = int(rng.integers(2, 14)), float(10 ** rng.uniform(-1.5, 0.3))
    joints: list[int] = []
    slides: list[bool] = []
    for j in range(1, count):
        sliding = int(rng.integers(1, 4)) if rng.random() < 0.15 else 0
        turning = int(rng.choice([0, 1, 1, 1, 2]))
        joints += [j] * (sliding + turning)
        slides += [True] * sliding + [False] * turning
    own = [_apart(rng, joints.count(j)) for j in sorted(set(joints))]
    axes = np.concatenate(own) if own else np.array([[1.0, 0, 0]])
    hinges = Hinges(tuple(joints or [1]), axes, slides=np.array(slides or [False]))
    ends = np.sort(rng.integers(0, count, int(rng.integers(0, 4))))
    return Skeleton(
        tuple(f"j{j}" for j in range(count)),
        (-1, *(int(rng.integers(max(0, j - 3), j)) for j in range(1, count))),
        scale * rng.normal(size=(count, 3)) * (rng.random((count, 1)) > 0.2),
        scale * rng.normal(size=(len(ends), 3)),
        tuple(ends),
        rest=rotations.normalize(rng.normal(size=(count, 4))),
        hinges=hinges,
    )


def hinged_motion(skeleton: Skeleton, seed: int = 0) -> Clip:
    """Return a motion along a skeleton's hinges: slow, fast, noisy or at random, wheels and all."""
    rng = np.random.default_rng(seed)
    hinges = skeleton.hinges
    assert hinges is not None
    frames, rate, count = int(rng.integers(1, 90)), float(rng.choice([10, 30, 120])), len(hinges)
    time = np.arange(frames)[:, np.newaxis] / rate
    pace = 10 ** rng.uniform(-1, 1.2)
    angles = rng.normal(size=count) * np.sin(pace * time + rng.uniform(0, 6, count))
    angles += rng.normal(size=count) + 20 * time * (rng.random(count) < 0.1)
    angles += rng.choice([0.0, 1e-3, 0.1], p=[0.7, 0.2, 0.1]) * rng.normal(size=angles.shape)
    if rng.random() < 0.1:
        angles = rng.uniform(-3, 3, size=angles.shape)
    phase = rng.uniform(0, 6, (1, len(skeleton), 3))
    return Clip.from_angles(
        skeleton,
        np.where(hinges.slides, 0.1 * angles, angles),
        np.cumsum(0.01 * rng.normal(size=(frames, 3)), axis=0),
        rotations.from_rotvec(np.cumsum(0.02 * rng.normal(size=(frames, 3)), axis=0)),
        local=rotations.from_rotvec(0.5 * np.sin(3 * time[..., np.newaxis] + phase)),
        frame_rate=rate,
    )


def _apart(rng: np.random.Generator, count: int) -> F64:
    """Return unit vectors (count, 3) that are at least some degrees apart, whichever are taken."""
    turned = rotations.as_matrix(rotations.normalize(rng.normal(size=4)))
    tilted = turned[np.arange(count) % 3] + 0.3 * rng.uniform(-1, 1, (count, 3))
    return np.asarray(tilted / np.linalg.norm(tilted, axis=1, keepdims=True))


def limited_motion(seed: int = 0, *, leaving: float = 0.0) -> Clip:
    """Return a motion of hinges and sliders within their limits, and often exactly on them.

    Ranges are 1e-9 to 6 radians wide. Rows rest on a limit, swing into both, run along one, jump
    from one to the other, or move at random. A fifth of the limits are missing.

    Parameters
    ----------
    leaving : float
        About how many radians some joints are turned off their axes, and a tenth of it in meters,
        how far sliders are moved off theirs.
    """
    rng = np.random.default_rng(seed)
    skeleton = hinged_skeleton(seed)
    hinges = skeleton.hinges
    assert hinges is not None
    count, frames = len(hinges), int(rng.integers(1, 90))
    widths = np.where(
        rng.random(count) < 0.5,
        rng.uniform(0.5, 6, count),
        10 ** rng.uniform(-9, np.log10(6), count),
    )
    scale = np.where(hinges.slides, 0.1, 1.0)
    lowest = scale * (rng.uniform(-2, 2, count) - widths / 2)
    limits = np.stack([lowest, lowest + scale * widths], axis=1)
    rate = float(rng.choice([10, 30, 120]))
    shares = np.stack([_share_of_range(rng, frames, rate) for _ in range(count)], axis=1)
    angles = np.clip(limits[:, 0] + shares * (limits[:, 1] - limits[:, 0]), *limits.T)
    limits = np.where(rng.random((count, 2)) < 0.2, [-np.inf, np.inf], limits)
    clip = Clip.from_angles(
        replace(skeleton, hinges=replace(hinges, limits=limits)),
        angles,
        np.cumsum(0.01 * rng.normal(size=(frames, 3)), axis=0),
        rotations.from_rotvec(np.cumsum(0.02 * rng.normal(size=(frames, 3)), axis=0)),
        frame_rate=rate,
    )
    return _off_axes(clip, leaving, rng) if leaving else clip


def passed_limits(original: Clip, decoded: Clip) -> F64:
    """Return by how much each hinge (H,) passes limits that the original kept: radians, meters.

    At most 0 where it stays within them, -inf where nothing is promised: where the original passes
    them itself, and where limits a full turn apart belong to a joint that leaves its axes. Full
    turns do not count for such limits, which are compared frame by frame.
    """
    hinges = original.skeleton.hinges
    assert hinges is not None
    source, seen, turn = original.hinge_angles(), decoded.hinge_angles(), 2 * np.pi
    lowest, highest = hinges.limits.T
    wide = ~hinges.slides & ~(highest - lowest < turn)
    angles, promised = seen.angles, ~wide
    if original.frame_count == decoded.frame_count:
        turns = turn * np.round((source.angles - angles) / turn)
        angles = angles + np.where(wide, turns, 0.0)
        promised = promised | (source.off_axis.max(axis=0) <= ROUNDING)
    past = np.maximum(lowest - angles, angles - highest).max(axis=0)
    kept = np.maximum(lowest - source.angles, source.angles - highest).max(axis=0) <= ROUNDING
    return np.where(kept & promised, past, -np.inf)


def _share_of_range(rng: np.random.Generator, frames: int, rate: float) -> F64:
    """Return where in its range a hinge is (frames,), 0 at its lowest, 1 at its highest."""
    phase = rng.uniform(1, 15) * np.arange(frames) / rate + rng.uniform(0, 6)
    kinds = (
        np.full(frames, rng.choice([0.0, 1.0])),
        np.full(frames, rng.random()),
        0.5 + rng.uniform(0.5, 1.5) * np.sin(phase),
        np.where(np.sin(phase) > 0, 1.0, np.cos(phase)),
        rng.random(frames),
        rng.integers(0, 2, frames).astype(np.float64),
    )
    return np.clip(kinds[int(rng.integers(len(kinds)))], 0, 1)


def _off_axes(clip: Clip, leaving: float, rng: np.random.Generator) -> Clip:
    """Return the clip with half of its joints off their axes, constantly or frame by frame."""
    joints = len(clip.skeleton)
    frames = clip.frame_count if rng.random() < 0.5 else 1
    chosen = rng.random((1, joints, 1)) < 0.5
    turns = rotations.from_rotvec(leaving * chosen * rng.normal(size=(frames, joints, 3)))
    ways = 0.1 * leaving * rng.normal(size=(frames, *clip.translations.shape[1:]))
    return Clip(clip.header, rotations.multiply(clip.rotations, turns), clip.translations + ways)
