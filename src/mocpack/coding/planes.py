"""Code matrices of small integers (planes) with the adaptive arithmetic coder of the core.

Most codecs use it for quantized values: rows are frames or frequencies, columns are channels, and
columns of one class share their statistics. `docs/coding.md` specifies the bits.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.common.arrays import I32, U8
from mocpack.errors import CorruptionError

MAX_VALUE = 2**30
ROWS_PER_BYTE = 8192  # a zero costs at least 1/711 of a bit, so no byte holds more than 5688


def encode_plane(
    values: npt.ArrayLike, classes: npt.ArrayLike | None = None, *, start: U8 | None = None
) -> bytes:
    """Encode integers (rows, columns) of magnitude at most 2^30.

    Parameters
    ----------
    values : array of int, shape (R, C)
    classes : array of int, shape (C,), optional
        Class of each column; columns of one class share statistics. By default one class.
    start : array of uint8, optional
        Initial statistics of each class; additional classes are ignored.
    """
    plane = np.asarray(values)
    if plane.size and np.abs(plane).max() > MAX_VALUE:
        raise ValueError(f"values must be within ±2^30, got {np.abs(plane).max()}")
    kinds, count = _classes(classes, plane.shape[1])
    return _core.planes_encode(
        np.ascontiguousarray(plane, np.int32), kinds, count, _slice_start(count, start)
    )


def decode_plane(
    data: bytes,
    rows: int,
    columns: int,
    classes: npt.ArrayLike | None = None,
    *,
    start: U8 | None = None,
) -> I32:
    """Decode integers (rows, columns); `classes` and `start` must be those of the encoder."""
    if rows * columns and rows > ROWS_PER_BYTE * (len(data) + 1):
        raise CorruptionError(
            f"plane: {len(data)} bytes cannot contain {rows} rows (file is corrupt)"
        )
    kinds, count = _classes(classes, columns)
    return np.asarray(
        _core.planes_decode(data, rows, columns, kinds, count, _slice_start(count, start))
    )


def decode_cut_plane(
    data: bytes, rows: int, columns: int, classes: npt.ArrayLike | None = None
) -> I32:
    """Decode the complete rows of a truncated plane."""
    rows = min(rows, ROWS_PER_BYTE * (len(data) + 1))
    kinds, count = _classes(classes, columns)
    values, whole = _core.planes_decode_truncated(data, rows, columns, kinds, count)
    return np.asarray(values)[:whole]


def _classes(classes: npt.ArrayLike | None, columns: int) -> tuple[npt.NDArray[np.uint16], int]:
    if classes is None:
        return np.zeros(columns, np.uint16), 1
    kinds = np.ascontiguousarray(classes, np.uint16)
    return kinds, int(kinds.max(initial=0)) + 1


def _slice_start(class_count: int, start: U8 | None) -> U8 | None:
    return None if start is None else start[: _core.planes_start_size(class_count)]
