"""Fit a skeleton of rigid bones to joint positions: bone lengths, rest pose and rotations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mocpack.common.arrays import F64
from mocpack.model import rotations

SHAPE_ROUNDS = 3  # of averaging bones that share a joint; one is exact for rigid bodies


def fit_skeleton(positions: F64, parents: Sequence[int], rest: F64) -> tuple[F64, F64]:
    """Return bone offsets (J, 3) and local rotations (T, J, 4) that reach joint positions.

    A joint with several children takes the rotation that fits all of them best. A joint with one
    child turns it by the shortest way, without twist. Joints without children do not turn. A joint
    aims from the position that it reaches itself, so errors of bone lengths do not add up.

    Positions (T, J, 3) are in the world; parents come before children. `rest` are the offsets
    (J, 3) in the rest pose. Bones keep these directions as far as they can, and take their mean
    length from the positions.
    """
    bones = positions - positions[:, [max(0, parent) for parent in parents]]
    lengths = np.linalg.norm(bones, axis=-1).mean(axis=0)
    scale = lengths / np.maximum(np.linalg.norm(rest, axis=-1), 1e-12)
    offsets = rest * scale[:, np.newaxis]
    reached = positions.copy()
    world = np.empty((*positions.shape[:2], 4))
    local = np.empty_like(world)
    for j, parent in enumerate(parents):
        before = world[:, parent] if parent >= 0 else np.broadcast_to(rotations.IDENTITY, (1, 4))
        if parent >= 0:
            reached[:, j] = reached[:, parent] + rotations.rotate(before, offsets[j])
        children = [k for k, other in enumerate(parents) if other == j]
        aims = positions[:, children] - reached[:, j : j + 1]
        if len(children) > 1:
            offsets[children] = _average_shape(bones[:, children], offsets[children])
            world[:, j] = _best_rotation(offsets[children], aims)
        elif children:
            straight = rotations.rotate(before, offsets[children[0]])
            turn = rotations.between(straight, aims[:, 0])
            world[:, j] = rotations.multiply(turn, before)
        else:
            world[:, j] = before
        turned = rotations.multiply(rotations.conjugate(before), world[:, j])
        local[:, j] = turned if children else rotations.IDENTITY
    return offsets, rotations.normalize(local)


def _average_shape(bones: F64, shape: F64) -> F64:
    """Return the mean offsets (K, 3) of bones (T, K, 3) in the frame of the joint they share."""
    for _ in range(SHAPE_ROUNDS):
        back = rotations.conjugate(_best_rotation(shape, bones))
        shape = rotations.rotate(back[:, np.newaxis], bones).mean(axis=0)
    return shape


def _best_rotation(offsets: F64, bones: F64) -> F64:
    """Return the rotations (T, 4) that bring offsets (K, 3) nearest to bones (T, K, 3)."""
    left, _, right = np.linalg.svd(np.einsum("tki,kj->tij", bones, offsets))
    left[..., 2] *= np.linalg.det(left @ right)[:, np.newaxis]  # a rotation, not a reflection
    return rotations.from_matrix(left @ right)
