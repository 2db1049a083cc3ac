"""Synthetic motions from a seed: a body that walks, turns, jumps or stands, and hard cases."""

from __future__ import annotations

import numpy as np

from mocpack.common.arguments import check_integer, check_number
from mocpack.common.arrays import F64
from mocpack.model import rotations
from mocpack.model.clip import Clip, VertexClip
from mocpack.model.skeleton import DEFAULT_JOINT, DEFAULT_ROOT, Skeleton

# name, parent, offset in centimeters (x left, y up, z forward)
BODY = (
    ("Hips", None, (0, 0, 0)),
    ("Spine", "Hips", (0, 10, -1)),
    ("Chest", "Spine", (0, 18, -1)),
    ("Neck", "Chest", (0, 22, 2)),
    ("Head", "Neck", (0, 9, 1)),
    ("LeftShoulder", "Chest", (3, 18, 1)),
    ("LeftArm", "LeftShoulder", (14, 0, -1)),
    ("LeftForeArm", "LeftArm", (28, 0, 0)),
    ("LeftHand", "LeftForeArm", (25, 0, 0)),
    ("RightShoulder", "Chest", (-3, 18, 1)),
    ("RightArm", "RightShoulder", (-14, 0, -1)),
    ("RightForeArm", "RightArm", (-28, 0, 0)),
    ("RightHand", "RightForeArm", (-25, 0, 0)),
    ("LeftUpLeg", "Hips", (9, -5, 0)),
    ("LeftLeg", "LeftUpLeg", (0, -42, 0)),
    ("LeftFoot", "LeftLeg", (0, -40, -1)),
    ("LeftToe", "LeftFoot", (0, -7, 13)),
    ("RightUpLeg", "Hips", (-9, -5, 0)),
    ("RightLeg", "RightUpLeg", (0, -42, 0)),
    ("RightFoot", "RightLeg", (0, -40, -1)),
    ("RightToe", "RightFoot", (0, -7, 13)),
)
ENDS = {
    "Head": (0, 17, 0),
    "LeftHand": (17, 0, 0),
    "RightHand": (-17, 0, 0),
    "LeftToe": (0, 0, 7),
    "RightToe": (0, 0, 7),
}
HIP_HEIGHT = 0.94  # meters
MAX_SECONDS = 1e6


def humanoid() -> Skeleton:
    """Return a body of 21 joints, 1.7 m tall, arms spread."""
    names = [name for name, _, _ in BODY]
    return Skeleton(
        tuple(names),
        tuple(names.index(parent) if parent else -1 for _, parent, _ in BODY),
        np.array([offset for _, _, offset in BODY]) / 100,
        np.array([ENDS[name] for name in names if name in ENDS]) / 100,
        tuple(j for j, name in enumerate(names) if name in ENDS),
    )


def walk(seconds: float = 2.0, *, frame_rate: float = 60.0, seed: int = 0) -> Clip:
    """Return a walk at about 1.3 m/s: legs and arms in opposition, a bobbing pelvis."""
    time = _times(seconds, frame_rate)
    phase = 2 * np.pi * 0.95 * time
    root = np.stack(
        [0.02 * np.sin(phase), HIP_HEIGHT + 0.02 * np.cos(2 * phase), 1.3 * time], axis=1
    )
    return _clip(root, _gait(phase, 1.0), frame_rate, seed)


def turn(
    seconds: float = 3.0, *, turns: float = 3.0, frame_rate: float = 60.0, seed: int = 1
) -> Clip:
    """Return a body that spins about its axis, several full turns, on the spot."""
    time = _times(seconds, frame_rate)
    check_number("turns", turns)
    angles = _gait(2 * np.pi * 1.2 * time, 0.3)
    angles["Hips"] = np.stack([0 * time, 2 * np.pi * turns * time / seconds, 0 * time], axis=1)
    root = np.stack([0 * time, HIP_HEIGHT + 0 * time, 0 * time], axis=1)
    return _clip(root, angles, frame_rate, seed)


def jump(seconds: float = 2.0, *, frame_rate: float = 60.0, seed: int = 2) -> Clip:
    """Return jumps of 40 cm, one per second: crouch, flight, landing."""
    time = _times(seconds, frame_rate)
    cycle = time % 1.0
    flight = np.clip((cycle - 0.3) / 0.5, 0, 1)
    crouch = np.where((cycle < 0.3) | (cycle > 0.8), np.sin(np.pi * ((cycle + 0.2) % 1.0) / 0.5), 0)
    height = HIP_HEIGHT + 1.6 * flight * (1 - flight) - 0.18 * crouch
    angles = {name: np.zeros((len(time), 3)) for name, _, _ in BODY}
    for side in ("Left", "Right"):
        angles[f"{side}UpLeg"][:, 2] = -0.9 * crouch
        angles[f"{side}Leg"][:, 2] = 1.7 * crouch
        angles[f"{side}Foot"][:, 2] = -0.8 * crouch + 0.6 * (flight * (1 - flight))
        angles[f"{side}Arm"][:, 0] = (-1 if side == "Left" else 1) * (1.2 - 1.8 * flight)
    root = np.stack([0 * time, height, 0 * time], axis=1)
    return _clip(root, angles, frame_rate, seed)


def still(frames: int = 30, *, frame_rate: float = 60.0) -> Clip:
    """Return a body that does not move at all."""
    check_integer("frames", frames, 1)
    root = np.tile([0.3, HIP_HEIGHT, -0.2], (frames, 1))
    local = np.tile(rotations.from_euler(np.array([0.1, -0.2, 0.3]), "ZYX"), (frames, 21, 1))
    return Clip.build(humanoid(), local, root, frame_rate=frame_rate)


def chain(joints: int, frames: int, *, seed: int = 0, scale: float = 0.1) -> Clip:
    """Return a chain of joints that bends, for skeletons of any size."""
    rng = np.random.default_rng(seed)
    skeleton = Skeleton(
        tuple(f"j{i}" for i in range(joints)),
        tuple(range(-1, joints - 1)),
        np.concatenate([np.zeros((1, 3)), rng.normal(size=(joints - 1, 3)) * scale]),
        np.array([[0.0, scale, 0.0]]),
        (joints - 1,),
    )
    phase = np.linspace(0, 3, frames)[:, np.newaxis, np.newaxis]
    bend = 0.3 * np.sin(phase + rng.uniform(0, 6, (1, joints, 3)))
    root = np.concatenate([phase[:, 0], 1 + 0 * phase[:, 0], -phase[:, 0]], axis=1)
    return Clip.build(skeleton, rotations.from_rotvec(bend), root, frame_rate=30)


def hard_clips() -> dict[str, Clip]:
    """Return small clips with difficult properties, by name."""
    base = walk(0.5)
    return {
        "walk": walk(0.75),
        "jump": jump(1.0, frame_rate=30),
        "one frame": base.frames(3, 4),
        "two frames": base.frames(3, 5),
        "three frames": base.frames(3, 6),
        "one joint": chain(1, 20),
        "one joint, one frame": chain(1, 1),
        "still": still(20),
        "full turns": turn(1.5, turns=4, frame_rate=30),
        "flips of 180 degrees": _flips(),
        "300 joints": chain(300, 6, scale=0.02),
        "far from the origin": _moved(base, np.array([5000.0, -300.0, 8000.0])),
        "zero-length bones": _without_length(),
        "every joint translates": _translating(),
        "joints with fewer axes": _few_axes(),
        "noise": _noise(),
    }


def vertex_wave(frames: int = 12, side: int = 6) -> VertexClip:
    """Return a square cloth with a traveling wave, as a vertex animation."""
    x, z = np.meshgrid(np.linspace(0, 1, side), np.linspace(0, 1, side))
    phase = np.linspace(0, 2 * np.pi, frames)[:, np.newaxis, np.newaxis]
    y = 0.1 * np.sin(phase + 5 * x + 3 * z)
    grid = np.stack([np.broadcast_to(x, y.shape), y, np.broadcast_to(z, y.shape)], axis=-1)
    corner = np.arange(side * side).reshape(side, side)
    a, b, c, d = corner[:-1, :-1], corner[:-1, 1:], corner[1:, :-1], corner[1:, 1:]
    faces = np.concatenate([np.stack([a, b, c], -1), np.stack([b, d, c], -1)]).reshape(-1, 3)
    return VertexClip.build(grid.reshape(frames, -1, 3), faces)


def _times(seconds: float, frame_rate: float) -> F64:
    check_number("seconds", seconds, 0, MAX_SECONDS)
    check_number("frame_rate", frame_rate, 1e-6, 1e6)
    return np.arange(max(1, round(seconds * frame_rate))) / frame_rate


def _gait(phase: F64, amount: float) -> dict[str, F64]:
    """Return Euler angles (T, 3), z y x, of each joint of the body in a walking cycle."""
    angles = {name: np.zeros((len(phase), 3)) for name, _, _ in BODY}
    for side, shift, sign in (("Left", 0.0, 1.0), ("Right", np.pi, -1.0)):
        swing = np.sin(phase + shift)
        lift = np.maximum(0.0, np.cos(phase + shift))
        angles[f"{side}UpLeg"][:, 2] = -amount * (0.45 * swing + 0.1)
        angles[f"{side}Leg"][:, 2] = amount * (0.15 + 0.9 * lift)
        angles[f"{side}Foot"][:, 2] = amount * (0.1 * swing - 0.2 * lift)
        angles[f"{side}Toe"][:, 2] = -amount * 0.3 * np.maximum(0.0, -swing)
        angles[f"{side}Arm"] = np.stack(
            [-1.25 * sign + 0 * phase, -0.4 * amount * swing * sign, 0.1 * swing], axis=1
        )
        angles[f"{side}ForeArm"][:, 1] = -sign * amount * (0.4 + 0.2 * swing)
    angles["Spine"][:, 1] = 0.1 * amount * np.sin(phase)
    angles["Chest"][:, 1] = -0.15 * amount * np.sin(phase)
    angles["Head"][:, 2] = 0.05 * np.sin(2 * phase)
    return angles


def _clip(root: F64, angles: dict[str, F64], frame_rate: float, seed: int) -> Clip:
    """Add small irregularities to the angles and return the clip."""
    rng = np.random.default_rng(check_integer("seed", seed, 0))
    stacked = np.stack([angles[name] for name, _, _ in BODY], axis=1)
    time = np.arange(len(root))[:, np.newaxis, np.newaxis] / frame_rate
    for _ in range(3):
        rate = rng.uniform(0.2, 4.0, (1, *stacked.shape[1:]))
        stacked = stacked + 0.02 * np.sin(2 * np.pi * rate * time + rng.uniform(0, 6, rate.shape))
    local = rotations.from_euler(stacked, "ZYX")
    return Clip.build(humanoid(), local, root, frame_rate=frame_rate)


def _flips() -> Clip:
    """Half turns from one frame to the next, about changing axes."""
    clip = chain(4, 12)
    local = clip.rotations.copy()
    for t in range(1, 12, 2):
        axis = np.eye(4)[t % 3]
        local[t] = rotations.multiply(local[t], np.tile(axis, (4, 1)))
    return Clip.build(clip.skeleton, local, clip.translations, frame_rate=30)


def _moved(clip: Clip, by: F64) -> Clip:
    return Clip.build(clip.skeleton, clip.rotations, clip.translations + by, frame_rate=60)


def _without_length() -> Clip:
    clip = walk(0.3)
    s = clip.skeleton
    offsets = s.offsets * (np.arange(len(s)) % 3 > 0)[:, np.newaxis]
    skeleton = Skeleton(s.names, s.parents, offsets, 0 * s.end_sites, s.end_site_joints)
    return Clip.build(skeleton, clip.rotations, clip.translations, frame_rate=60)


def _translating() -> Clip:
    """Six channels on every joint, as in the files of Bandai Namco; one joint moves."""
    clip = walk(0.4)
    s = clip.skeleton
    skeleton = Skeleton(
        s.names, s.parents, s.offsets, s.end_sites, s.end_site_joints, (DEFAULT_ROOT,) * len(s)
    )
    places = np.tile(s.offsets, (clip.frame_count, 1, 1))
    places[:, 0] = clip.translations[:, 0]
    places[:, 7, 0] += 0.05 * np.sin(np.linspace(0, 5, clip.frame_count))
    return Clip.build(
        skeleton, clip.rotations, places, frame_rate=60, translated_joints=range(len(s))
    )


def _few_axes() -> Clip:
    """Joints with zero to three rotation channels, some in a rotated axis frame."""
    channels = (DEFAULT_ROOT, ("rx",), ("rx", "rz"), (), DEFAULT_JOINT)
    tilts = np.zeros((5, 3))
    tilts[1:3] = (0.3, 0.0, 0.2), (0.0, 1.0, 0.1)
    axes = rotations.from_euler(tilts, "ZYX")
    skeleton = Skeleton(
        ("root", "knee", "ankle", "helper", "head"),
        (-1, 0, 1, 2, 0),
        np.array([[0, 0, 0], [0, -0.4, 0], [0, -0.4, 0], [0, 0, 0.1], [0, 0.6, 0]]),
        np.array([[0, 0, 0.1], [0, 0.2, 0]]),
        (3, 4),
        channels,
        axes,
    )
    t = np.linspace(0, 4, 25)
    local = np.tile(rotations.IDENTITY, (25, 5, 1))
    local[:, 0] = rotations.from_rotvec(np.stack([0.1 * np.sin(t), t, 0 * t], -1))
    for j, order, angles in (
        (1, "X", np.stack([np.sin(t)], -1)),
        (2, "ZX", np.stack([0.4 * np.cos(t), 0.2 * t], -1)),
    ):
        turned = rotations.multiply(axes[j], rotations.from_euler(angles, order))
        local[:, j] = rotations.multiply(turned, rotations.conjugate(axes[j]))
    local[:, 4] = rotations.from_rotvec(np.stack([0 * t, 0.5 * np.sin(2 * t), 0.1 * t], -1))
    root = np.stack([t, 1 + 0 * t, 0 * t], -1)
    return Clip.build(skeleton, local, root, frame_rate=30)


def _noise() -> Clip:
    """No structure at all: random rotations, a root that jumps."""
    rng = np.random.default_rng(9)
    skeleton = humanoid()
    local = rotations.normalize(rng.normal(size=(8, len(skeleton), 4)))
    return Clip.build(skeleton, local, rng.normal(size=(8, 3)), frame_rate=25)
