"""The TIME chunk, frame times; and the `play` chunk, how to play the clip and write it back."""

from __future__ import annotations

import numpy as np

from mocpack.arrays import F64
from mocpack.coding.fields import FieldWriter
from mocpack.container.numbers import pack_numbers
from mocpack.header import ClipHeader
from mocpack.space import HANDEDNESS, UP_AXES

EVEN, UNEVEN = 0, 1
LOOP, UP_SHIFT, LEFT_HANDED, INTERPOLATED = 1, 1, 8, 16


def pack_times(start: float, times: F64 | None) -> bytes:
    out = FieldWriter()
    out.u8(EVEN if times is None else UNEVEN)
    out.f64(start)
    if times is not None:
        out.raw(pack_numbers(times[:, np.newaxis], simple=True))
    return out.bytes()


def pack_play(header: ClipHeader) -> bytes:
    flags = LOOP * header.loop + (UP_AXES.index(header.up) << UP_SHIFT)
    flags += LEFT_HANDED * (header.handedness == HANDEDNESS[1]) + INTERPOLATED * header.interpolated
    return bytes([flags])
