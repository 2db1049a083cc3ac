"""The Jacobian of positions, one column at a time, to compare `displacement_gram` with.

Also the sensitivities that follow from it, which the paper measures by noise.
"""

from __future__ import annotations

import numpy as np

from mocpack.common.arrays import F64
from mocpack.model.clip import Clip
from mocpack.model.dofs import to_dofs
from mocpack.papers.vasa.codec.jacobian import (
    Points,
    _below,
    _rotation_axes,
    _shifts,
    body_points,
)


def position_jacobian(clip: Clip, matrix: F64, *, points: Points = "joints") -> F64:
    """Return the derivative of each point by each degree of freedom, shape (T, P, 3, C).

    Parameters
    ----------
    clip : Clip
    matrix : array, shape (T, C)
        Its degrees of freedom, in meters and radians.
    points : {"joints", "ends", "shell"}

    Returns
    -------
    array
        Meters by meter for positions, meters by radian for angles.
    """
    centers, world = clip.world()
    places, carriers = body_points(clip.skeleton, centers, world, points)
    moved = _below(clip.skeleton)[:, carriers]
    jacobian = np.zeros((*places.shape, matrix.shape[1]))
    x, y, z = np.moveaxis(places, -1, 0)[..., np.newaxis]
    turning, joints, axes = _rotation_axes(clip, matrix, world)
    a, b, c = np.moveaxis(axes, -1, 0)[:, :, np.newaxis]  # (T, 1, R) each
    u, v, w = np.moveaxis(centers[:, joints], -1, 0)[:, :, np.newaxis]
    inside = moved[joints].T
    # axis × (place - center), for every place and every angle at once
    jacobian[:, :, 0, turning] = (b * (z - w) - c * (y - v)) * inside
    jacobian[:, :, 1, turning] = (c * (x - u) - a * (z - w)) * inside
    jacobian[:, :, 2, turning] = (a * (y - v) - b * (x - u)) * inside
    for column, joint, direction in _shifts(clip, world):
        jacobian[..., column][:, moved[joint]] = direction[:, np.newaxis]
    return jacobian


def kinematic_sensitivities(clip: Clip, *, norm: str = "mean", points: Points = "joints") -> F64:
    """Return what `noise_sensitivities` would find for an error of position, without noise.

    Parameters
    ----------
    norm : {"mean", "rms", "max"}
        Of the distances over frames and points: the paper's ME, its square, the largest.
    points : {"joints", "ends", "shell"}

    Returns
    -------
    array, shape (C,)
        Meters by meter or radian.
    """
    lengths = np.sqrt(np.sum(position_jacobian(clip, to_dofs(clip), points=points) ** 2, axis=2))
    if norm == "max":
        return _expected_largest(lengths.max(axis=1), clip.frame_count)
    if norm == "rms":
        return np.asarray(np.sqrt((lengths**2).mean(axis=(0, 1))))
    return np.asarray(np.sqrt(3.0) / 2 * lengths.mean(axis=(0, 1)))  # mean |uniform noise|


def _expected_largest(reach: F64, frame_count: int) -> F64:
    """Return the expected largest of ``|noise_t| · reach_t`` over a clip's frames, shape (C,).

    Parameters
    ----------
    reach : array, shape (t, C)
        Largest displacement by unit of noise in each frame. The noise is uniform with deviation 1.
    """
    steps = np.linspace(0.0, 1.0, 513)[1:]
    top = np.sqrt(3.0) * reach.max(axis=0)
    relative = np.sqrt(3.0) * reach / np.maximum(top, 1e-300)
    # P(all below x) is the product over frames of x / reach where that is below 1
    below = [
        np.exp(
            frame_count * np.mean(np.log(np.minimum(1, x / np.maximum(relative, 1e-12))), axis=0)
        )
        for x in steps
    ]
    return np.asarray(top * np.mean(1 - np.array([np.zeros_like(top), *below[:-1]]), axis=0))
