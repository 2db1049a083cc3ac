"""What one unit of a file without units is: a guess from the size of the skeleton in it.

A person, a dog or a robot is between 25 cm and 3 m tall. Of the units people use, the first in
the table that makes the skeleton's reach plausible is taken.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]

CMU_UNIT = 0.0254 / 0.45  # the unit of CMU's motion database: 5.644 cm
CANDIDATES = {"m": 1.0, "cm": 0.01, "mm": 0.001, "CMU's 5.644cm": CMU_UNIT, "inch": 0.0254}
SMALLEST, LARGEST, TYPICAL = 0.25, 3.2, 1.75  # metres


class HasTree(Protocol):
    names: list[str]
    parents: list[int]
    offsets: list[list[float]]
    end_sites: list[list[float]]
    end_joints: list[int]


def guess_unit(tree: HasTree, _first_frame: F64 | None = None) -> tuple[float, str]:
    """Return (metres of one unit, its name)."""
    reach = _reach(tree)
    if reach <= 0:
        return 1.0, "m"
    name = min(CANDIDATES, key=lambda n: abs(np.log(reach * CANDIDATES[n] / TYPICAL)))
    return CANDIDATES[name], name


def plausible(tree: HasTree, unit: float) -> bool:
    """Say whether a unit of this many metres makes a body of the size that bodies have."""
    return SMALLEST <= _reach(tree) * unit <= LARGEST


def _reach(tree: HasTree) -> float:
    """Return the longest way through the bones from one end of the skeleton to another.

    From crown to toe this is about the height, and it needs no knowledge of which way is up.
    """
    joints = len(tree.parents)
    depth = np.zeros(joints)
    best = 0.0
    lengths = np.linalg.norm(np.array(tree.offsets).reshape(-1, 3), axis=1)
    lengths[0] = 0.0  # where the root stands is not a bone
    ends: dict[int, float] = {}
    for joint, offset in zip(tree.end_joints, tree.end_sites, strict=True):
        ends[joint] = max(ends.get(joint, 0.0), float(np.linalg.norm(offset)))
    depth = np.array([ends.get(j, 0.0) for j in range(joints)])
    best = float(depth.max(initial=0.0))
    for j in range(joints - 1, 0, -1):
        parent, through = tree.parents[j], depth[j] + lengths[j]
        best = max(best, depth[parent] + through)
        depth[parent] = max(depth[parent], through)
    return best
