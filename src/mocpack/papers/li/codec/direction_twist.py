"""The converted format of a rotation: two angles for a bone's direction, one for its twist.

After "Compression of Human Motion Animation Using the Reduction of Interjoint Correlation" (Li,
Okuda, Takahashi 2008), section 3.2, with two freedoms that keep every motion smooth and exact:
the pole of the spherical angles and the pose from which the twist is counted are chosen per bone,
away from where the bone goes, and the angles follow the bone through a pole instead of jumping.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack.common.arrays import F64, U8
from mocpack.model import rotations

CLEAR = -0.8  # cosine of the smallest angle between a bone and the direction without defined twist
AT_POLE = 1e-13  # sine of the polar angle below which the azimuth is undefined
_TURN: F64 = np.sqrt(0.5) * np.concatenate([np.eye(3), -np.eye(3)])[[0, 3, 1, 4, 2, 5]]
REFERENCES: F64 = np.concatenate(
    [
        [[0.0, 0.0, 0.0, 1.0]],
        np.column_stack([_TURN, np.full(6, np.sqrt(0.5))]),
        np.eye(4)[:3],
    ]
)
"""Poses from which twist may be counted: none, quarter turns about ±x, ±y, ±z, half turns."""


@dataclass(frozen=True, eq=False)
class AngleFrame:
    """The reference directions of each bone's angles.

    Parameters
    ----------
    axes : array, shape (B, 3)
        Unit direction of each bone in its own frame.
    poles : array of uint8, shape (B,)
        World axis (0 x, 1 y, 2 z) from which the polar angle is measured.
    references : array of uint8, shape (B,)
        Index into `REFERENCES` of the pose without twist.
    """

    axes: F64
    poles: U8
    references: U8


def choose_frame(world: F64, axes: F64) -> AngleFrame:
    """Choose poles and references that the bones of world rotations (T, B, 4) stay away from."""
    directions = rotations.rotate(world, axes)
    poles = np.abs(directions).max(axis=0).argmin(axis=-1)
    starts = rotations.rotate(REFERENCES[:, np.newaxis], axes)  # (R, B, 3)
    nearest = np.einsum("tbi,rbi->rtb", directions, starts).min(axis=1)
    # prefer the first that is far enough, so that constant bones of many clips agree; else the best
    references = np.where(
        (nearest > CLEAR).any(axis=0), (nearest > CLEAR).argmax(axis=0), nearest.argmax(axis=0)
    )
    return AngleFrame(axes, poles.astype(np.uint8), references.astype(np.uint8))


def to_angles(world: F64, frame: AngleFrame) -> F64:
    """Return polar angle, azimuth and twist (T, B, 3) of world rotations (T, B, 4).

    φ, ϕ and ψ of equations (5) and (6).

    All three are continuous in time. `from_angles` inverts them up to rounding, for any motion.
    """
    angles = np.empty((*world.shape[:2], 3))
    angles[..., :2] = _spherical(rotations.rotate(world, frame.axes), frame.poles)
    # twist is relative to the decoded direction, which compensates for its rounding
    swing = _swing(directions(angles[..., :2], frame.poles), frame)
    turned = rotations.multiply(rotations.conjugate(swing), world)
    along = np.sum(turned[..., :3] * frame.axes, axis=-1)
    angles[..., 2] = np.unwrap(2 * np.arctan2(along, turned[..., 3]), axis=0)
    return angles


def from_angles(angles: F64, frame: AngleFrame) -> F64:
    """Return world rotations (T, B, 4) of polar angle, azimuth and twist (T, B, 3).

    Equation (7): A · R_cross.
    """
    half = 0.5 * angles[..., 2:]
    twist = np.concatenate([np.sin(half) * frame.axes, np.cos(half)], axis=-1)
    return rotations.multiply(_swing(directions(angles[..., :2], frame.poles), frame), twist)


def directions(angles: F64, poles: U8) -> F64:
    """Return unit vectors (T, B, 3) of polar angles and azimuths (T, B, 2): equation (5)."""
    polar, azimuth = angles[..., 0], angles[..., 1]
    sine = np.sin(polar)
    turned = np.stack([sine * np.cos(azimuth), sine * np.sin(azimuth), np.cos(polar)], axis=-1)
    return _from_pole(turned, poles)


def shortest_turn(start: F64, stop: F64) -> F64:
    """Return the smallest rotation (..., 4) that takes unit vectors `start` to `stop`."""
    whole = 1 + np.sum(start * stop, axis=-1, keepdims=True)
    turn = np.concatenate([rotations.cross(start, stop), whole], axis=-1)
    back = whole < 1e-15
    if not back.any():
        return rotations.normalize(turn)
    # opposite vectors: any half turn about a perpendicular axis
    smallest = np.abs(start) == np.abs(start).min(axis=-1, keepdims=True)
    side = rotations.cross(start, smallest.astype(np.float64))
    half_turn = np.concatenate([side, np.zeros_like(whole)], axis=-1)
    return rotations.normalize(np.where(back, half_turn, turn))


def _swing(directions_: F64, frame: AngleFrame) -> F64:
    """Return the rotation without twist whose bone has this direction: R_cross of equation (7)."""
    reference = REFERENCES[frame.references]
    start = rotations.rotate(reference, frame.axes)
    turn = shortest_turn(np.broadcast_to(start, directions_.shape), directions_)
    return rotations.multiply(turn, reference)


def _spherical(directions_: F64, poles: U8) -> F64:
    """Return polar angles and azimuths (T, B, 2), on the branch nearest to the frame before."""
    turned = _to_pole(directions_, poles)
    x, y, z = turned[..., 0], turned[..., 1], turned[..., 2]
    sine = np.hypot(x, y)
    polar, azimuth = np.arctan2(sine, z), _hold_last_known(np.arctan2(y, x), sine > AT_POLE)
    # (θ, φ) and (-θ, φ + π) are the same direction; from frame to frame, keep or change branch,
    # whichever turns less. The choice depends on two frames only, so it adds up
    turn = _wrapped(np.diff(azimuth, axis=0))
    keep = np.diff(polar, axis=0) ** 2 + turn**2
    change = _wrapped(polar[1:] + polar[:-1]) ** 2 + _wrapped(turn + np.pi) ** 2
    other = np.zeros(polar.shape, bool)
    other[1:] = np.cumsum(change < keep, axis=0) % 2 == 1
    both = np.stack([np.where(other, -polar, polar), azimuth + np.pi * other], axis=-1)
    return np.unwrap(both, axis=0)


def _hold_last_known(azimuth: F64, known: npt.NDArray[np.bool_]) -> F64:
    """Return azimuths (T, B) with each unknown one replaced by the last known before it."""
    rows = np.where(known, np.arange(len(azimuth))[:, np.newaxis], 0)
    return np.take_along_axis(azimuth, np.maximum.accumulate(rows, axis=0), axis=0)


def _wrapped(angle: F64) -> F64:
    return angle - 2 * np.pi * np.round(angle / (2 * np.pi))


def _to_pole(vectors: F64, poles: U8) -> F64:
    """Rotate the order of the coordinates so that the pole is the last."""
    order = (np.arange(1, 4) + poles[:, np.newaxis].astype(int)) % 3
    return np.take_along_axis(vectors, np.broadcast_to(order, vectors.shape), axis=-1)


def _from_pole(vectors: F64, poles: U8) -> F64:
    order = (np.arange(3) - poles[:, np.newaxis].astype(int) - 1) % 3
    return np.take_along_axis(vectors, np.broadcast_to(order, vectors.shape), axis=-1)
