"""A skeleton of the shape of SOMA's, 77 joints below a root, moved by a recording of CMU's."""

from __future__ import annotations

import numpy as np

from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.model.clip import Clip
from mocpack.model.rotations import from_rotvec
from mocpack.model.skeleton import DEFAULT_JOINT, DEFAULT_ROOT, Skeleton

# (chain from its parent on, offset of each of its joints in meters)
BODY = (
    ("Root Hips", (0.0, 0.0, 0.0)),
    ("Hips Spine1 Spine2 Chest Neck1 Neck2 Head HeadEnd", (0.0, 0.09, 0.0)),
    ("Head Jaw", (0.0, 0.01, 0.04)),
    ("Head LeftEye", (0.03, 0.05, 0.08)),
    ("Head RightEye", (-0.03, 0.05, 0.08)),
    *(
        (f"Chest {side}Shoulder {side}Arm {side}ForeArm {side}Hand", (sign * 0.2, 0.0, 0.0))
        for side, sign in (("Left", 1), ("Right", -1))
    ),
    *(
        (
            f"Hips {side}Leg {side}Shin {side}Foot {side}ToeBase {side}ToeEnd",
            (sign * 0.05, -0.25, 0.0),
        )
        for side, sign in (("Left", 1), ("Right", -1))
    ),
)
LONG_FINGERS = ("Index", "Middle", "Ring", "Pinky")
FINGERS = ("Thumb1 2 3 End", *(f"{name}1 2 3 4 End" for name in LONG_FINGERS))
FROM_CMU = {  # names of the recording that differ
    "Spine1": "LowerBack", "Spine2": "Spine", "Chest": "Spine1", "Neck1": "Neck", "Neck2": "Neck1",
    "LeftLeg": "LeftUpLeg", "LeftShin": "LeftLeg",
    "RightLeg": "RightUpLeg", "RightShin": "RightLeg",
}  # fmt: skip


def soma_clip(
    name: str = "49_02", *, frames: int = 600, seed: int = 0, positions: bool = False
) -> Clip:
    """Return a clip of SOMA's joints; with `positions`, every joint has position channels."""
    names, parents, offsets = ["Root"], [-1], [np.zeros(3)]
    chains = list(BODY)
    for side, sign in (("Left", 1), ("Right", -1)):
        for number, finger in enumerate(FINGERS):
            first, *others = finger.split()
            stem = f"{side}Hand{first[:-1]}"
            chain = " ".join([f"{side}Hand {side}Hand{first}", *(stem + part for part in others)])
            chains.append((chain, (sign * 0.03, 0.0, 0.02 * (number - 2))))
    for chain, offset in chains:
        parent, *joints = chain.split()
        for joint in joints:
            parents.append(names.index(parent))
            names.append(joint)
            offsets.append(np.asarray(offset, float))
            parent = joint
    source = load_clip(f"cmu/{name}", COMMITTED).frames(1, frames + 1)
    rng = np.random.default_rng(seed)
    time = np.arange(frames)[:, np.newaxis] * source.frame_time
    turns = np.empty((frames, len(names), 4))
    for j, joint in enumerate(names):
        wanted = FROM_CMU.get(joint, joint)
        if wanted in source.skeleton.names and joint != "Root":
            turns[:, j] = source.rotations[:, source.skeleton.index(wanted)]
        else:  # fingers bend slowly, and everything else stays
            bend = 0.2 * np.sin(time * rng.uniform(0.5, 3) + rng.uniform(0, 6))
            axis = [0.0, 0.0, 1.0] if "Hand" in joint and not joint.endswith("End") else np.zeros(3)
            turns[:, j] = from_rotvec(bend * axis)
    moved = tuple(range(len(names))) if positions else (0, 1)
    channels = tuple(DEFAULT_ROOT if j in moved else DEFAULT_JOINT for j in range(len(names)))
    places = np.tile(np.array(offsets)[list(moved)], (frames, 1, 1))
    places[:, 1] = source.translations[:, 0]
    skeleton = Skeleton(tuple(names), tuple(parents), np.array(offsets), channels=channels)
    return Clip.build(
        skeleton, turns, places, frame_time=source.frame_time, translated_joints=moved, unit=0.01
    )
