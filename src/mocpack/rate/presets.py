"""Presets: maximum errors by purpose.

They are meant for bodies of human size. For a body less than half or more than twice as large, the
error is scaled with its size.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from mocpack.common.units import Length, mm
from mocpack.errors import UsageError
from mocpack.model.clip import AnyClip, Clip
from mocpack.model.skeleton import longest_bone_path

PRESETS: Mapping[str, Length] = MappingProxyType(
    {
        "archive": mm(0.1),
        "edit": mm(0.5),
        "train": mm(1),
        "game": mm(3),
        "web": mm(10),
    }
)
PERSON_SIZE_M = 2.1  # from toe to fingertip, along the bones
MAX_SIZE_RATIO = 2.0  # bodies beyond this ratio are not of human size


def preset_bound(preset: str, clip: AnyClip) -> Length:
    """Return the maximum error of a preset for a clip.

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
    """Raise `UsageError` for an unknown preset."""
    if not isinstance(preset, str) or preset not in PRESETS:
        raise UsageError(f"preset must be one of {', '.join(PRESETS)}, got {preset!r}")


def describe_presets() -> str:
    """Return all presets with their maximum errors, for help texts."""
    return ", ".join(f"{name} {1000 * bound:g}mm" for name, bound in PRESETS.items())


def body_size(clip: AnyClip) -> float:
    """Return the longest path along the bones in meters, or the diagonal of a mesh in frame 0."""
    if not isinstance(clip, Clip):
        points = clip.vertices[0]
        return float(np.linalg.norm(np.ptp(points, axis=0)))
    pose = clip.frames(0, 1).bake_scales() if clip.header.is_scaled else clip
    skeleton, moved = pose.skeleton, list(pose.translated_joints)
    offsets = np.array(skeleton.offsets)
    offsets[moved] = pose.translations[0]
    ends = skeleton.end_site_joints, skeleton.end_sites
    return longest_bone_path(skeleton.parents, offsets, *ends, moved)
