"""Code bytes with the native core's adaptive arithmetic coder of order 0.

For numbers whose low bytes are noise, such as the bits of floats; `docs/coding.md` specifies it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.common.arrays import U8
from mocpack.errors import CorruptionError

ROWS_PER_BYTE = 1024  # a byte costs at least 1/89 of a bit, so no coded byte holds more than 711


def encode_bytes(values: npt.ArrayLike, classes: npt.ArrayLike) -> bytes:
    """Return the code of bytes (rows, columns).

    Parameters
    ----------
    values : array of uint8, shape (R, C)
    classes : array of int, shape (C,)
        Statistics class of each column.
    """
    kinds = np.ascontiguousarray(classes, np.uint16)
    plane = np.ascontiguousarray(values, np.uint8)
    return _core.bytes_encode(plane, kinds, int(kinds.max(initial=0)) + 1)


def decode_bytes(data: bytes, rows: int, classes: npt.ArrayLike) -> U8:
    """Return the bytes (rows, columns) that `encode_bytes` coded with the same `classes`."""
    kinds = np.ascontiguousarray(classes, np.uint16)
    if rows * len(kinds) and rows > ROWS_PER_BYTE * (len(data) + 1):
        raise CorruptionError(f"{len(data)} bytes cannot hold {rows} rows")
    count = int(kinds.max(initial=0)) + 1
    return np.asarray(_core.bytes_decode(data, rows, len(kinds), kinds, count))
