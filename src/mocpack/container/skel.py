"""The SKEL chunk: joint names, hierarchy, offsets and channels, stored exactly."""

from __future__ import annotations

import numpy as np

from mocpack import _core
from mocpack.model.skeleton import POSITION_CHANNELS, ROTATION_CHANNELS, Skeleton

CHANNELS = POSITION_CHANNELS + ROTATION_CHANNELS
DICTIONARY = _core.SKELETON_DICTIONARY  # part of the format: it can never change


def pack_skeleton(skeleton: Skeleton, translated_joints: tuple[int, ...], unit: float) -> bytes:
    return _core.pack_skeleton(
        [name.encode() for name in skeleton.names],
        np.array(skeleton.parents, np.int32),
        [bytes(CHANNELS.index(c) for c in channels) for channels in skeleton.channels],
        np.array(translated_joints, np.int32),
        np.array(skeleton.end_site_joints, np.int32),
        unit,
        skeleton.offsets,
        skeleton.end_sites,
        skeleton.axes,
    )
