"""How far each point of the body moves when a degree of freedom does: the Jacobian of positions."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from mocpack import rotations
from mocpack.clip import Clip
from mocpack.kinematics import SHELL, end_positions
from mocpack.skeleton import Skeleton, position_axes, rotation_order

F64 = npt.NDArray[np.float64]
Points = Literal["joints", "ends", "shell"]
"""Joint centres; those and bone ends; those and the points `SHELL` metres along each axis."""


def position_jacobian(clip: Clip, matrix: F64, *, points: Points = "joints") -> F64:
    """Return the derivative of each point by each degree of freedom, shape (T, P, 3, C).

    Parameters
    ----------
    clip : Clip
    matrix : array, shape (T, C)
        Its degrees of freedom, in metres and radians.
    points : {"joints", "ends", "shell"}

    Returns
    -------
    array
        Metres by metre for positions, metres by radian for angles.
    """
    skeleton = clip.skeleton
    centres, world = clip.world()
    places, carriers = body_points(skeleton, centres, world, points)
    moved = _moved_by(skeleton, carriers)
    jacobian = np.zeros((*places.shape, matrix.shape[1]))
    start = 0
    for j, channels in enumerate(skeleton.channels):
        parent = skeleton.parents[j]
        base = world[:, parent] if parent >= 0 else np.tile(rotations.IDENTITY, (len(matrix), 1))
        arms = places[:, moved[j]] - centres[:, j, np.newaxis]
        angles = matrix[:, start : start + len(channels)]
        for k, axis in _rotation_axes(skeleton.axes[j], channels, angles, base):
            jacobian[..., start + k][:, moved[j]] = np.cross(axis[:, np.newaxis], arms)
        for axis_index, k in position_axes(channels) if j in clip.translated_joints else []:
            shift = rotations.rotate(base, np.broadcast_to(np.eye(3)[axis_index], (len(base), 3)))
            jacobian[..., start + k][:, moved[j]] = shift[:, np.newaxis]
        start += len(channels)
    return jacobian


def body_points(
    skeleton: Skeleton, centres: F64, world: F64, points: Points
) -> tuple[F64, npt.NDArray[np.intp]]:
    """Return the points (T, P, 3) and the joint (P,) that carries each."""
    everyone = np.arange(len(skeleton))
    places, carriers = [centres], [everyone]
    if points != "joints":
        places.append(end_positions(skeleton, centres, world))
        carriers.append(np.array(skeleton.end_site_joints, np.intp))
    if points == "shell":
        for axis in np.eye(3):
            out = rotations.rotate(world, np.broadcast_to(SHELL * axis, centres.shape))
            places.append(centres + out)
            carriers.append(everyone)
    return np.concatenate(places, axis=1), np.concatenate(carriers)


def _moved_by(skeleton: Skeleton, carriers: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Return which points (J, P) each joint carries, itself or by a descendant."""
    below = np.eye(len(skeleton), dtype=bool)
    for j in range(len(skeleton) - 1, 0, -1):
        below[skeleton.parents[j]] |= below[j]
    return below[:, carriers]


def _rotation_axes(
    frame: F64, channels: tuple[str, ...], angles: F64, base: F64
) -> list[tuple[int, F64]]:
    """Return (where it stands, world axis (T, 3)) of each rotation channel of a joint."""
    order, at = rotation_order(channels)
    turn = rotations.multiply(base, np.broadcast_to(frame, base.shape))
    out = []
    for k, letter in zip(at, order, strict=True):
        unit = np.broadcast_to(np.eye(3)["XYZ".index(letter)], (len(base), 3))
        out.append((k, rotations.rotate(turn, unit)))
        turn = rotations.multiply(turn, rotations.from_euler(angles[:, [k]], letter))
    return out
