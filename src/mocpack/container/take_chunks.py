"""The chunks of take data: rest pose, hinges, scales, times, gaps and tracks."""

from __future__ import annotations

import numpy as np

from mocpack.coding.fields import FieldWriter, deflate
from mocpack.common.arrays import F64
from mocpack.container.hinge import pack_hinges
from mocpack.container.numbers import pack_numbers
from mocpack.container.runs import pack_valid
from mocpack.container.track import pack_track
from mocpack.model.clip import ClipHeader
from mocpack.model.rotations import IDENTITY, to_grid
from mocpack.model.space import HANDEDNESS, UP_AXES
from mocpack.model.take_data import TakeData

Chunk = tuple[str, bytes]

REQUIRED = ("REST", "HING", "SCAL", "TIME")
HAS_CONSTANT, HAS_MOVING = 1, 2  # of scales
EVEN, UNEVEN = 0, 1  # times
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


def pack_rest(rest: F64) -> bytes:
    """Return the REST chunk: the rest rotation of each joint."""
    rotated = (rest != IDENTITY).any(1)
    omitted, others = to_grid(rest[rotated])
    fields = FieldWriter()
    fields.raw(omitted.astype(np.uint8).tobytes())
    for value in others.ravel().tolist():
        fields.signed(value)
    out = FieldWriter()
    out.mask(rotated)
    out.raw(deflate(fields.bytes()))
    return out.bytes()


def pack_scales(
    constant: F64, scaled_joints: tuple[int, ...], moving: F64 | None, step: float = 0.0
) -> bytes:
    """Return the SCAL chunk: constant (J, 3) and animated scales (T, S, 3), within half a step."""
    out = FieldWriter()
    scaled = (constant != 1).any(1)
    out.u8(HAS_CONSTANT * bool(scaled.any()) + HAS_MOVING * (moving is not None))
    if scaled.any():
        out.mask(scaled)
        out.sized(pack_numbers(np.ascontiguousarray(constant[scaled]), simple=True))
    if moving is not None:
        out.indices(scaled_joints)
        out.raw(pack_numbers(np.ascontiguousarray(moving.reshape(len(moving), -1)), step))
    return out.bytes()


def pack_times(start: float, times: F64 | None) -> bytes:
    """Return the TIME chunk: frame times."""
    out = FieldWriter()
    out.u8(EVEN if times is None else UNEVEN)
    out.f64(start)
    if times is not None:
        out.raw(pack_numbers(times[:, np.newaxis], simple=True))
    return out.bytes()


def pack_play(header: ClipHeader) -> bytes:
    """Return the `play` chunk: how to play the clip and write it back."""
    flags = LOOP * header.loop + (UP_AXES.index(header.up) << UP_SHIFT)
    flags += LEFT_HANDED * (header.handedness == HANDEDNESS[1]) + INTERPOLATED * header.interpolated
    return bytes([flags])
