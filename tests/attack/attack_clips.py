"""Random clips and targets for the attack, generated from a seed."""

from dataclasses import dataclass

import attack_kinematics as kinematics
import numpy as np

from mocpack.model.clip import Clip
from mocpack.model.hinges import Hinges
from mocpack.model.skeleton import Skeleton

MAX_POSES = {"fast": 5_000, "default": 800, "best": 150}  # joints times frames, by effort
LARGE_SHARE, LARGE_FACTOR = 0.08, 3.9  # some clips have more poses; all have less than 20,000
LAYERED_SHARE = 0.3
FRAME_RATES = (1.0, 10.0, 24.0, 25.0, 29.97, 30.0, 50.0, 60.0, 100.0, 120.0, 240.0)
FAST_RATES = (1000.0, 2000.0, 5000.0, 10_000.0)
MOTIONS = ("still", "slow", "sway", "fast", "noise", "jumps", "spin", "glitches")


@dataclass(frozen=True)
class Case:
    """A clip and the arguments of `mocpack.encode`.

    Attributes
    ----------
    seed : int
        Makes the same case again.
    clip : Clip
    codec : str or None
        None leaves the choice to mocpack.
    effort : str
    target : dict
        max_error and mean_error in meters, max_angle in radians, size in bytes, ratio, and
        joint_errors in meters by name.
    text : str
        One line about the case.
    """

    seed: int
    clip: Clip
    codec: str | None
    effort: str
    target: dict[str, float | dict[str, float]]
    text: str


def make_case(seed):
    """Return the case of a seed."""
    rng = np.random.default_rng(seed)
    effort = str(rng.choice(["fast", "default", "best"], p=[0.72, 0.23, 0.05]))
    most = MAX_POSES[effort] * (LARGE_FACTOR if rng.random() < LARGE_SHARE else 1)
    clip, shape = make_clip(rng, int(most))
    target = make_target(rng, clip)
    layers = int(rng.choice([2, 3, 4, 8, 16])) if rng.random() < LAYERED_SHARE else 1
    codec = f"keysine:layers={layers}" if layers > 1 else None
    wanted = ", ".join(describe(name, value) for name, value in target.items())
    text = f"seed {seed}: {shape}; {wanted or 'no target'}; {effort}, {layers} layers"
    return Case(seed, clip, codec, effort, target, text)


def describe(name, value):
    """Return a bound in words."""
    return f"{name} of {len(value)} joints" if isinstance(value, dict) else f"{name} {value:.3g}"


def make_target(rng, clip):
    """Return one target, or a bound on positions together with one on angles."""
    kind = rng.choice(list(TARGETS), p=list(TARGETS.values()))
    length = 10 ** rng.uniform(-6, 0)
    angle = 10 ** rng.uniform(-5, 0)
    if kind == "max":
        return {"max_error": length}
    if kind == "max and angle":
        return {"max_error": length, "max_angle": angle}
    if kind == "mean":
        return {"mean_error": length}
    if kind == "angle":
        return {"max_angle": angle}
    if kind == "size":
        values = clip.rotations.size + clip.translations.size
        return {"size": int(200 + 10 ** rng.uniform(-2, 0.3) * values)}
    if kind == "ratio":
        return {"ratio": 10 ** rng.uniform(0, 1.5)}
    if kind == "joints":
        own = rng.random(len(clip.skeleton)) < 0.4
        own[0] = True
        bounds = {
            clip.skeleton.names[j]: length * 10 ** rng.uniform(-1, 1) for j in np.flatnonzero(own)
        }
        return {"max_error": length, "joint_errors": bounds}
    return {}


TARGETS = {
    "max": 0.3,
    "max and angle": 0.2,
    "mean": 0.16,
    "angle": 0.04,
    "size": 0.1,
    "ratio": 0.08,
    "joints": 0.08,
    "none": 0.04,
}


def make_clip(rng, max_poses):
    """Return a random clip and a short description."""
    joints = int(10 ** rng.uniform(0, 1.6))
    frames = int(10 ** rng.uniform(0, 3.7))
    frames = max(1, min(frames, 5000, max_poses // joints))
    rates = FAST_RATES if rng.random() < 0.15 else FRAME_RATES
    rate = float(rng.choice(rates)) if rng.random() < 0.8 else 10 ** rng.uniform(-1, 4)
    if rng.random() < 0.06:
        return make_markers(rng, joints, frames, rate)
    parents, tree = make_tree(rng, joints)
    bone = 10 ** rng.uniform(-6, 2.5) if rng.random() < 0.4 else 10 ** rng.uniform(-1.5, 0.3)
    offsets = bone * rng.normal(size=(joints, 3)) * (rng.random((joints, 1)) > 0.1)
    if rng.random() < 0.15:
        offsets *= 10 ** rng.uniform(-3, 1, (joints, 1))  # short and long bones in one skeleton
    carriers = tuple(np.flatnonzero(rng.random(joints) < 0.3).tolist())
    ends = bone * rng.normal(size=(len(carriers), 3))
    motions = rng.choice(MOTIONS, size=rng.integers(1, 4))
    motions = ["still"] if rng.random() < 0.08 else motions
    hinges, rest = (make_hinges(rng, joints, bone), random_turns(rng, joints))
    hinges = hinges if rng.random() < 0.35 else None
    if hinges is None or rng.random() < 0.5:
        rest = np.tile([0.0, 0.0, 0.0, 1.0], (joints, 1))
    names = tuple(f"joint{j}" for j in range(joints))
    scaled = rng.random() < 0.2
    scales = make_scales(rng, joints) if scaled else np.ones((joints, 3))
    skeleton = Skeleton(
        names, parents, offsets, ends, carriers, rest=rest, hinges=hinges, scales=scales
    )
    time = np.arange(frames) / rate
    clip = move(rng, skeleton, time, rate, motions, bone)
    if scaled and rng.random() < 0.4:
        clip = scale_frames(rng, clip, time, rate, motions)
    kind = "scaled " * scaled + "hinged " * (hinges is not None)
    shape = f"{kind}{tree} of {joints} x {frames} frames at {rate:.4g}/s, bones {bone:.2g} m"
    return clip, f"{shape}, {'+'.join(sorted(set(motions)))}"


def make_markers(rng, count, frames, rate):
    """Return a clip of points, some of them missing for a while, and a short description."""
    time, motion = np.arange(frames) / rate, str(rng.choice(MOTIONS))
    size = 10 ** rng.uniform(-2, 1)
    points = np.stack([size * make_curves(rng, motion, time, rate) for _ in range(count)], axis=1)
    for point in np.flatnonzero(rng.random(count) < 0.3):
        start = int(rng.integers(0, frames))
        points[start : start + int(rng.integers(1, frames + 1)), point] = np.nan
    clip = Clip.from_points(points, [f"point{p}" for p in range(count)], frame_rate=rate)
    return clip, f"{count} markers x {frames} frames at {rate:.4g}/s, {size:.2g} m, {motion}"


def make_scales(rng, joints):
    """Return constant scales (J, 3) that are not 1 at up to three joints."""
    scales = np.ones((joints, 3))
    for joint in rng.integers(0, joints, size=3):
        width = 1 if rng.random() < 0.5 else 3
        sign = -1 if rng.random() < 0.1 else 1
        scales[joint] = sign * 10 ** rng.uniform(-0.6, 0.6, width)
    return scales


def scale_frames(rng, clip, time, rate, motions):
    """Return a clip in which the scales of up to two joints change from frame to frame."""
    joints = np.unique(rng.integers(0, len(clip.skeleton), size=2))
    curves = [make_curves(rng, str(rng.choice(motions)), time, rate) for _ in joints]
    scales = 2 ** np.tanh(np.stack(curves, axis=1))
    return clip.replace(scales=scales, scaled_joints=joints.tolist())


def make_tree(rng, joints):
    """Return the parent of each joint: of a chain, a body, any tree, or several trees."""
    tree = str(rng.choice(["chain", "body", "tree", "forest"], p=[0.33, 0.33, 0.22, 0.12]))
    branching = {"chain": 0.0, "body": 0.3}.get(tree, 1.0)
    parents = [-1]
    for j in range(1, joints):
        parents.append(int(rng.integers(0, j)) if rng.random() < branching else j - 1)
        if tree == "forest" and rng.random() < 0.3:
            parents[-1] = -1
    return tuple(parents), tree


def make_hinges(rng, joints, bone):
    """Return hinges of most joints: one axis or two, sliders, narrow, wide and no limits."""
    rows = []  # joint, axis, slides, low, high
    for joint in range(1 if joints > 1 else 0, joints):
        if rng.random() < 0.25:
            continue
        frame = np.linalg.qr(rng.normal(size=(3, 3)))[0].T
        if rng.random() < 0.1:
            low, high = np.sort(bone * rng.normal(size=2))
            rows.append((joint, frame[2], True, low, high))
        for axis in frame[: rng.choice([1, 2], p=[0.75, 0.25])]:
            width = 10 ** rng.uniform(-9, 0.4) if rng.random() < 0.2 else rng.uniform(0.1, 4)
            low = rng.uniform(-2, 1.5)
            limited = rng.random() < 0.85
            limits = (low, low + width) if limited else (-np.inf, np.inf)
            rows.append((joint, axis, False, *limits))
    if not rows:
        return None
    found, axes, slides, low, high = zip(*rows, strict=True)
    return Hinges(found, np.array(axes), np.array([low, high]).T, np.array(slides))


def move(rng, skeleton, time, rate, motions, bone):
    """Return a clip of a skeleton in which each joint moves in a random way."""
    joints, hinges = len(skeleton), skeleton.hinges
    curves = [make_curves(rng, str(rng.choice(motions)), time, rate) for _ in range(joints)]
    local = turns_from(np.stack(curves, axis=1))
    translated = {j for j, parent in enumerate(skeleton.parents) if parent < 0}
    if rng.random() < 0.2:
        translated |= set(np.flatnonzero(rng.random(joints) < 0.3).tolist())
    translated |= set() if hinges is None else set(hinges.sliding_joints)
    start = 10 ** rng.uniform(-2, 4) * rng.normal(size=3) if rng.random() < 0.4 else [1.0, 2.0, 3.0]
    places = {}
    for j in translated:
        base = np.asarray(start) if skeleton.parents[j] < 0 else skeleton.offsets[j]
        size = 1.0 if skeleton.parents[j] < 0 else bone
        places[j] = base + size * make_curves(rng, str(rng.choice(motions)), time, rate)
    if hinges is not None:
        move_hinges(rng, skeleton, time, rate, motions, local, places)
    translated = sorted(translated)
    moved = np.stack([places[j] for j in translated], axis=1)
    return Clip.build(skeleton, local, moved, frame_rate=rate, translated_joints=translated)


def move_hinges(rng, skeleton, time, rate, motions, local, places):
    """Rotate hinged joints about their hinges in place, within limits and often exactly at them."""
    hinges = skeleton.hinges
    for joint in set(hinges.joints):
        turn, way = skeleton.rest[joint], np.zeros((len(time), 3))
        turned = False
        for h in np.flatnonzero(np.array(hinges.joints) == joint):
            low, high = hinges.limits[h]
            size = min((high - low) / 2, 1.5)
            middle = (low + high) / 2 if np.isfinite(low) else 0.0
            curve = make_curves(rng, str(rng.choice(motions)), time, rate)[:, 0]
            value = middle + 10 ** rng.uniform(-1, 0.5) * size * (curve - curve.mean() / 2)
            value = np.clip(value, low, high)
            if hinges.slides[h]:
                way += value[:, np.newaxis] * hinges.axes[h]
            else:
                half = 0.5 * value[:, np.newaxis]
                about = np.concatenate([np.sin(half) * hinges.axes[h], np.cos(half)], axis=1)
                turn, turned = multiply(turn, about), True
        if turned:
            local[:, joint] = turn
        if joint in hinges.sliding_joints:
            places[joint] = (
                skeleton.offsets[joint] + way @ kinematics.matrices_from(skeleton.rest[joint]).T
            )


def make_curves(rng, motion, time, rate):
    """Return three numbers over time, (T, 3), about 1 in size."""
    rest, shape = rng.normal(size=3), (len(time), 3)
    if motion == "still":
        return np.tile(rest, (len(time), 1))
    if motion == "slow":
        size = 10 ** rng.uniform(-9, -2)
        return rest + size * np.sin(np.outer(time, rng.uniform(0, 2, 3)))
    if motion == "sway":
        return rest + 0.5 * np.sin(np.outer(time, rng.uniform(0, 8, 3)) + rest)
    if motion == "fast":
        return rest + 2 * np.sin(np.outer(time, rate * rng.uniform(0.05, 2, 3)) + rest)
    if motion == "noise":
        return rest + 10 ** rng.uniform(-5, 0) * rng.normal(size=shape)
    if motion == "jumps":
        return rest + np.cumsum(rng.normal(size=shape) * (rng.random(shape) < 0.05), axis=0)
    if motion == "spin":
        return rest + np.outer(time, rng.uniform(-30, 30, 3))
    glitch = rng.normal(size=shape) * (rng.random((len(time), 1)) < 0.03)
    return rest + 0.3 * np.sin(np.outer(time, rng.uniform(0, 5, 3))) + 3 * glitch


def random_turns(rng, count):
    """Return unit quaternions (count, 4)."""
    turns = rng.normal(size=(count, 4))
    return turns / np.linalg.norm(turns, axis=1, keepdims=True)


def turns_from(vectors):
    """Return unit quaternions (..., 4) of rotation vectors (..., 3)."""
    angles = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scale = 0.5 * np.sinc(angles / (2 * np.pi))
    return np.concatenate([scale * vectors, np.cos(0.5 * angles)], axis=-1)


def multiply(a, b):
    """Return products (..., 4) of quaternions."""
    (u, s), (v, t) = ((q[..., :3], q[..., 3:]) for q in (a, b))
    scalar = s * t - np.sum(u * v, axis=-1, keepdims=True)
    return np.concatenate([s * v + t * u + np.cross(u, v), scalar], axis=-1)
