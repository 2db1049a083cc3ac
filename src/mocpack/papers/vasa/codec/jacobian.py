"""The Jacobian of point positions with respect to degrees of freedom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import numpy.typing as npt

from mocpack.common.arrays import F64
from mocpack.model import rotations
from mocpack.model.clip import Clip
from mocpack.model.dofs import adds_to_offset
from mocpack.model.kinematics import SHELL_RADIUS_M, end_positions
from mocpack.model.skeleton import Skeleton, position_axes, rotation_order

Points = Literal["joints", "ends", "shell"]
"""Joint centers; those and bone ends; those and points `SHELL_RADIUS_M` meters along each axis."""


def displacement_gram(
    clip: Clip,
    matrix: F64,
    *,
    points: Points = "joints",
    skin: float = 0.0,
    emphasis: F64 | None = None,
) -> F64:
    """Return the mean of JᵀJ over frames and points, shape (C, C), without making J.

    By the composite rigid body method: what two degrees of freedom do together depends only on the
    moments of the points that the lower of their joints carries.

    Parameters
    ----------
    matrix : array, shape (T, C)
        Degrees of freedom of `clip`, in meters and radians.
    points : {"joints", "ends", "shell"}
    skin : float
        Adds the mean over the shell points, times the square of this.
    emphasis : array, shape (T, J), optional
        Weight of each joint center at each frame; 1 for all other points.
    """
    centers, world = clip.world()
    places, carriers = body_points(clip.skeleton, centers, world, "shell" if skin else points)
    kept = point_count(clip.skeleton, points)
    shares = np.full(places.shape[:2], skin**2 / len(carriers))
    shares[:, :kept] += 1 / kept
    if emphasis is not None:
        shares[:, : emphasis.shape[1]] *= emphasis
    here = centers[:, :1]  # near the body, for precision
    inertia = _composite_inertia(clip.skeleton, places - here, carriers, shares)
    screws, joints = _screws(clip, matrix, centers - here, world)
    pushed = np.einsum("tcij,tcj->tci", inertia[:, joints], screws)
    columns = matrix.shape[1]
    products = (
        np.moveaxis(screws, 1, 0).reshape(columns, -1)
        @ np.moveaxis(pushed, 1, 0).reshape(columns, -1).T
    )
    above = _below(clip.skeleton)[joints][:, joints]
    gram = np.where(above, products, np.where(above.T, products.T, 0.0)) / len(matrix)
    np.fill_diagonal(gram, np.maximum(np.diag(gram), 0.0))  # rounding may make it negative
    return gram


def point_count(skeleton: Skeleton, points: Points) -> int:
    joints, ends = len(skeleton), len(skeleton.end_site_joints)
    return {"joints": joints, "ends": joints + ends, "shell": 4 * joints + ends}[points]


def body_points(
    skeleton: Skeleton, centers: F64, world: F64, points: Points
) -> tuple[F64, npt.NDArray[np.intp]]:
    """Return the points (T, P, 3) and the joint (P,) that carries each."""
    everyone = np.arange(len(skeleton))
    places, carriers = [centers], [everyone]
    if points != "joints":
        places.append(end_positions(skeleton, centers, world))
        carriers.append(np.array(skeleton.end_site_joints, np.intp))
    if points == "shell":
        for axis in np.eye(3):
            out = rotations.rotate(world, SHELL_RADIUS_M * axis)
            places.append(centers + out)
            carriers.append(everyone)
    return np.concatenate(places, axis=1), np.concatenate(carriers)


def _below(skeleton: Skeleton) -> npt.NDArray[np.bool_]:
    """Return which joints (J, J) each joint carries: itself and its descendants."""
    below = np.eye(len(skeleton), dtype=bool)
    for j in range(len(skeleton) - 1, 0, -1):
        below[skeleton.parents[j]] |= below[j]
    return below


def _composite_inertia(
    skeleton: Skeleton, places: F64, carriers: npt.NDArray[np.intp], shares: F64
) -> F64:
    """Return the spatial inertia (T, J, 6, 6) of the points that each joint carries."""
    frames, joints = len(places), len(skeleton)
    products = places[..., :, np.newaxis] * places[..., np.newaxis, :]
    one = np.ones((*places.shape[:2], 1))
    own = np.concatenate([one, places, products.reshape(*places.shape[:2], 9)], axis=-1)
    carried = _below(skeleton)[:, carriers].astype(np.float64)
    moments = carried @ (own * shares[..., np.newaxis])  # of order 0, 1 and 2
    mass, first, second = np.split(moments, [1, 4], axis=-1)
    second = second.reshape(frames, joints, 3, 3)
    inertia = np.zeros((frames, joints, 6, 6))
    trace = np.trace(second, axis1=-2, axis2=-1)[..., np.newaxis, np.newaxis]
    inertia[..., :3, :3] = trace * np.eye(3) - second
    x, y, z = np.moveaxis(first, -1, 0)
    cross = inertia[..., :3, 3:]
    cross[..., 0, 1], cross[..., 0, 2], cross[..., 1, 2] = -z, y, -x
    cross[..., 1, 0], cross[..., 2, 0], cross[..., 2, 1] = z, -y, x
    inertia[..., 3:, :3] = np.swapaxes(cross, -1, -2)
    inertia[..., 3:, 3:] = mass[..., np.newaxis] * np.eye(3)
    return inertia


def _screws(clip: Clip, matrix: F64, centers: F64, world: F64) -> tuple[F64, npt.NDArray[np.intp]]:
    """Return (α, β) of each column, shape (T, C, 6), and its joint: a point moves by α × p + β."""
    screws = np.zeros((*matrix.shape, 6))
    turning, joints, axes = _rotation_axes(clip, matrix, world)
    screws[:, turning, :3] = axes
    screws[:, turning, 3:] = np.cross(centers[:, joints], axes)
    for column, _, direction in _shifts(clip, world):
        screws[:, column, 3:] = direction
    return screws, clip.skeleton.columns.joints


def _rotation_axes(clip: Clip, matrix: F64, world: F64) -> tuple[list[int], list[int], F64]:
    """Return column, joint and world axis (T, R, 3) of each rotation channel."""
    columns, joints, axes = [], [], []
    for j, start, channels in _joints(clip.skeleton):
        turn = rotations.multiply(_base(clip, world, j), clip.skeleton.axes[j])
        for letter, k in zip(*rotation_order(channels), strict=True):
            columns.append(start + k)
            joints.append(j)
            axes.append(rotations.as_matrix(turn)[:, :, "XYZ".index(letter)])
            turn = rotations.multiply(turn, rotations.from_euler(matrix[:, [start + k]], letter))
    return columns, joints, np.stack(axes, axis=1) if axes else np.zeros((len(matrix), 0, 3))


def _shifts(clip: Clip, world: F64) -> Iterator[tuple[int, int, F64]]:
    """Yield column, joint and world direction (T, 3) of each position channel that is in use."""
    for j, start, channels in _joints(clip.skeleton):
        if j in clip.translated_joints:
            base = _base(clip, world, j)
            if adds_to_offset(channels):
                base = rotations.multiply(base, clip.skeleton.axes[j])
            for axis, k in position_axes(channels):
                yield start + k, j, rotations.as_matrix(base)[:, :, axis]


def _base(clip: Clip, world: F64, joint: int) -> F64:
    """Return the world rotation (T, 4) of the joint's parent."""
    parent = clip.skeleton.parents[joint]
    return world[:, parent] if parent >= 0 else np.tile(rotations.IDENTITY, (len(world), 1))


def _joints(skeleton: Skeleton) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    start = 0
    for j, channels in enumerate(skeleton.channels):
        yield j, start, channels
        start += len(channels)
