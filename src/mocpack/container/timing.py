"""The TIME chunk, when frames are; and `play`, how they are meant to be played and written back."""

from __future__ import annotations

import numpy as np

from mocpack.arrays import F64
from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.container.numbers import pack_numbers, unpack_numbers
from mocpack.errors import CorruptionError
from mocpack.space import HANDS, UP_AXES

EVEN, UNEVEN = 0, 1
LOOP, UP_SHIFT, LEFT_HANDED = 1, 1, 8


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
    times = unpack_numbers(read, frames, 1)[:, 0]
    if times[0] != start:
        raise CorruptionError(f"TIME chunk: times begin at {times[0]}, not at {start}")
    return times


def pack_play(loop: bool, up: str, handedness: str) -> bytes:
    flags = LOOP * loop + (UP_AXES.index(up) << UP_SHIFT)
    return bytes([flags + LEFT_HANDED * (handedness == HANDS[1])])


def unpack_play(body: bytes) -> tuple[bool, str, str]:
    """Return loop, up and handedness."""
    read = FieldReader(body, "play chunk")
    flags = read.u8()
    read.end()
    up = flags >> UP_SHIFT & 3
    if flags > LEFT_HANDED + 7 or up >= len(UP_AXES):
        raise CorruptionError(f"play chunk: unknown flags {flags}")
    return bool(flags & LOOP), UP_AXES[up], HANDS[bool(flags & LEFT_HANDED)]


def _unpack(read: FieldReader) -> tuple[int, float]:
    kind = read.u8()
    if kind not in (EVEN, UNEVEN):
        raise CorruptionError(f"TIME chunk: unknown kind {kind}")
    return kind, read.f64()
