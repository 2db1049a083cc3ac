"""What one unit of a file without units is: a guess from the size of the skeleton in it.

The longest way through the bones of a person, from a toe to a fingertip, is about 2.1 m; a dog's
is 1.4 m. Of the units people use, the one is taken that makes the skeleton's reach most likely.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from mocpack.arrays import F64
from mocpack.skeleton import longest_way, position_axes

CMU_UNIT = 0.0254 / 0.45  # the unit of CMU's motion database: 5.644 cm
# metres, and how often files are in it
CANDIDATES = {
    "m": (1.0, 1.0),
    "cm": (0.01, 1.0),
    "mm": (0.001, 1.0),
    "CMU's 5.644cm": (CMU_UNIT, 0.3),
    "inch": (0.0254, 0.4),
}
SMALLEST, LARGEST = 0.25, 3.2  # metres of reach that a body can have
TYPICAL, SPREAD = 2.1, 0.45  # metres of reach, and its deviation as a natural logarithm


class HasTree(Protocol):
    parents: list[int]
    offsets: list[list[float]]
    end_sites: list[list[float]]
    end_joints: list[int]
    channels: list[tuple[str, ...]]


def guess_unit(tree: HasTree, first_frame: F64 | None = None) -> tuple[float, str]:
    """Return (metres of one unit, its name).

    Parameters
    ----------
    tree : skeleton in the file's units
    first_frame : array, shape (C,), optional
        The first pose; joints with position channels are where it says, not at their offsets.
    """
    with np.errstate(over="ignore"):  # numbers that no body has are refused later, with a sentence
        reach = _reach(tree, first_frame)
    if not 0 < reach < np.inf:
        return 1.0, "m"

    def likelihood(name: str) -> float:
        unit, share = CANDIDATES[name]
        return float(np.log(share) - 0.5 * (np.log(reach * unit / TYPICAL) / SPREAD) ** 2)

    name = max(CANDIDATES, key=likelihood)
    return CANDIDATES[name][0], name


def plausible(tree: HasTree, unit: float) -> bool:
    """Say whether a unit of this many metres makes a body of the size that bodies have."""
    with np.errstate(over="ignore"):
        return SMALLEST <= _reach(tree, None) * unit <= LARGEST


def _reach(tree: HasTree, first_frame: F64 | None) -> float:
    """Return the longest way through the bones, in the file's units."""
    ends = np.linalg.norm(np.array(tree.end_sites).reshape(-1, 3), axis=1)
    return longest_way(tree.parents, _bone_lengths(tree, first_frame), tree.end_joints, ends)


def _bone_lengths(tree: HasTree, first_frame: F64 | None) -> F64:
    places = np.array(tree.offsets).reshape(-1, 3)
    if first_frame is not None:
        start = 0
        for j, channels in enumerate(tree.channels):
            for axis, k in position_axes(channels):
                places[j, axis] = first_frame[start + k]
            start += len(channels)
    lengths = np.asarray(np.linalg.norm(places, axis=1))
    # where a body stands in the world is not a bone, be it the root that says so or its only child
    lengths[0] = 0.0
    if tree.parents.count(0) == 1 and _moves(tree.channels[1]):
        lengths[1] = 0.0
    return lengths


def _moves(channels: Sequence[str]) -> bool:
    return len(position_axes(channels)) > 0
