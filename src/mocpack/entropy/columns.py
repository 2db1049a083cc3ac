"""Which columns of a matrix move, and one row of it: what stands before a coded plane."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mocpack.entropy.fields import FieldReader, FieldWriter
from mocpack.errors import CorruptionError

Mask = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]

LARGEST = 2**53  # beyond it a double does not hold every integer


def write_mask(out: FieldWriter, mask: Mask) -> None:
    """Append one bit a column, lowest first, padded to bytes."""
    out.raw(np.packbits(mask, bitorder="little").tobytes())


def read_mask(read: FieldReader, count: int) -> Mask:
    bits = np.frombuffer(read.raw(-(-count // 8)), np.uint8)
    return np.unpackbits(bits, count=count, bitorder="little").astype(bool)


def write_row(out: FieldWriter, row: I64) -> None:
    """Append integers of magnitude at most 2^53 as signed varints."""
    for value in row.tolist():
        out.signed(value)


def read_row(read: FieldReader, count: int) -> I64:
    row = [read.signed() for _ in range(count)]
    if any(abs(value) > LARGEST for value in row):
        raise CorruptionError("a number of the first frame is beyond 2^53")
    return np.array(row, np.int64)
