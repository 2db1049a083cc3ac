"""Distances between points, in meters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mocpack.common.arrays import F64
from mocpack.model import rotations
from mocpack.model.kinematics import SHELL_RADIUS_M


def distances(a: F64, b: F64) -> F64:
    """Return the distance between points (..., 3)."""
    d = a - b
    return np.asarray(np.sqrt(np.einsum("...k,...k->...", d, d)))


def rms(lengths: F64) -> float:
    return float(np.sqrt(np.mean(np.square(lengths))))


def displacements(
    a: tuple[F64, F64],
    b: tuple[F64, F64],
    ends: tuple[F64, F64],
    carriers: Sequence[int],
    *,
    shell: float = SHELL_RADIUS_M,
) -> F64:
    """Return the largest displacement of each joint, its end sites and shell points, (T, J).

    Parameters
    ----------
    a, b : world positions (T, J, 3) and rotations (T, J, 4) of each motion
    ends : end sites (T, E, 3) of each motion
    carriers : joint of each end site, length E
    shell : distance of the shell points along the axes of the joint, in meters
    """
    center = a[0] - b[0]
    turned = rotations.as_matrix(a[1]) - rotations.as_matrix(b[1])
    skin = center[..., np.newaxis] + shell * turned
    squares = np.einsum("...ik,...ik->...k", skin, skin).max(-1)
    squares = np.maximum(squares, np.einsum("...i,...i->...", center, center))
    moved = ends[0] - ends[1]
    for e, j in enumerate(carriers):
        squares[:, j] = np.maximum(squares[:, j], np.einsum("ti,ti->t", moved[:, e], moved[:, e]))
    return np.asarray(np.sqrt(squares))
