"""Rotations as tangent vectors at a mean, as in principal geodesic analysis.

A joint that stays near its intrinsic mean is described by the tangent vector there (three numbers).
Other joints, such as a spinning root, keep their quaternions (four numbers), which stay smooth over
full turns, where a tangent vector would jump.
"""

from __future__ import annotations

import numpy as np

from mocpack.common.arrays import F64
from mocpack.model import rotations

CONSTANT, TANGENT, QUATERNION = 0, 1, 2
WIDTH = (0, 3, 4)  # numbers per rotation, by kind
STILL = 1e-9  # radians; smaller rotations count as constant
NEAR = 2.4  # maximum distance from the mean in radians for tangent vectors


def intrinsic_mean(q: F64, *, rounds: int = 20) -> F64:
    """Return the rotation nearest to all of `q` (T, 4) in the mean, by iterating log and exp."""
    mean = rotations.normalize(q[0])
    for _ in range(rounds):
        step = rotations.as_rotvec(rotations.multiply(rotations.conjugate(mean), q)).mean(axis=0)
        mean = rotations.normalize(rotations.multiply(mean, rotations.from_rotvec(step)))
        if np.linalg.norm(step) < 1e-12:
            break
    return mean


def kind_of_motion(q: F64, mean: F64) -> int:
    """Return how to describe rotations (T, 4) about `mean`."""
    away = rotations.angle_between(np.broadcast_to(mean, q.shape), q).max()
    if away < STILL:
        return CONSTANT
    return TANGENT if away < NEAR else QUATERNION


def to_vectors(q: F64, mean: F64, kind: int) -> F64:
    """Return rotations (T, 4) as vectors (T, 0, 3 or 4)."""
    if kind == CONSTANT:
        return np.zeros((len(q), 0))
    if kind == QUATERNION:
        return q
    return rotations.as_rotvec(rotations.multiply(rotations.conjugate(mean), q))


def levers(positions: F64, parents: tuple[int, ...], skin: float) -> F64:
    """Return, for each joint, how far one radian there moves the body: RMS meters over joints.

    Parameters
    ----------
    positions : array, shape (T, J, 3)
    skin : float
        Distance in meters that a joint without descendants is assumed to move.
    """
    joints = len(parents)
    below = np.eye(joints, dtype=bool)
    for j in range(joints - 1, 0, -1):
        below[parents[j]] |= below[j]
    squares = np.empty(joints)
    for j in range(joints):
        arms = positions[:, below[j]] - positions[:, j : j + 1]
        # two of three axes of rotation move a point
        squares[j] = (np.sum(arms**2, axis=(1, 2)).mean() * 2 / 3 + skin**2) / joints
    return np.sqrt(squares)
