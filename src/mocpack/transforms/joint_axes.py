"""Rotations as few numbers: vectors about a joint's mean, in its principal axes, on its surface.

A knee is told by one number, an ankle by two, most joints by three; one that turns right round is
given as a quaternion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack import rotations
from mocpack.clip import Clip

F64 = npt.NDArray[np.float64]

FARTHEST_TURN = 2.4  # radians from the mean up to which a rotation vector behaves
STILL = 1e-7  # radians or metres of movement that count as none
ONE_AXIS = 2e-4  # radians about the two other axes that a joint of one axis may turn
TWO_AXES = 5e-4  # radians off its surface that a joint of two axes may turn
STEEPEST = 100.0  # coefficient of a surface; larger ones follow noise, and blow it up
FEW_FRAMES = 40  # too few to tell a surface from chance


@dataclass(frozen=True, eq=False)
class Joint:
    """How one joint's rotation is written.

    Attributes
    ----------
    first, count : int
        Its channels; 4 are a quaternion, 3 a rotation vector, 2 lie on a surface, 1 on a line,
        0 is no movement.
    mean, turn : array, shape (4,)
        Mean rotation, and the turn to its principal axes.
    basis : array, shape (3, 3)
        Those axes as columns.
    centre : array, shape (3,)
        Of the rotation vectors about the mean.
    surface : array, shape (10,)
        Third coordinate as a cubic polynomial of the first two, where count is 2.
    """

    first: int
    count: int
    mean: F64
    turn: F64
    basis: F64
    centre: F64
    surface: F64


@dataclass(frozen=True, eq=False)
class Axes:
    """How a clip's channels are laid out, and what one step of each is.

    Channels are, joint after joint, those of its translation (if it moves) and its rotation.
    """

    joints: tuple[Joint, ...]
    places: tuple[int, ...]
    """First channel of the translation of each translated joint, or -1 where it is still."""
    origins: F64
    """Translation (M, 3) that channels count from."""
    channel_count: int


def find_axes(clip: Clip) -> Axes:
    """Choose mean, axes and number of channels of every joint."""
    joints, places, count = [], [], 0
    for j in range(len(clip.skeleton)):
        if j in clip.translated_joints:
            track = clip.translations[:, clip.translated_joints.index(j)]
            moves = np.ptp(track, axis=0).max() > STILL
            places.append(count if moves else -1)
            count += 3 if moves else 0
        joint = _find_joint(clip.rotations[:, j], count)
        joints.append(joint)
        count += joint.count
    return Axes(tuple(joints), tuple(places), _single(clip.translations.mean(axis=0)), count)


def _find_joint(turns: F64, first: int) -> Joint:
    mean_turn = stored_turn(_mean_rotation(turns))
    mean = rotations.from_rotvec(mean_turn)
    vectors = rotations.as_rotvec(rotations.multiply(rotations.conjugate(mean), turns))
    if np.linalg.norm(vectors, axis=1).max() > FARTHEST_TURN:
        return joint_of(first, 4, mean_turn, np.zeros(3), np.zeros(3), np.zeros(10))
    centre = _single(vectors.mean(axis=0))
    turn = _principal_turn(vectors - centre)
    along = (vectors - centre) @ rotations.as_matrix(rotations.from_rotvec(turn))
    count, surface = _freedom(along)
    return joint_of(first, count, mean_turn, turn, centre, surface)


def joint_of(first: int, count: int, mean: F64, turn: F64, centre: F64, surface: F64) -> Joint:
    """Return the joint that a file tells: `mean` and `turn` are rotation vectors there."""
    axes = rotations.from_rotvec(turn)
    basis = rotations.as_matrix(axes)
    return Joint(first, count, rotations.from_rotvec(mean), axes, basis, centre, surface)


def stored_turn(q: F64) -> F64:
    """Return a rotation as the rotation vector that a file stores."""
    return _single(rotations.as_rotvec(q))


def _principal_turn(vectors: F64) -> F64:
    """Return the turn to the principal axes of vectors (T, 3), as a file stores it."""
    basis = np.linalg.svd(vectors, full_matrices=False)[2].T
    if basis.shape != (3, 3):  # fewer than three frames
        return np.zeros(3)
    basis = basis * np.sign(np.linalg.det(basis))
    return stored_turn(rotations.from_matrix(basis))


def _freedom(along: F64) -> tuple[int, F64]:
    """Return how many channels tell the vectors (T, 3), and the surface that they lie on."""
    none = np.zeros(10)
    if np.abs(along).max() < STILL:
        return 0, none
    if np.abs(along[:, 1:]).max() < ONE_AXIS:
        return 1, none
    if len(along) > FEW_FRAMES:
        terms = surface_terms(along[:, 0], along[:, 1])
        surface = _single(np.linalg.lstsq(terms, along[:, 2], rcond=None)[0])
        steep = np.abs(surface).max() > STEEPEST
        if not steep and np.abs(terms @ surface - along[:, 2]).max() < TWO_AXES:
            return 2, surface
    return 3, none


def _mean_rotation(turns: F64) -> F64:
    """Return the rotation nearest to all: the principal eigenvector of their outer products."""
    return np.asarray(np.linalg.eigh(np.einsum("ti,tj->ij", turns, turns))[1][:, -1])


def _single(values: npt.ArrayLike) -> F64:
    """Round to what a file stores: float32."""
    return np.asarray(values, np.float32).astype(np.float64)


def surface_terms(a: F64, b: F64) -> F64:
    one = np.ones_like(a)
    return np.stack([one, a, b, a * a, a * b, b * b, a**3, a * a * b, a * b * b, b**3], axis=-1)


def surface_slopes(a: F64, b: F64) -> tuple[F64, F64]:
    one, zero = np.ones_like(a), np.zeros_like(a)
    by_a = [zero, one, zero, 2 * a, b, zero, 3 * a * a, 2 * a * b, b * b, zero]
    by_b = [zero, zero, one, zero, a, 2 * b, zero, a * a, 2 * a * b, 3 * b * b]
    return np.stack(by_a, axis=-1), np.stack(by_b, axis=-1)


def _coordinates(joint: Joint, channels: F64) -> F64:
    """Return the three coordinates (T, 3) of one to three channels."""
    full = np.zeros((len(channels), 3))
    full[:, : joint.count] = channels
    if joint.count == 2:
        full[:, 2] = surface_terms(channels[:, 0], channels[:, 1]) @ joint.surface
    return full


def joint_rotations(joint: Joint, channels: F64) -> F64:
    """Return the local rotations (T, 4) that a joint's channels stand for."""
    if joint.count == 4:
        return rotations.multiply(joint.mean, rotations.normalize(channels))
    vectors = _coordinates(joint, channels) @ joint.basis.T + joint.centre
    return rotations.multiply(joint.mean, rotations.from_rotvec(vectors))
