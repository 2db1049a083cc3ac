"""The TIME chunk, when frames are; and `play`, how they are meant to be played and written back."""

from __future__ import annotations

import numpy as np

from mocpack.arrays import F64
from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.container.numbers import pack_numbers, unpack_numbers
from mocpack.errors import CorruptionError
from mocpack.header import ClipHeader
from mocpack.space import HANDS, UP_AXES

EVEN, UNEVEN = 0, 1
LOOP, UP_SHIFT, LEFT_HANDED, INTERPOLATED = 1, 1, 8, 16


def pack_times(start: float, times: F64 | None) -> bytes:
    out = FieldWriter()
    out.u8(EVEN if times is None else UNEVEN)
    out.f64(start)
    if times is not None:
        out.raw(pack_numbers(times[:, np.newaxis], simple=True))
    return out.bytes()


def unpack_start(body: bytes) -> float:
    """Return the time of the first frame."""
    return _unpack(FieldReader(body, "TIME chunk"))[1]


def unpack_times(body: bytes, frames: int) -> F64 | None:
    """Return the time (T,) of each frame, where they are not even."""
    read = FieldReader(body, "TIME chunk")
    kind, start = _unpack(read)
    if kind == EVEN:
        read.end()
        return None
    times = unpack_numbers(read, frames, 1, simple=True)[:, 0]
    if times[0] != start:
        raise CorruptionError(f"TIME chunk: times begin at {times[0]}, not at {start}")
    return times


def pack_play(header: ClipHeader) -> bytes:
    flags = LOOP * header.loop + (UP_AXES.index(header.up) << UP_SHIFT)
    flags += LEFT_HANDED * (header.handedness == HANDS[1]) + INTERPOLATED * header.interpolated
    return bytes([flags])


def unpack_play(body: bytes) -> dict[str, bool | str]:
    """Return the fields of a header that the chunk holds."""
    read = FieldReader(body, "play chunk")
    flags = read.u8()
    read.end()
    up = flags >> UP_SHIFT & 3
    if flags >= 2 * INTERPOLATED or up >= len(UP_AXES):
        raise CorruptionError(f"play chunk: unknown flags {flags}")
    return {
        "loop": bool(flags & LOOP),
        "up": UP_AXES[up],
        "handedness": HANDS[bool(flags & LEFT_HANDED)],
        "interpolated": bool(flags & INTERPOLATED),
    }


def _unpack(read: FieldReader) -> tuple[int, float]:
    kind = read.u8()
    if kind not in (EVEN, UNEVEN):
        raise CorruptionError(f"TIME chunk: unknown kind {kind}")
    return kind, read.f64()
