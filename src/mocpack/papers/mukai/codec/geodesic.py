"""Rotations as vectors about a mean: principal geodesic analysis' way into a linear space.

A joint that never strays far from its intrinsic mean is described by the tangent vector there
(three numbers). One that does, a spinning root say, keeps its quaternion (four numbers), which is
smooth through any number of turns where a tangent vector jumps.
"""

from __future__ import annotations

import numpy as np

from mocpack import rotations
from mocpack.arrays import F64

CONSTANT, TANGENT, QUATERNION = 0, 1, 2
WIDTH = (0, 3, 4)  # numbers that each kind takes
STILL = 1e-9  # radians; less than this is no motion
NEAR = 2.4  # radians from the mean up to which tangent vectors are trusted


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
        Meters that a joint without descendants is taken to move.
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
