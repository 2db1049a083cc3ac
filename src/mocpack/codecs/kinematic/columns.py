"""Columns that move, one row of the matrix and a coded plane: the payload of simple codecs."""

from __future__ import annotations

import numpy as np

from mocpack.arrays import I32, I64, Mask
from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.coding.planes import decode_plane, encode_plane
from mocpack.errors import CorruptionError

LARGEST = 2**53  # beyond it a double does not hold every integer


def encode_moving(moving: Mask, first: I64, plane: I64) -> bytes:
    """Return the payload: which columns move, the first row of all, the plane of those."""
    out = FieldWriter()
    out.mask(moving)
    write_row(out, first)
    out.raw(encode_plane(plane))
    return out.bytes()


def decode_moving(payload: bytes, name: str, *, columns: int, rows: int) -> tuple[Mask, I64, I32]:
    """Return what `encode_moving` was given; `rows` is the plane's. Complaints begin with `name`.

    The first column must be among those that move, so that a payload grows with the rows.
    """
    read = FieldReader(payload, name)
    moving = read.mask(columns)
    first = read_row(read, columns)
    if columns and not moving[0]:
        raise CorruptionError(f"{name}: the first channel must be coded")
    return moving, first, decode_plane(read.rest(), rows, int(moving.sum()))


def write_row(out: FieldWriter, row: I64) -> None:
    """Append integers of magnitude at most 2^53 as signed varints."""
    for value in row.tolist():
        out.signed(value)


def read_row(read: FieldReader, count: int) -> I64:
    row = [read.signed() for _ in range(count)]
    if any(abs(value) > LARGEST for value in row):
        raise CorruptionError("a number of the first frame is beyond 2^53")
    return np.array(row, np.int64)
