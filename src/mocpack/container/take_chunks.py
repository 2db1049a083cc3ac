"""The chunks of take data: rest pose, hinges, scales, times, gaps and tracks."""

from __future__ import annotations

import numpy as np

from mocpack import _core
from mocpack.common.arrays import F64
from mocpack.container.hinge import pack_hinges
from mocpack.container.track import pack_track
from mocpack.model.clip import ClipHeader
from mocpack.model.space import HANDEDNESS, UP_AXES
from mocpack.model.take_data import TakeData

Chunk = tuple[str, bytes]

LOOP, UP_SHIFT, LEFT_HANDED, INTERPOLATED = 1, 1, 8, 16  # of the `play` chunk
NO_PLAY = bytes(1)  # body of the `play` chunk with default values, which is not written


def pack_take_data(header: ClipHeader, take_data: TakeData, scale_step: float = 0.0) -> list[Chunk]:
    """Return the chunks of take data; animated scales are exact, or within half of `scale_step`."""
    skeleton = header.skeleton
    chunks: list[Chunk] = []
    if skeleton.has_rest:
        chunks.append(("REST", pack_rest(skeleton.rest)))
    if skeleton.hinges:
        chunks.append(("HING", pack_hinges(skeleton)))
    if header.is_scaled:
        joints = np.array(header.scaled_joints, np.int32)
        body = _core.pack_scales(skeleton.scales, joints, take_data.scales, scale_step)
        chunks.append(("SCAL", body))
    if header.start_time or take_data.times is not None:
        chunks.append(("TIME", _core.pack_times(header.start_time, take_data.times)))
    play = pack_play(header)
    if play != NO_PLAY:
        chunks.append(("play", play))
    if take_data.valid is not None and not take_data.valid.all():
        chunks.append(("vald", _core.pack_gaps(take_data.valid.view(np.uint8))))
    chunks += [("trak", pack_track(name, track)) for name, track in take_data.tracks.items()]
    return chunks


def pack_rest(rest: F64) -> bytes:
    """Return the REST chunk: the rest rotation of each joint."""
    return _core.pack_rest(np.ascontiguousarray(rest))


def pack_play(header: ClipHeader) -> bytes:
    """Return the `play` chunk: how to play the clip and write it back."""
    flags = LOOP * header.loop + (UP_AXES.index(header.up) << UP_SHIFT)
    flags += LEFT_HANDED * (header.handedness == HANDEDNESS[1]) + INTERPOLATED * header.interpolated
    return bytes([flags])
