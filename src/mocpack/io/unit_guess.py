"""Guess the unit of a file without units from the size of its skeleton.

The longest path through a person's bones, from a toe to a fingertip, is about 2.1 m; a dog's is
1.4 m. The guess is the common unit that makes this length most likely.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from mocpack.common.arrays import F64
from mocpack.model.skeleton import longest_bone_path, parse_channels

CMU_UNIT = 0.0254 / 0.45  # of CMU's motion database: 5.644 cm
# name: (meters, relative frequency in files)
CANDIDATES = {
    "m": (1.0, 1.0),
    "cm": (0.01, 1.0),
    "mm": (0.001, 1.0),
    "CMU's 5.644cm": (CMU_UNIT, 0.3),
    "inch": (0.0254, 0.4),
}
MIN_REACH_M, MAX_REACH_M = 0.25, 3.2  # of a body
TYPICAL_REACH_M = 2.1
REACH_LOG_DEVIATION = 0.45  # standard deviation of the natural logarithm


class HasTree(Protocol):
    parents: list[int]
    offsets: list[list[float]]
    end_sites: list[list[float]]
    end_joints: list[int]
    channels: list[tuple[str, ...]]


def guess_unit(tree: HasTree, first_frame: F64 | None = None) -> tuple[float, str]:
    """Return (meters per file unit, name of the unit) of a skeleton in the file's units.

    The position channels of the first frame (C,) replace offsets.
    """
    with np.errstate(over="ignore"):  # impossible numbers are reported later
        reach = _measure_reach(tree, first_frame)
    if not 0 < reach < np.inf:
        return 1.0, "m"

    units, shares = np.array(list(CANDIDATES.values())).T
    likelihoods = (
        np.log(shares) - 0.5 * (np.log(reach * units / TYPICAL_REACH_M) / REACH_LOG_DEVIATION) ** 2
    )
    name = list(CANDIDATES)[int(np.argmax(likelihoods))]
    return CANDIDATES[name][0], name


def is_plausible(tree: HasTree, unit: float) -> bool:
    """Return whether this unit, in meters, gives a body of plausible size."""
    with np.errstate(over="ignore"):
        return MIN_REACH_M <= _measure_reach(tree, None) * unit <= MAX_REACH_M


def _measure_reach(tree: HasTree, first_frame: F64 | None) -> float:
    """Return the longest path through the bones, in file units."""
    positions = np.array(tree.offsets).reshape(-1, 3)
    columns = parse_channels(tree.channels)
    given = ~columns.is_angle
    if first_frame is not None:
        positions[columns.joints[given], columns.axes[given]] = first_frame[given]
    ends = tree.end_joints, np.array(tree.end_sites).reshape(-1, 3)
    return longest_bone_path(tree.parents, positions, *ends, set(columns.joints[given]))
