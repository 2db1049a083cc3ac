"""Forward kinematics, and the position error between two motions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.common.arrays import F64
from mocpack.model import rotations
from mocpack.model.skeleton import Skeleton

SHELL_RADIUS_M = 0.03  # assumed distance of the skin from a joint
MAX_SCALE_EXPONENT = 40  # largest exponent of two of a scale


def forward_kinematics(
    skeleton: Skeleton, local: F64, translations: F64, translated_joints: Sequence[int]
) -> tuple[F64, F64]:
    """Return world positions (T, J, 3) in meters and world rotations (T, J, 4).

    Parameters
    ----------
    local : array, shape (T, J, 4)
    translations : array, shape (T, M, 3)
        In meters; replaces the offset of each of the M `translated_joints`.
    """
    if len(skeleton.roots) > 1:
        tree, moving = skeleton.as_single_tree, [j + 1 for j in translated_joints]
        positions, world = forward_kinematics(tree, add_origin(local), translations, moving)
        return positions[:, 1:], world[:, 1:]
    native = skeleton.to_core(translated_joints)
    positions, world = _core.forward_kinematics(native, local, translations)
    return positions, world


def add_origin(local: F64) -> F64:
    """Add the unrotated origin joint of `Skeleton.as_single_tree`: rotations (T, 1 + J, 4)."""
    return np.concatenate([np.tile(rotations.IDENTITY, (len(local), 1, 1)), local], axis=1)


def forward_kinematics_scaled(
    skeleton: Skeleton,
    local: F64,
    translations: F64,
    translated_joints: Sequence[int],
    scales: F64,
) -> tuple[F64, F64]:
    """Return world positions (T, J, 3) and world matrices (T, J, 3, 3), with scales.

    As in glTF: the matrix of a joint is that of its parent, times its rotation, times its scales
    (T, J, 3). The matrix of the parent transforms the position of a child.
    """
    positions = np.empty((*local.shape[:2], 3))
    matrices = rotations.as_matrix(local) * scales[:, :, np.newaxis, :]
    column = {joint: m for m, joint in enumerate(translated_joints)}
    for j, parent in enumerate(skeleton.parents):
        place = translations[:, column[j]] if j in column else skeleton.offsets[j]
        if parent < 0:
            positions[:, j] = place
        else:
            base = matrices[:, parent]
            offset = base @ np.atleast_2d(place)[..., np.newaxis]
            positions[:, j] = positions[:, parent] + offset[..., 0]
            matrices[:, j] = base @ matrices[:, j]
    return positions, matrices


def scale_exponents(skeleton: Skeleton) -> npt.NDArray[np.int64]:
    """Return the exponent of two (J,) of each joint's constant world scale, rounded.

    Codecs and the shell of 3 cm use it to work in world units. A scale of 0 counts as 1.
    """
    sizes = np.abs(skeleton.scales)
    logs = np.log2(np.where(sizes > 0, sizes, 1.0)).mean(1)
    for j, parent in enumerate(skeleton.parents):
        if parent >= 0:
            logs[j] += logs[parent]
    limited = np.clip(np.rint(logs), -MAX_SCALE_EXPONENT, MAX_SCALE_EXPONENT)
    return np.asarray(limited, np.int64)


def end_positions(skeleton: Skeleton, positions: F64, world: F64) -> F64:
    """Return world positions (T, E, 3) of the end sites."""
    carriers = list(skeleton.end_site_joints)
    return positions[:, carriers] + rotations.rotate(world[:, carriers], skeleton.end_sites)


@dataclass(frozen=True)
class MotionError:
    """Position error between two motions, in meters.

    Attributes
    ----------
    max : float
        Largest displacement of joints, end sites and shell points; `max_error` bounds it.
    joint_max, joint_mean, joint_rms : float
        Of joint centers only.
    frames : array, shape (T,)
        Largest displacement of each frame.
    joints : array, shape (J,)
        Largest displacement at each joint.
    distances : array, shape (T, J)
        Displacement of each joint center.
    worst_frame, worst_joint : int
        Frame and joint of `max`.
    """

    max: float
    joint_max: float
    joint_mean: float
    joint_rms: float
    frames: F64
    joints: F64
    distances: F64
    worst_frame: int
    worst_joint: int


def measure_error(
    skeleton: Skeleton,
    a: tuple[F64, F64],
    b: tuple[F64, F64],
    translated_joints: Sequence[int],
    *,
    shell: float = SHELL_RADIUS_M,
) -> MotionError:
    """Measure the error between two motions, each (rotations, translations)."""
    if len(skeleton.roots) > 1:
        ones = np.ones((1, len(skeleton), 3))
        worlds = [
            forward_kinematics_scaled(skeleton, *pose, translated_joints, ones) for pose in (a, b)
        ]
        return measure_scaled_error(skeleton, *worlds, shell=shell)
    native = skeleton.to_core(translated_joints)
    errors, frames, joints, distances = _core.clip_errors(native, *a, *b, shell)
    largest, joint_max, joint_mean, joint_rms, worst_frame, worst_joint = errors
    return MotionError(
        largest,
        joint_max,
        joint_mean,
        joint_rms,
        frames,
        joints,
        distances,
        worst_frame,
        worst_joint,
    )


def measure_scaled_error(
    skeleton: Skeleton, a: tuple[F64, F64], b: tuple[F64, F64], *, shell: float = SHELL_RADIUS_M
) -> MotionError:
    """Measure the error between two results of `forward_kinematics_scaled`."""
    centers = np.linalg.norm(a[0] - b[0], axis=-1)
    return summarize_errors(scaled_displacements(skeleton, a, b, shell=shell), centers)


def summarize_errors(moved: F64, centers: F64) -> MotionError:
    """Return the error of displacements (T, J), of all points and of the centers of joints."""
    worst_frame, worst_joint = np.unravel_index(int(moved.argmax()), moved.shape)
    return MotionError(
        float(moved.max()),
        float(centers.max()),
        float(centers.mean()),
        float(np.sqrt(np.mean(centers**2))),
        moved.max(1),
        moved.max(0),
        centers,
        int(worst_frame),
        int(worst_joint),
    )


def scaled_displacements(
    skeleton: Skeleton, a: tuple[F64, F64], b: tuple[F64, F64], *, shell: float = SHELL_RADIUS_M
) -> F64:
    """Return the largest displacement (T, J) of each joint, its end sites and shell points."""
    center, turned = a[0] - b[0], a[1] - b[1]
    sizes = shell * np.exp2(-scale_exponents(skeleton).astype(np.float64))
    skin = center[..., np.newaxis] + sizes[:, np.newaxis, np.newaxis] * turned
    squares = np.einsum("tjik,tjik->tjk", skin, skin).max(-1)
    squares = np.maximum(squares, np.einsum("tji,tji->tj", center, center))
    for e, j in enumerate(skeleton.end_site_joints):
        moved = center[:, j] + turned[:, j] @ skeleton.end_sites[e]
        squares[:, j] = np.maximum(squares[:, j], np.einsum("ti,ti->t", moved, moved))
    return np.asarray(np.sqrt(squares))
