"""Convert captured motion to chains of hinges, so that keysine also trains on robot-like motion.

Each joint that rotates about more than one axis becomes a chain of three hinges a few centimeters
apart, like the hips and shoulders of humanoid robots. Small limbs (fingers, toes) are dropped. The
angles are those of the clip; the positions are not.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

import mocpack
from mocpack.common.arrays import F64, Mask
from mocpack.model.hinges import Hinges
from mocpack.model.skeleton import Skeleton

HINGE_SPACING_M = 0.04  # between the hinges of one captured joint
MIN_BONE_M = 0.05  # limbs with only shorter bones are dropped
MIN_ROTATION_RAD = 1e-3  # joints that rotate less become fixed
ORDERS = ("YXZ", "ZXY", "XYZ")  # varies by joint, so that chains differ
AXES = dict(zip("XYZ", np.eye(3), strict=True))


def convert_to_hinges(clip: mocpack.Clip) -> mocpack.Clip:
    """Return a clip with a free root and hinges that rotates like `clip`."""
    hinged = clip.with_hinges(detect=True)
    detected = hinged.skeleton.hinges
    single = dict(detected.rows_by_joint()) if detected else {}
    names, parents, offsets = ["root"], [-1], [np.zeros(3)]
    joints: list[int] = []
    axes: list[F64] = []
    angles: list[F64] = []
    last = {0: 0}  # the link that the children of each joint attach to
    kept = _find_large_limbs(clip.skeleton)

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
        if (turns * turns[0].inv()).magnitude().max() < MIN_ROTATION_RAD:
            last[j] = add(name, parent, offset)
        elif detected and j in single and len(single[j]) == 1:
            row = single[j][0]
            seen = np.unwrap(hinged.hinge_angles().angles[:, row])
            last[j] = add_hinge(name, parent, offset, detected.axes[row], seen)
        else:
            order = ORDERS[j % len(ORDERS)]
            for i, angle in enumerate(np.unwrap(turns.as_euler(order), axis=0).T):
                step = offset if i == 0 else HINGE_SPACING_M * AXES[order[i - 1]]
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


def _find_large_limbs(skeleton: Skeleton) -> Mask:
    """Return a mask (J,) of the joints that belong to limbs of normal size."""
    kept = np.zeros(len(skeleton), bool)
    for j in range(len(skeleton) - 1, 0, -1):
        if kept[j] or np.linalg.norm(skeleton.offsets[j]) > MIN_BONE_M:
            kept[j] = kept[skeleton.parents[j]] = True
    return kept
