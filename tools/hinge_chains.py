"""Captured motion on serial hinges, as a robot has it: what keysine's training knows of robots.

Each joint of a clip that turns about more than one axis becomes three in a row, a hinge each, a few
centimetres apart, as hips and shoulders of humanoid robots are built. Small limbs (fingers, toes)
are left out, as robots do. The angles are the captured ones; where links end up is not.
"""

import numpy as np
from scipy.spatial.transform import Rotation

import mocpack
from mocpack.hinges import Hinges
from mocpack.skeleton import Skeleton

APART = 0.04  # metres between the hinges of one captured joint
SMALLEST = 0.05  # metres: limbs whose joints all stand nearer together are left out
STILL = 1e-3  # radians: what turns less is fixed
ORDERS = ("YXZ", "ZXY", "XYZ")  # by depth, so that not all chains are alike
AXES = dict(zip("XYZ", np.eye(3), strict=True))


def on_hinges(clip):
    """Return a clip of a free root and one-axis joints that turns as `clip` does."""
    found = clip.with_hinges(detect=True)
    single = dict(found.skeleton.hinges.of_joints()) if found.skeleton.hinges else {}
    seen = found.hinge_angles().angles if single else None
    names, parents, offsets, joints, axes, angles = ["root"], [-1], [np.zeros(3)], [], [], []
    last = {0: 0}  # of each joint, the link that its children hang on
    kept = _kept(clip.skeleton)

    def add(name, parent, offset, axis=None, angle=None):
        names.append(name), parents.append(parent), offsets.append(offset)
        if axis is not None:
            joints.append(len(names) - 1), axes.append(axis), angles.append(angle)
        return len(names) - 1

    for j in range(1, len(clip.skeleton)):
        if not kept[j]:
            continue
        name, parent = clip.skeleton.names[j], last[clip.skeleton.parents[j]]
        offset = clip.skeleton.offsets[j]
        turns = Rotation.from_quat(clip.rotations[:, j])
        if (turns * turns[0].inv()).magnitude().max() < STILL:
            last[j] = add(name, parent, offset)
        elif j in single and len(single[j]) == 1:
            row = single[j][0]
            axis = found.skeleton.hinges.axes[row]
            last[j] = add(name, parent, offset, axis, np.unwrap(seen[:, row]))
        else:
            order = ORDERS[j % len(ORDERS)]
            for i, angle in enumerate(np.unwrap(turns.as_euler(order), axis=0).T):
                step = offset if i == 0 else APART * AXES[order[i - 1]]
                parent = add(f"{name}.{order[i]}", parent, step, AXES[order[i]], angle)
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


def _kept(skeleton):
    """Return which joints belong to limbs that are not small (J)."""
    kept = np.zeros(len(skeleton), bool)
    for j in range(len(skeleton) - 1, 0, -1):
        if kept[j] or np.linalg.norm(skeleton.offsets[j]) > SMALLEST:
            kept[j] = kept[skeleton.parents[j]] = True
    return kept
