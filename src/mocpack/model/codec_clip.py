"""Convert clips to the form that codecs encode, and back.

Codecs encode rotations and translations of a skeleton with one root and without scales, at even
times. `drop_take_data` removes everything else, `restore_take_data` adds it to the decoded clip. A
clip without take data is returned as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TypeVar

import numpy as np

from mocpack.common.arrays import F64
from mocpack.errors import InvalidClipError, UnsupportedClipError
from mocpack.model import rotations
from mocpack.model.clip import AnyClip, AnyHeader, Clip, ClipHeader
from mocpack.model.kinematics import add_origin, scale_exponents
from mocpack.model.skeleton import Skeleton
from mocpack.model.take_data import TakeData

C = TypeVar("C", bound=AnyClip)
H = TypeVar("H", bound=AnyHeader)

CODEC_FIELDS = ("skeleton", "frame_count", "frame_time", "translated_joints", "unit", "metadata")
# values of all other header fields in a clip for codecs
CODEC_DEFAULTS = {f.name: f.default for f in fields(ClipHeader) if f.name not in CODEC_FIELDS}


def codec_header(header: H) -> H:
    """Return the header of the clip that the codec encodes."""
    if not isinstance(header, ClipHeader):
        return header
    skeleton = _codec_skeleton(header.skeleton)
    if skeleton is header.skeleton and CODEC_DEFAULTS.items() <= vars(header).items():
        return header
    shift = len(skeleton) - len(header.skeleton)
    translated = tuple(j + shift for j in header.translated_joints)
    kept = (header.frame_count, header.frame_time, translated, header.unit, header.metadata)
    return type(header)(skeleton, *kept)


def drop_take_data(clip: C) -> C:
    """Return the clip that the codec encodes.

    Raises
    ------
    UnsupportedClipError
        If scales make the skeleton too large.
    """
    if not isinstance(clip, Clip):
        return clip
    try:
        header = codec_header(clip.header)
        if header is clip.header and not clip.take_data:
            return clip
        several = len(clip.skeleton.roots) > 1
        turns = add_origin(clip.rotations) if several else clip.rotations
        places = clip.translations * np.exp2(_scale_steps(clip.header))[:, np.newaxis]
        return type(clip)(header, turns, places, clip.channels)
    except InvalidClipError as error:
        raise UnsupportedClipError(
            f"clip is too large after its scales are applied: {error}"
        ) from error


def restore_take_data(
    decoded: C, header: AnyHeader, take_data: TakeData, joints: Sequence[int] | None = None
) -> C:
    """Return a decoded clip with its own header and take data, or some joints and their ancestors.

    `header` and `take_data` must be those of the frames in `found`.
    """
    if header is decoded.header and not take_data:
        return decoded
    if not isinstance(decoded, Clip) or not isinstance(header, ClipHeader):
        return decoded
    kept = list(range(len(header.skeleton)))
    target = header
    if joints is not None:
        kept = header.skeleton.with_ancestors(joints)
        target = header.joints(joints)
        scaled = [s for s, j in enumerate(header.scaled_joints) if j in kept]
        take_data = take_data.joints(kept, scaled)
    moving = [m for m, j in enumerate(header.translated_joints) if j in kept]
    turns, places = decoded.rotations, decoded.translations
    if header.skeleton.is_scaled:
        places = places * np.exp2(-_scale_steps(header)[moving])[:, np.newaxis]
    if len(header.skeleton.roots) > 1:
        turns, places = _remove_origin(turns, places, target)
    if target.frame_count != len(turns):
        target = replace(target, frame_count=len(turns))
    return type(decoded)(target, turns, places, decoded.channels, take_data)


def _codec_skeleton(skeleton: Skeleton) -> Skeleton:
    tree = skeleton.as_single_tree
    drops_rest = skeleton.has_rest and not skeleton.hinges
    if tree.unique_names == tree.names and not (drops_rest or skeleton.is_scaled):
        return tree
    return replace(
        tree.resize(np.exp2(scale_exponents(tree).astype(np.float64))),
        names=tree.unique_names,
        # hinges rotate from rest; without hinges, codecs ignore rest rotations
        rest=tree.rest if tree.hinges else np.zeros((0, 4)),
    )


def _scale_steps(header: ClipHeader) -> F64:
    """Return the exponent of two (M,) that scales each translation for the codec."""
    if not header.skeleton.is_scaled:
        return np.zeros(len(header.translated_joints))
    exponents = scale_exponents(header.skeleton).astype(np.float64)
    parents = [header.skeleton.parents[j] for j in header.translated_joints]
    return np.array([exponents[parent] if parent >= 0 else 0.0 for parent in parents])


def _remove_origin(turns: F64, places: F64, header: ClipHeader) -> tuple[F64, F64]:
    """Remove the origin joint; its decoded rotation is applied to the roots."""
    origin, turns = turns[:, 0], turns[:, 1:]
    if (origin == rotations.IDENTITY).all():
        return turns, places
    turns, places = turns.copy(), places.copy()
    roots = set(header.skeleton.roots)
    for j in roots:
        turns[:, j] = rotations.multiply(origin, turns[:, j])
    for m, j in enumerate(header.translated_joints):
        if j in roots:
            places[:, m] = rotations.rotate(origin, places[:, m])
    return turns, places
