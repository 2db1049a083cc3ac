"""Which columns of a motion tell about which: joints, their ancestors, and their mirror images."""

from __future__ import annotations

from collections.abc import Sequence

from mocpack.coding.series import ColumnGroup
from mocpack.mirroring import mirrored_joints
from mocpack.skeleton import Skeleton

Owner = tuple[int, bool]
"""A joint, and whether the column is of its translation (or else of its rotation)."""


def column_groups(skeleton: Skeleton, owners: Sequence[Owner]) -> list[ColumnGroup]:
    """Group columns by owner and relate the groups along the skeleton.

    A rotation's parent is the nearest rotation above it that has columns; the root's is its own
    translation.
    """
    kinds = list(dict.fromkeys(owners))
    index = {owner: g for g, owner in enumerate(kinds)}
    columns: list[list[int]] = [[] for _ in kinds]
    for column, owner in enumerate(owners):
        columns[index[owner]].append(column)
    mirrored = mirrored_joints(skeleton.names)
    groups = []
    for (joint, moves), own in zip(kinds, columns, strict=True):
        parent = _above(skeleton, joint, moves, index)
        grandparent = _above(skeleton, *kinds[parent], index) if parent >= 0 else -1
        mirror = index.get((mirrored[joint], moves), -1) if mirrored[joint] >= 0 else -1
        groups.append(ColumnGroup(tuple(own), parent, grandparent, mirror))
    return groups


def _above(skeleton: Skeleton, joint: int, moves: bool, index: dict[Owner, int]) -> int:
    """Return the group that a group hangs from, or -1."""
    above = skeleton.parents[joint]
    while above >= 0:
        if (above, False) in index:
            return index[above, False]
        above = skeleton.parents[above]
    return -1 if moves else index.get((0, True), -1) if joint == 0 else -1
