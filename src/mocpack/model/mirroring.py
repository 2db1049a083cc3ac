"""Mirror motions: find left and right joints, and reflect poses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mocpack.common.arrays import F64, I64
from mocpack.errors import UsageError
from mocpack.model import rotations
from mocpack.model.skeleton import Skeleton

# `lossless` predicts joints from their mirror images: changing these pairs changes its bitstream
SIDES = (("Left", "Right"), ("left", "right"), ("LEFT", "RIGHT"), ("L", "R"), ("l", "r"))
MAX_ASYMMETRY = 0.25  # default tolerance: difference of two mirrored bones over their length
SMALL_BONE_RATIO = 0.02  # difference allowed for any bone, relative to the body size


def find_mirrored_joints(names: Sequence[str]) -> list[int]:
    """Return the index of each joint's mirror image, or -1.

    >>> find_mirrored_joints(["Hips", "LeftArm", "RightArm", "Thumb_L", "Thumb_R"])
    [-1, 2, 1, 4, 3]
    """
    index = {name: j for j, name in enumerate(names)}
    return [next((index[n] for n in _swap_side_names(name) if n in index), -1) for name in names]


def _swap_side_names(name: str) -> list[str]:
    """Return candidate names with the side exchanged, at the start, the end, or anywhere."""
    swapped = []
    for one, other in (*SIDES, *((b, a) for a, b in SIDES)):
        if name.startswith(one):
            swapped.append(other + name[len(one) :])
        if name.endswith(one):
            swapped.append(name[: -len(one)] + other)
        if len(one) > 1 and one in name:
            swapped.append(name.replace(one, other, 1))
    return swapped


def mirror_partners(skeleton: Skeleton, pairs: Sequence[tuple[str | int, str | int]] | None) -> I64:
    """Return the mirror partner (J,) of each joint; a joint without one maps to itself.

    Pairs come from `pairs` or else from names. The parents of partners must be partners too.
    """
    partners = np.arange(len(skeleton))
    if pairs is None:
        named = np.array(find_mirrored_joints(skeleton.names))
        mutual = (named >= 0) & (named[named] == partners)
        partners = np.where(mutual, named, partners)
    for one, other in pairs or ():
        a, b = skeleton.indices([one, other])
        partners[a], partners[b] = b, a
    if (partners == np.arange(len(skeleton))).all():
        raise UsageError(
            "no joint names form left-right pairs (LeftArm and RightArm, arm_l and arm_r); "
            "pass pairs=[(left, right), ...]"
        )
    for j, parent in enumerate(skeleton.parents):
        if parent >= 0 and skeleton.parents[partners[j]] != partners[parent]:
            raise UsageError(
                f"joints {skeleton.names[j]!r} and {skeleton.names[partners[j]]!r} are paired, but "
                "their parents are not; pass pairs=[(left, right), ...]"
            )
    return partners


def rest_world(skeleton: Skeleton) -> tuple[F64, F64]:
    """Return world positions (J, 3) and rotations (J, 4) of the rest pose."""
    places, turns = skeleton.offsets.copy(), skeleton.rest.copy()
    for j, parent in enumerate(skeleton.parents):
        if parent >= 0:
            places[j] = places[parent] + rotations.rotate(turns[parent], skeleton.offsets[j])
            turns[j] = rotations.multiply(turns[parent], turns[j])
    return places, turns


def find_side_axis(places: F64, partner: I64) -> int:
    """Return the axis (0, 1, 2) that separates left and right positions (J, 3) best."""
    apart = np.abs(places - places[partner]).sum(0)
    return int(np.argmax(apart))


def mirror_factors(
    skeleton: Skeleton, partner: I64, axis: int, tolerance: float = MAX_ASYMMETRY
) -> tuple[F64, F64]:
    """Return the quaternions to multiply on the left and right of a mirrored rotation, (J, 4) each.

    The mirrored rotation of a joint is left · reflect(rotation of its partner) · right.
    """
    _, rest = rest_world(skeleton)
    _check_symmetry(skeleton, rest, partner, axis, tolerance)
    parent_rotations = _parent_rotations(skeleton, rest)
    turn, back = rotations.multiply, rotations.conjugate
    before = turn(back(parent_rotations), _reflect_rotation(parent_rotations[partner], axis))
    return before, turn(_reflect_rotation(back(rest[partner]), axis), rest)


def _parent_rotations(skeleton: Skeleton, rest: F64) -> F64:
    """Return the world rotation (J, 4) of each joint's parent at rest."""
    above = np.array(skeleton.parents)
    return np.where((above >= 0)[:, np.newaxis], rest[above], rotations.IDENTITY)


def mirror_pose(
    skeleton: Skeleton,
    local: F64,
    translations: F64,
    translated_joints: Sequence[int],
    partner: I64,
    axis: int,
    tolerance: float = MAX_ASYMMETRY,
) -> tuple[F64, F64]:
    """Return rotations (T, J, 4) and translations (T, M, 3) mirrored along `axis`.

    The mirror plane goes through the origin. Rotations are mirrored relative to rest, so local
    frames need not be mirror images, but the bones of the rest pose must be.
    """
    left, right = mirror_factors(skeleton, partner, axis, tolerance)
    reflected = _reflect_rotation(local[:, partner], axis)
    turned = rotations.multiply(rotations.multiply(left, reflected), right)
    parents = _parent_rotations(skeleton, rest_world(skeleton)[1])
    return turned, _mirror_positions(
        skeleton, translations, translated_joints, partner, axis, parents
    )


def _mirror_positions(
    skeleton: Skeleton,
    translations: F64,
    translated_joints: Sequence[int],
    partner: I64,
    axis: int,
    before: F64,
) -> F64:
    check_translated(skeleton, translated_joints, partner)
    column = {joint: m for m, joint in enumerate(translated_joints)}
    places = np.empty_like(translations)
    for j, m in column.items():
        other = int(partner[j])
        moved, own = translations[:, column[other]], 0.0
        if skeleton.parents[j] >= 0:
            moved, own = moved - skeleton.offsets[other], skeleton.offsets[j]
        straight = _reflect(rotations.rotate(before[other], moved), axis)
        places[:, m] = own + rotations.rotate(rotations.conjugate(before[j]), straight)
    return places


def check_translated(skeleton: Skeleton, translated_joints: Sequence[int], partner: I64) -> None:
    """Raise `UsageError` if a joint is translated and its mirror image is not."""
    for j in translated_joints:
        if partner[j] not in translated_joints:
            raise UsageError(
                f"cannot mirror: joint {skeleton.names[j]!r} is translated, but its mirror image "
                f"{skeleton.names[partner[j]]!r} is not"
            )


def _check_symmetry(
    skeleton: Skeleton, rest: F64, partner: I64, axis: int, tolerance: float
) -> None:
    """Raise `UsageError` if the bones of partners are not mirror images at rest."""
    reach = float(np.ptp(rest_world(skeleton)[0], axis=0).max())
    for j, parent in enumerate(skeleton.parents):
        if parent < 0:
            continue
        other = int(partner[j])
        own = rotations.rotate(rest[parent], skeleton.offsets[j])
        seen = rotations.rotate(rest[skeleton.parents[other]], skeleton.offsets[other])
        apart = float(np.linalg.norm(own - _reflect(seen, axis)))
        allowed = max(tolerance * float(np.linalg.norm(own)), SMALL_BONE_RATIO * reach)
        if other != j and apart > allowed:
            raise UsageError(
                f"the bones of {skeleton.names[j]!r} and {skeleton.names[other]!r} are not mirror "
                f"images at rest: they differ by {apart:.3g} m, at most {allowed:.3g} m is allowed "
                f"(tolerance {tolerance:g})"
            )


def _reflect(places: F64, axis: int) -> F64:
    return np.asarray(places * np.where(np.arange(3) == axis, -1.0, 1.0))


def _reflect_rotation(turns: F64, axis: int) -> F64:
    """Return mirrored rotations: about the mirrored axis, in the opposite direction."""
    signs = np.where(np.arange(4) == axis, 1.0, -1.0)
    signs[3] = 1.0
    return np.asarray(turns * signs)
