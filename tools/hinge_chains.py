"""Captured motion on serial hinges, as a robot has it: what keysine's training knows of robots.

Each joint of a clip that turns about more than one axis becomes three in a row, a hinge each, a few
centimeters apart, as hips and shoulders of humanoid robots are built. Small limbs (fingers, toes)
are left out, as robots do. The angles are the captured ones; where links end up is not.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

import mocpack
from mocpack.arrays import F64, Mask
from mocpack.hinges import Hinges
from mocpack.skeleton import Skeleton

APART = 0.04  # meters between the hinges of one captured joint
SMALLEST = 0.05  # meters: limbs whose joints all stand nearer together are left out
STILL = 1e-3  # radians: what turns less is fixed
ORDERS = ("YXZ", "ZXY", "XYZ")  # by depth, so that not all chains are alike
AXES = dict(zip("XYZ", np.eye(3), strict=True))


def on_hinges(clip: mocpack.Clip) -> mocpack.Clip:
    """Return a clip of a free root and one-axis joints that turns as `clip` does."""
    found = clip.with_hinges(detect=True)
    detected = found.skeleton.hinges
    single = dict(detected.rows_by_joint()) if detected else {}
    names, parents, offsets = ["root"], [-1], [np.zeros(3)]
    joints: list[int] = []
    axes: list[F64] = []
    angles: list[F64] = []
    last = {0: 0}  # of each joint, the link that its children hang on
    kept = _find_used(clip.skeleton)

    def add(name: str, parent: int, offset: F64) -> int:
        names.append(name)
        parents.append(parent)
        offsets.append(offset)
        return len(names) - 1

    def add_hinge(name: str, parent: int, offset: F64, axis: F64, angle: F64) -> int:
        joints.append(add(name, parent, offset))
        axes.append(axis)
        angles.append(angle)
        return joints[-1]

    for j in range(1, len(clip.skeleton)):
        if not kept[j]:
            continue
        name, parent = clip.skeleton.names[j], last[clip.skeleton.parents[j]]
        offset = clip.skeleton.offsets[j]
        turns = Rotation.from_quat(clip.rotations[:, j])
        if (turns * turns[0].inv()).magnitude().max() < STILL:
            last[j] = add(name, parent, offset)
        elif detected and j in single and len(single[j]) == 1:
            row = single[j][0]
            seen = np.unwrap(found.hinge_angles().angles[:, row])
            last[j] = add_hinge(name, parent, offset, detected.axes[row], seen)
        else:
            order = ORDERS[j % len(ORDERS)]
            for i, angle in enumerate(np.unwrap(turns.as_euler(order), axis=0).T):
                step = offset if i == 0 else APART * AXES[order[i - 1]]
                parent = add_hinge(f"{name}.{order[i]}", parent, step, AXES[order[i]], angle)
            last[j] = parent
    leaves = sorted(set(range(len(names))) - set(parents))
    ends = np.tile([0.05, 0.0, 0.0], (len(leaves), 1))
    hinges = Hinges(tuple(joints), np.array(axes))
    skeleton = Skeleton(
        tuple(names), tuple(parents), np.array(offsets), ends, tuple(leaves), hinges=hinges
    )
    return mocpack.Clip.from_angles(
        skeleton,
        np.stack(angles, axis=1),
        clip.translations[:, 0],
        clip.rotations[:, 0],
        frame_rate=clip.frame_rate,
    )


def _find_used(skeleton: Skeleton) -> Mask:
    """Return which joints belong to limbs that are not small (J)."""
    kept = np.zeros(len(skeleton), bool)
    for j in range(len(skeleton) - 1, 0, -1):
        if kept[j] or np.linalg.norm(skeleton.offsets[j]) > SMALLEST:
            kept[j] = kept[skeleton.parents[j]] = True
    return kept
