"""Adapt any clip to what a BVH file can hold: its channels, joint order and names."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from mocpack.errors import UnsupportedClipError
from mocpack.io import text
from mocpack.model.clip import Clip
from mocpack.model.dofs import to_channels
from mocpack.model.rotations import IDENTITY
from mocpack.model.skeleton import POSITION_CHANNELS, ROTATION_CHANNELS, Skeleton, default_channels

BVH_CHANNELS = POSITION_CHANNELS[:3] + ROTATION_CHANNELS[:3]


def fit(clip: Clip) -> Clip:
    """Return the same motion with BVH channels, joints depth first, and one-line names."""
    return _order_depth_first(_assign_bvh_channels(clip))


def list_children(skeleton: Skeleton) -> list[list[int]]:
    """Return the children of every joint."""
    children: list[list[int]] = [[] for _ in skeleton.names]
    for j, parent in enumerate(skeleton.parents):
        if parent >= 0:
            children[parent].append(j)
    return children


def _assign_bvh_channels(clip: Clip) -> Clip:
    """Give a clip BVH channels if its own are of another kind or cannot express its motion."""
    s = clip.skeleton
    known = all(c in BVH_CHANNELS for channels in s.channels for c in channels)
    known = known and bool((s.axes == IDENTITY).all())
    if known and s.channel_count and (clip.channels is not None or _is_expressible(clip)):
        return clip
    skeleton = Skeleton(
        s.names,
        s.parents,
        s.offsets,
        s.end_sites,
        s.end_site_joints,
        default_channels(len(s), clip.translated_joints),
    )
    return Clip(replace(clip.header, skeleton=skeleton), clip.rotations, clip.translations)


def _order_depth_first(clip: Clip) -> Clip:
    """Reorder joints and their columns depth first, and make names fit on one line."""
    s = clip.skeleton
    names = text.make_unique(re.sub(r"[\r\n{}]+|^\s+|\s+$", "_", name) for name in s.names)
    if names != s.names:
        clip = replace(clip, header=replace(clip.header, skeleton=replace(s, names=names)))
    order = _list_depth_first(s)
    if order == list(range(len(s))):
        return clip
    place = np.argsort(order)  # new index of each joint
    columns = np.argsort(place[s.columns.joints], kind="stable")
    translated = {int(place[j]): m for m, j in enumerate(clip.translated_joints)}
    moved = sorted(translated)
    header = replace(
        clip.header,
        skeleton=_reorder_skeleton(clip.skeleton, order),
        translated_joints=tuple(moved),
    )
    return Clip(
        header,
        clip.rotations[:, order],
        clip.translations[:, [translated[j] for j in moved]],
        None if clip.channels is None else clip.channels[:, columns],
    )


def _list_depth_first(skeleton: Skeleton) -> list[int]:
    children = list_children(skeleton)
    order, stack = [], [0]
    while stack:
        order.append(stack.pop())
        stack += reversed(children[order[-1]])
    return order


def _reorder_skeleton(skeleton: Skeleton, order: list[int]) -> Skeleton:
    place = {old: new for new, old in enumerate(order)}
    carriers = [place[j] for j in skeleton.end_site_joints]
    ends = sorted(range(len(carriers)), key=carriers.__getitem__)
    return Skeleton(
        tuple(skeleton.names[j] for j in order),
        tuple(place.get(skeleton.parents[j], -1) for j in order),
        skeleton.offsets[order],
        skeleton.end_sites[ends],
        tuple(carriers[e] for e in ends),
        tuple(skeleton.channels[j] for j in order),
        skeleton.axes[order],
    )


def _is_expressible(clip: Clip) -> bool:
    try:
        to_channels(clip)
    except UnsupportedClipError:
        return False
    return True
