"""Adapt any clip to what Acclaim files can hold, without moving a joint.

In Acclaim files, all children of a bone start at its end, and the root bone has length 0. Helper
bones without degrees of freedom connect children at other positions, as in CMU's skeletons.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from mocpack.common.arrays import F64
from mocpack.errors import UnsupportedClipError
from mocpack.io.asf import INCH_M, ROOT, Asf, Bone, bone_vectors, choose_unit
from mocpack.io.text import make_unique
from mocpack.model import rotations
from mocpack.model.clip import Clip
from mocpack.model.dofs import to_channels
from mocpack.model.skeleton import Skeleton

POSITION_DOFS, ROTATION_DOFS = ("tx", "ty", "tz"), ("rx", "ry", "rz")


def fit(clip: Clip) -> Clip:
    """Return the same motion with ASF channels, one-word names, and helper bones where needed.

    Joint 0 is named ``root``. It rests at the origin and has all six degrees of freedom.
    """
    clip = _assign_asf_channels(clip)
    clip = _add_helper_bones(clip)
    if clip.unit == INCH_M and _is_unit_guessed(clip.skeleton):
        # The file would say `length 1`, which readers do not trust for a body of this size.
        clip = Clip(replace(clip.header, unit=0.01), clip.rotations, clip.translations)
    return clip


def _assign_asf_channels(clip: Clip) -> Clip:
    old = clip.skeleton
    clip = _add_root_translation(clip)
    moved = set(clip.translated_joints)
    channels = [_to_asf_channels(c, j in moved) for j, c in enumerate(old.channels)]
    offsets = old.offsets.copy()
    if not _is_asf(old.channels[0]):
        channels[0], offsets[0] = POSITION_DOFS + ROTATION_DOFS, 0.0
    names = to_acclaim_names(old.names)
    skeleton = replace(old, names=names, offsets=offsets, channels=tuple(channels))
    return _express_in_channels(clip, skeleton)


def _express_in_channels(clip: Clip, skeleton: Skeleton) -> Clip:
    """Return the clip with ASF channels; joints get all channels if theirs cannot express it."""
    fitted = Clip(replace(clip.header, skeleton=skeleton), clip.rotations, clip.translations)
    try:
        to_channels(fitted)
    except UnsupportedClipError:
        moved = set(clip.translated_joints)
        channels = tuple(POSITION_DOFS * (j in moved) + ROTATION_DOFS for j in range(len(skeleton)))
        wide = replace(skeleton, channels=channels, axes=np.zeros((0, 4)))
        return Clip(replace(clip.header, skeleton=wide), clip.rotations, clip.translations)
    numbers = _reuse_source_numbers(clip, skeleton)
    return fitted if numbers is None else replace(fitted, channels=numbers)


def _add_root_translation(clip: Clip) -> Clip:
    """Give the root a translation channel at its rest position, if it has none."""
    if 0 in clip.translated_joints:
        return clip
    place = np.broadcast_to(clip.skeleton.offsets[0], (clip.frame_count, 1, 3))
    header = replace(clip.header, translated_joints=(0, *clip.translated_joints))
    return Clip(header, clip.rotations, np.concatenate([place, clip.translations], axis=1))


def _to_asf_channels(channels: tuple[str, ...], moved: bool) -> tuple[str, ...]:
    """Return a joint's channels with ASF names.

    BVH rotations always become rx ry rz. Acclaim allows other orders, but many programs do not
    read them.
    """
    names = {_to_asf_name(c) for c in channels}
    if not _is_asf(channels):
        channels = tuple(c for c in POSITION_DOFS + ROTATION_DOFS if c in names)
    return POSITION_DOFS + channels if moved and not names & set(POSITION_DOFS) else channels


def _reuse_source_numbers(clip: Clip, skeleton: Skeleton) -> F64 | None:
    """Return the source's own numbers in the new order, if all angles keep their meaning."""
    if clip.channels is None:
        return None
    columns: list[F64] = []
    start = 0
    for j, (old, new) in enumerate(zip(clip.skeleton.channels, skeleton.channels, strict=True)):
        own = {_to_asf_name(c): clip.channels[:, start + k] for k, c in enumerate(old)}
        start += len(old)
        turns = tuple(_to_asf_name(c) for c in old if _is_rotation(c))
        if not _is_asf(old):
            turns = turns[::-1]  # BVH lists the outermost first, ASF the innermost
        if turns != tuple(c for c in new if _is_rotation(c)) or any(c not in own for c in new):
            return None
        shift = np.zeros(3) if _is_asf(old) else skeleton.offsets[j] / clip.unit
        columns += [
            own[c] - shift["xyz".index(c[1])] if c in POSITION_DOFS else own[c] for c in new
        ]
    return np.stack(columns, axis=1)


def _is_asf(channels: tuple[str, ...]) -> bool:
    return any(c in POSITION_DOFS + ROTATION_DOFS for c in channels)


def _to_asf_name(channel: str) -> str:
    if channel in POSITION_DOFS + ROTATION_DOFS:
        return channel
    return ("r" if _is_rotation(channel) else "t") + channel[0].lower()


def _is_rotation(channel: str) -> bool:
    return channel in ROTATION_DOFS or channel.endswith("rotation")


def _add_helper_bones(clip: Clip) -> Clip:
    """Return the clip with helper bones where the children of a bone do not start at its end."""
    old = clip.skeleton
    positions = _collect_bone_ends(old)
    names, parents, offsets, source = [ROOT], [-1], [old.offsets[0]], [0]
    sites: dict[int, F64] = {}
    helpers: dict[tuple[int, bytes], int] = {}
    new_of = {0: 0}

    def find_carrier(joint: int, end: F64, leads_to: str) -> int:
        """Return the new joint whose bone ends at `end`, and create a helper if needed."""
        if len(positions[joint]) < 2 and (joint or not end.any()):
            return new_of[joint]
        key = (joint, end.tobytes())
        if key not in helpers:
            helpers[key] = len(names)
            names.append(f"{old.names[joint][:25]}_to_{leads_to[:25]}")
            parents.append(new_of[joint])
            offsets.append(np.zeros(3))
            source.append(-1)
        return helpers[key]

    for j in range(1, len(old)):
        parent = find_carrier(old.parents[j], old.offsets[j] + 0.0, old.names[j])
        new_of[j] = len(names)
        names.append(old.names[j])
        parents.append(parent)
        offsets.append(old.offsets[j])
        source.append(j)
    for joint, site in zip(old.end_site_joints, old.end_sites + 0.0, strict=True):
        sites[find_carrier(joint, site, "end")] = site
    if len(names) == len(old):
        return clip
    return _rebuild_clip(clip, names, parents, np.array(offsets), source, sites)


def _collect_bone_ends(skeleton: Skeleton) -> list[set[bytes]]:
    """Return for each joint the distinct positions of its children and end sites."""
    positions: list[set[bytes]] = [set() for _ in skeleton.names]
    for parent, offset in zip(skeleton.parents[1:], skeleton.offsets[1:] + 0.0, strict=True):
        positions[parent].add(offset.tobytes())
    for joint, site in zip(skeleton.end_site_joints, skeleton.end_sites + 0.0, strict=True):
        positions[joint].add(site.tobytes())
    return positions


def _rebuild_clip(
    clip: Clip,
    names: list[str],
    parents: list[int],
    offsets: F64,
    source: list[int],
    sites: dict[int, F64],
) -> Clip:
    """Return the clip on new joints: indices of old joints (`source`), or -1 for helpers."""
    old = clip.skeleton
    carriers = sorted(sites)
    skeleton = Skeleton(
        to_acclaim_names(tuple(names)),
        tuple(parents),
        offsets,
        np.array([sites[j] for j in carriers]).reshape(-1, 3),
        tuple(carriers),
        tuple(old.channels[j] if j >= 0 else () for j in source),
        np.array([old.axes[j] if j >= 0 else rotations.IDENTITY for j in source]),
    )
    local = np.tile(rotations.IDENTITY, (clip.frame_count, len(source), 1))
    local[:, [i for i, j in enumerate(source) if j >= 0]] = clip.rotations
    new_of = {j: i for i, j in enumerate(source)}
    moved = tuple(new_of[j] for j in clip.translated_joints)
    header = replace(clip.header, skeleton=skeleton, translated_joints=moved)
    return Clip(header, local, clip.translations, clip.channels)


def to_acclaim_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return unique one-word names that are not Acclaim keywords.

    >>> to_acclaim_names(("Hips", "Left Leg", "Left_Leg", "end", "7"))
    ('root', 'Left_Leg', 'Left_Leg_2', 'end_', '7_')
    """
    words = [ROOT]
    for name in names[1:]:
        word = re.sub(r"[\s#(),]+", "_", name)
        if word.lower() in ("begin", "end") or word.startswith(":") or word.isdigit():
            word = word.lstrip(":") + "_"
        words.append(word)
    return make_unique(words)


def _is_unit_guessed(skeleton: Skeleton) -> bool:
    vectors = bone_vectors(skeleton) / INCH_M
    bones = tuple(Bone(name, vectors[j]) for j, name in enumerate(skeleton.names))
    return choose_unit(Asf(bones, skeleton.parents, 1.0, True))[0] != INCH_M
