"""Bounds by purpose, for those who do not think in millimetres.

The bounds are for bodies of a person's size. Of one that is less than half or more than twice as
large, a bound is the same share of its size: what is fine on a person would be coarse on a hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from mocpack.clip import AnyClip, Clip
from mocpack.errors import UsageError
from mocpack.skeleton import longest_bone_path
from mocpack.units import Length, mm

PRESETS: Mapping[str, Length] = MappingProxyType(
    {
        "archive": mm(0.1),
        "edit": mm(0.5),
        "train": mm(1),
        "game": mm(3),
        "web": mm(10),
    }
)
PERSON_SIZE_M = 2.1  # metres from a toe to a fingertip, through the bones
MAX_SIZE_RATIO = 2.0  # times larger or smaller: no longer a person's size


def preset_bound(preset: str, clip: AnyClip) -> Length:
    """Return the largest error that a preset allows on this clip.

    >>> from mocpack.testing import walk
    >>> preset_bound("game", walk(0.1))
    Length(0.003)
    """
    check_preset(preset)
    bound, size = PRESETS[preset], body_size(clip)
    if size == 0 or PERSON_SIZE_M / MAX_SIZE_RATIO <= size <= PERSON_SIZE_M * MAX_SIZE_RATIO:
        return bound
    return Length(bound * size / PERSON_SIZE_M)


def check_preset(preset: str) -> None:
    """Complain about a preset that there is not."""
    if not isinstance(preset, str) or preset not in PRESETS:
        raise UsageError(f"preset must be one of {', '.join(PRESETS)}, got {preset!r}")


def describe_presets() -> str:
    """Return all presets with their bounds, as help texts say them."""
    return ", ".join(f"{name} {1000 * bound:g}mm" for name, bound in PRESETS.items())


def body_size(clip: AnyClip) -> float:
    """Return metres through the bones from one end to another, or across a mesh's first frame."""
    if not isinstance(clip, Clip):
        points = clip.vertices[0]
        return float(np.linalg.norm(np.ptp(points, axis=0)))
    skeleton = clip.skeleton
    offsets = np.array(skeleton.offsets)
    offsets[list(clip.translated_joints)] = clip.translations[0]
    lengths = np.linalg.norm(offsets, axis=1)
    # where a body stands in the world is not a bone, be it the root that says so or its only child
    lengths[0] = 0.0
    if skeleton.parents.count(0) == 1 and 1 in clip.translated_joints:
        lengths[1] = 0.0
    ends = np.linalg.norm(skeleton.end_sites, axis=1)
    return longest_bone_path(skeleton.parents, lengths, skeleton.end_site_joints, ends)
