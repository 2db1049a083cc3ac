"""The chunks of take data: rest pose, hinges, scales, times, gaps and tracks."""

from __future__ import annotations

from mocpack.clip import ClipHeader
from mocpack.container.hinge import pack_hinges
from mocpack.container.rest import pack_rest
from mocpack.container.runs import pack_valid
from mocpack.container.scale import pack_scales
from mocpack.container.timing import pack_play, pack_times
from mocpack.container.track import pack_track
from mocpack.take_data import TakeData

Chunk = tuple[str, bytes]

REQUIRED = ("REST", "HING", "SCAL", "TIME")
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
        body = pack_scales(skeleton.scales, header.scaled_joints, take_data.scales, scale_step)
        chunks.append(("SCAL", body))
    if header.start_time or take_data.times is not None:
        chunks.append(("TIME", pack_times(header.start_time, take_data.times)))
    play = pack_play(header)
    if play != NO_PLAY:
        chunks.append(("play", play))
    if take_data.valid is not None and not take_data.valid.all():
        chunks.append(("vald", pack_valid(take_data.valid)))
    chunks += [("trak", pack_track(name, track)) for name, track in take_data.tracks.items()]
    return chunks
