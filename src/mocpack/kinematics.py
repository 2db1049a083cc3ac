"""From local rotations to the world: forward kinematics, and the promised error of two motions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack import _core, rotations
from mocpack.skeleton import Skeleton

F64 = npt.NDArray[np.float64]

SHELL = 0.03  # metres: how far from the joint the skin is taken to be


def forward_kinematics(
    skeleton: Skeleton, local: F64, translations: F64, translated_joints: Sequence[int]
) -> tuple[F64, F64]:
    """Return world positions (T, J, 3) in metres and world rotations (T, J, 4).

    Parameters
    ----------
    local : array, shape (T, J, 4)
    translations : array, shape (T, M, 3)
        In metres; replaces the offset of each of the M `translated_joints`.
    """
    native = skeleton.native(translated_joints)
    positions, world = _core.forward_kinematics(native, local, translations)
    return positions, world


def end_positions(skeleton: Skeleton, positions: F64, world: F64) -> F64:
    """Return world positions (T, E, 3) of the end sites."""
    carriers = list(skeleton.end_site_joints)
    return positions[:, carriers] + rotations.rotate(world[:, carriers], skeleton.end_sites)


@dataclass(frozen=True)
class PromisedError:
    """How far one motion strays from another, in metres.

    Attributes
    ----------
    max : float
        Largest displacement of joints, end sites and shell points: what `max_error` bounds.
    joint_max, joint_mean, joint_rms : float
        Over joint centres alone.
    frames : array, shape (T,)
        Largest displacement of each frame.
    joints : array, shape (J,)
        Largest displacement at each joint.
    worst_frame, worst_joint : int
        Where `max` is.
    """

    max: float
    joint_max: float
    joint_mean: float
    joint_rms: float
    frames: F64
    joints: F64
    worst_frame: int
    worst_joint: int


def promised_error(
    skeleton: Skeleton,
    a: tuple[F64, F64],
    b: tuple[F64, F64],
    translated_joints: Sequence[int],
    *,
    shell: float = SHELL,
) -> PromisedError:
    """Measure two motions, each (rotations, translations), without writing their points out."""
    native = skeleton.native(translated_joints)
    found, frames, joints = _core.clip_errors(native, *a, *b, shell)
    largest, joint_max, joint_mean, joint_rms, worst_frame, worst_joint = found
    return PromisedError(
        largest, joint_max, joint_mean, joint_rms, frames, joints, worst_frame, worst_joint
    )
