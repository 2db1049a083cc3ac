"""Forward kinematics in plain numpy, joint by joint, to compare the native kernel with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mocpack.common.arrays import F64
from mocpack.model import rotations
from mocpack.model.skeleton import Skeleton


def forward_kinematics_numpy(
    skeleton: Skeleton, local: F64, translations: F64, translated_joints: Sequence[int]
) -> tuple[F64, F64]:
    """The same as the core, in plain numpy: slower and readable."""
    positions = np.empty((*local.shape[:2], 3))
    world = np.empty_like(local)
    column = {joint: m for m, joint in enumerate(translated_joints)}
    for j, parent in enumerate(skeleton.parents):
        place = translations[:, column[j]] if j in column else skeleton.offsets[j]
        if parent < 0:
            positions[:, j], world[:, j] = place, local[:, j]
        else:
            base = world[:, parent]
            positions[:, j] = positions[:, parent] + rotations.rotate(base, place)
            world[:, j] = rotations.multiply(base, local[:, j])
    return positions, world
