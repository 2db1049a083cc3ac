"""Find hinges in captured motion: from channels, and from joints that rotate about one axis.

A joint is a hinge if every rotation is its rest rotation followed by a rotation about one axis. The
axis is the principal direction of the rotation vectors from rest; the remainder across it must be
small in every frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mocpack.common.arrays import F64
from mocpack.model import rotations
from mocpack.model.hinges import Hinges, rotation_about
from mocpack.model.skeleton import Skeleton, channel_hinges

TOLERANCE_RAD = 2e-4  # rounding of decimals in files
MIN_SWING_RAD = 0.05  # a joint that rotates less has no reliable axis
AXIS_ROUNDING = 1e-5  # axes this close to a coordinate axis snap to it


@dataclass(frozen=True)
class FoundHinge:
    """A hinge found in the motion of one joint.

    Attributes
    ----------
    axis : array, shape (3,)
    rest : array, shape (4,)
        Rest rotation of the joint.
    off_axis : float
        Largest deviation from the axis in radians.
    """

    axis: F64
    rest: F64
    off_axis: float


@dataclass(frozen=True)
class FoundHinges:
    """A skeleton with the hinges found in a motion.

    Attributes
    ----------
    skeleton : Skeleton
    found : mapping of str to float
        Joints found by their motion alone, with their largest deviation in radians.
    left : mapping of str to float
        Joints that rotate about other axes than their channels, with the deviation in radians.
    """

    skeleton: Skeleton
    found: Mapping[str, float]
    left: Mapping[str, float]


def find_hinges(
    skeleton: Skeleton,
    local: F64,
    translations: F64,
    translated_joints: Sequence[int],
    *,
    detect: bool,
    tolerance: float = TOLERANCE_RAD,
) -> FoundHinges:
    """Return the hinges of a motion: existing, from channels and, with `detect`, from poses.

    Parameters
    ----------
    local : array, shape (T, J, 4)
    translations : array, shape (T, M, 3)
    """
    hinges, left = skeleton.hinges, dict[str, float]()
    if hinges is None and (said := channel_hinges(skeleton)) is not None:
        hinged = replace(skeleton, hinges=said)
        off_axis = hinged.hinge_angles(local, translations, translated_joints).off_axis.max(axis=0)
        kept = np.flatnonzero(off_axis <= tolerance)
        left = {said.names[h]: float(off_axis[h]) for h in np.flatnonzero(off_axis > tolerance)}
        hinges = said.rows(kept.tolist(), [said.joints[h] for h in kept])
    if not detect:
        return FoundHinges(replace(skeleton, hinges=hinges), {}, left)
    known = set() if hinges is None else set(hinges.joints)
    rest, detected = skeleton.rest.copy(), dict[int, FoundHinge]()
    for j in range(1, len(skeleton)):
        one = None if j in known else find_hinge(local[:, j], rest[j], tolerance)
        if one is not None:
            detected[j], rest[j] = one, one.rest
    if not detected:
        return FoundHinges(replace(skeleton, hinges=hinges), {}, left)
    names = [skeleton.unique_names[j] for j in detected]
    more = Hinges(
        tuple(detected), np.array([one.axis for one in detected.values()]), names=tuple(names)
    )
    together = more if hinges is None else hinges.concatenate(more)
    offs = dict(zip(names, (one.off_axis for one in detected.values()), strict=True))
    return FoundHinges(replace(skeleton, rest=rest, hinges=together), offs, left)


def find_hinge(local: F64, rest: F64, tolerance: float = TOLERANCE_RAD) -> FoundHinge | None:
    """Return the hinge that fits rotations (T, 4) of a joint; None if none fits.

    A rest rotation (4,) is kept; only the identity may be replaced by a better one.
    """
    own = _fit_axis(local, rest)
    if own is not None and own.off_axis <= tolerance:
        return own
    if not (rest == rotations.IDENTITY).all():
        return None
    middle = rotations.normalize(local.sum(axis=0))
    fit = _fit_axis(local, middle)
    return fit if fit is not None and fit.off_axis <= tolerance else None


def _fit_axis(local: F64, rest: F64) -> FoundHinge | None:
    """Return the best axis for this rest rotation; None if the joint hardly rotates."""
    turned = rotations.multiply(rotations.conjugate(rest), local)
    vectors = rotations.as_rotvec(turned)
    if not np.linalg.norm(vectors - vectors[0], axis=1).max(initial=0.0) > MIN_SWING_RAD:
        return None
    # not centered on the mean: the axis must pass through rest
    axis = np.linalg.eigh(vectors.T @ vectors)[1][:, -1]
    axis = _round_axis(axis * (1.0 if axis[np.abs(axis).argmax()] > 0 else -1.0))
    angles = 2 * np.arctan2(turned[:, :3] @ axis, turned[:, 3])
    off_axis = rotations.angle_between(rotation_about(axis, angles), turned)
    return FoundHinge(axis, rest, float(off_axis.max()))


def _round_axis(axis: F64) -> F64:
    """Return the axis, rounded to a coordinate axis if it is very close."""
    whole = np.round(axis)
    near = np.abs(axis - whole).max() < AXIS_ROUNDING and np.abs(whole).sum() == 1
    return np.asarray(whole + 0.0 if near else axis / np.linalg.norm(axis))
