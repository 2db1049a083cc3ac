"""Relate columns for prediction: joints, their ancestors and their mirror images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mocpack.codecs.lossless.series import ColumnGroup
from mocpack.common.arrays import Mask
from mocpack.model.header import ClipHeader, VertexHeader
from mocpack.model.mirroring import find_mirrored_joints
from mocpack.model.skeleton import Skeleton

Owner = tuple[int, bool]
"""A joint, and whether the column belongs to its translation (otherwise its rotation)."""


@dataclass(frozen=True)
class MatrixColumns:
    """Description of the columns of a matrix."""

    angles: Mask
    """Columns in degrees."""
    groups: Callable[[Mask], Sequence[ColumnGroup]]
    """Returns the groups of the moving columns."""


def channel_columns(skeleton: Skeleton) -> MatrixColumns:
    """Return the columns of the source's channels."""
    angles = skeleton.columns.is_angle
    joints = skeleton.columns.joints
    owners = [(int(j), not a) for j, a in zip(joints, angles, strict=True)]
    return MatrixColumns(angles, lambda moving: _groups(skeleton, owners, moving))


def motion_columns(header: ClipHeader) -> MatrixColumns:
    """Return the columns of rotations and translations."""
    owners = [(j, False) for j in range(len(header.skeleton)) for _ in range(4)]
    owners += [(j, True) for j in header.translated_joints for _ in range(3)]
    still = np.zeros(len(owners), bool)
    return MatrixColumns(still, lambda moving: _groups(header.skeleton, owners, moving))


def mesh_columns(header: VertexHeader) -> MatrixColumns:
    """Return the columns of mesh vertices, which are not related to each other."""

    def groups(moving: Mask) -> list[ColumnGroup]:
        points = np.flatnonzero(moving) // 3
        first, counts = np.unique(points, return_index=True, return_counts=True)[1:]
        return [ColumnGroup(tuple(range(a, a + n))) for a, n in zip(first, counts, strict=True)]

    return MatrixColumns(np.zeros(3 * header.vertex_count, bool), groups)


def _groups(skeleton: Skeleton, owners: list[Owner], moving: Mask) -> list[ColumnGroup]:
    return column_groups(skeleton, [owners[c] for c in np.flatnonzero(moving)])


def column_groups(skeleton: Skeleton, owners: Sequence[Owner]) -> list[ColumnGroup]:
    """Group columns by owner and relate the groups along the skeleton.

    The parent of a rotation is the nearest ancestor rotation with columns. The parent of the root's
    rotation is the root's translation.
    """
    kinds = list(dict.fromkeys(owners))
    index = {owner: g for g, owner in enumerate(kinds)}
    columns: list[list[int]] = [[] for _ in kinds]
    for column, owner in enumerate(owners):
        columns[index[owner]].append(column)
    mirrored = find_mirrored_joints(skeleton.unique_names)
    groups = []
    for (joint, moves), own in zip(kinds, columns, strict=True):
        parent = _above(skeleton, joint, moves, index)
        grandparent = _above(skeleton, *kinds[parent], index) if parent >= 0 else -1
        mirror = index.get((mirrored[joint], moves), -1) if mirrored[joint] >= 0 else -1
        groups.append(ColumnGroup(tuple(own), parent, grandparent, mirror))
    return groups


def _above(skeleton: Skeleton, joint: int, moves: bool, index: dict[Owner, int]) -> int:
    """Return the parent group of a group, or -1."""
    above = skeleton.parents[joint]
    while above >= 0:
        if (above, False) in index:
            return index[above, False]
        above = skeleton.parents[above]
    return -1 if moves else index.get((0, True), -1) if joint == 0 else -1
