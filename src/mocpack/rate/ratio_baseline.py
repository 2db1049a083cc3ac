"""The size that ratios refer to: the moving channels as float32."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mocpack.errors import UnsupportedClipError
from mocpack.model.clip import AnyClip, Clip, VertexClip
from mocpack.model.codec_clip import drop_take_data
from mocpack.model.dofs import moving_dofs, to_dofs
from mocpack.model.skeleton import DEFAULT_ROOT
from mocpack.model.take_data import WIDTHS
from mocpack.rate.windows import split_windows


def raw_size(clip: AnyClip) -> int:
    """Return the size of the moving channels as float32 in bytes, the baseline of ratios.

    Numbers in tracks count 4 bytes, flags and labels 1 byte.
    """
    size = 4 * clip.frame_count * moving_channels(clip)
    exact, tracks = ("flag", "label"), clip.tracks.values()
    return size + sum(len(t) * (1 if t.kind in exact else 4 * WIDTHS[t.kind]) for t in tracks)


def moving_channels(clip: AnyClip) -> int:
    """Return the number of moving channels, of the source's numbers if the clip has them."""
    if isinstance(clip, VertexClip):
        return 3 * clip.header.vertex_count
    scales = clip.take_data.scales
    scaled = 0 if scales is None else int((np.ptp(scales, axis=0) > 0).sum())
    if clip.channels is not None:
        return max(1, int(moving_dofs(clip.channels).sum()) + scaled)
    single = drop_take_data(clip)
    try:
        return max(1, _count_moving_dofs(single) + scaled)
    except UnsupportedClipError:  # the channels of the skeleton cannot express the motion
        channels = (DEFAULT_ROOT,) * len(single.skeleton)
        header = replace(single.header, skeleton=replace(single.skeleton, channels=channels))
        full = Clip(header, single.rotations, single.translations)
        return max(1, _count_moving_dofs(full) + scaled)


def _count_moving_dofs(clip: Clip) -> int:
    # windows overlap by a frame, to detect motion between them
    moving = [moving_dofs(to_dofs(window)) for window in split_windows(clip, overlap=1)]
    return int(np.any(moving, axis=0).sum())
