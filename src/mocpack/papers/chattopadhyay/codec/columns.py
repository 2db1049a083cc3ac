"""The matrix of body animation parameters: moving channels and their levels.

Angles are in degrees and lengths in the unit of the CMU skeletons (1/0.45 inch), for every source.
The method puts numbers of both kinds into one table, so their ratio must be that of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack.common.arrays import F64, I32
from mocpack.errors import CorruptionError, InvalidClipError, convert_errors
from mocpack.model.clip import Clip, ClipHeader
from mocpack.model.dofs import from_dofs, select_coded_dofs, to_dofs
from mocpack.model.skeleton import Skeleton

LENGTH_UNIT = 0.0254 / 0.45  # meters per unit of length, as in the CMU skeletons
ORDERS = ("file", "by_influence")
LEAST_LEVEL, LARGEST_LEVEL = 1, 64
DEEPEST_LEVEL = 5  # maximum level by default


@dataclass(frozen=True)
class Columns:
    """A clip as columns to code.

    Attributes
    ----------
    matrix : array, shape (T, m)
        The columns that move, in coding order, in degrees and `LENGTH_UNIT`.
    still : array, shape (C - m,)
        The value of each other column.
    moving : array of bool, shape (C,)
        Which columns move; the first counts as moving always.
    order : array of int, shape (m,)
        Index of the moving column in each column of `matrix`.
    """

    matrix: F64
    still: F64
    moving: npt.NDArray[np.bool_]
    order: npt.NDArray[np.intp]


def split_columns(clip: Clip, *, order: str = "file") -> Columns:
    """Return the clip's columns, in the file's order or the most influential first."""
    whole = to_dofs(clip) / column_units(clip.skeleton)
    moving = select_coded_dofs(whole)
    places = np.arange(int(moving.sum()))
    if order == "by_influence":
        places = np.argsort(-_influence(clip.skeleton)[moving], kind="stable")
    return Columns(whole[:, moving][:, places], whole[0, ~moving], moving, places)


def join_columns(columns: Columns, header: ClipHeader, *, what: str) -> Clip:
    """Return the clip of decoded columns; `what` names the payload they come from."""
    whole = np.empty((len(columns.matrix), len(columns.moving)))
    whole[:, ~columns.moving] = columns.still
    whole[:, np.flatnonzero(columns.moving)[columns.order]] = columns.matrix
    # far above the values of any clip; NaN fails the comparison too
    if not np.abs(whole).max(initial=0.0) < 1e12:
        raise CorruptionError(f"{what}: a decoded value is not finite")
    with convert_errors(InvalidClipError, f"{what}"):
        return from_dofs(whole * column_units(header.skeleton), header)


def column_units(skeleton: Skeleton) -> F64:
    """Return the radians or meters of one unit of each column, shape (C,)."""
    return np.where(skeleton.columns.is_angle, np.pi / 180, LENGTH_UNIT)


def column_levels(skeleton: Skeleton, overrides: Mapping[str, int]) -> I32:
    """Return the level of each column's joint, shape (C,): 1 matters most.

    A joint's level is 1 + min(depth, 4), where the root has depth 0: the paper's largest is 5.
    `overrides` names joints with another level.
    """
    depths = np.zeros(len(skeleton), np.int32)
    for j, parent in enumerate(skeleton.parents[1:], 1):
        depths[j] = depths[parent] + 1
    levels = np.minimum(1 + depths, DEEPEST_LEVEL)
    for name, level in overrides.items():
        levels[skeleton.index(name)] = level
    return np.asarray(levels[skeleton.columns.joints], np.int32)


def parse_levels(text: str) -> dict[str, int]:
    """Read levels as written in a codec's parameters.

    >>> parse_levels("LeftFoot=2/RightFoot=2")
    {'LeftFoot': 2, 'RightFoot': 2}
    """
    levels: dict[str, int] = {}
    for part in text.split("/") if text else []:
        name, equals, number = part.rpartition("=")
        if not (name and equals and number.isdigit()):
            raise ValueError(f"levels must be like LeftFoot=2/RightFoot=2, got {part!r}")
        levels[name] = int(number)
        if not LEAST_LEVEL <= levels[name] <= LARGEST_LEVEL:
            raise ValueError(
                f"a level must be in {LEAST_LEVEL}..{LARGEST_LEVEL}, got {number} for {name!r}"
            )
    return levels


def _influence(skeleton: Skeleton) -> F64:
    """Return how far a small change of each column moves the body at rest, summed over joints.

    Positions get infinity, because a change of them moves all joints. Bone ends count as joints.
    """
    rest = np.zeros((len(skeleton), 3))
    for j, parent in enumerate(skeleton.parents[1:], 1):
        rest[j] = rest[parent] + skeleton.offsets[j]
    reach = np.zeros(len(skeleton))
    for j in range(len(skeleton)):
        up = j
        while up >= 0:
            reach[up] += np.linalg.norm(rest[j] - rest[up])
            up = skeleton.parents[up]
    for site, j in zip(skeleton.end_sites, skeleton.end_site_joints, strict=True):
        up = j
        while up >= 0:
            reach[up] += np.linalg.norm(rest[j] + site - rest[up])
            up = skeleton.parents[up]
    return np.where(skeleton.columns.is_angle, reach[skeleton.columns.joints], np.inf)
