"""Planes of small integers, coded by the native core's adaptive arithmetic coder.

What most codecs here do with the numbers they quantised: rows are time or frequency, columns are
channels, and columns of one class share their statistics. `docs/coding.md` specifies the bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.arrays import I32, I64, U8
from mocpack.errors import CorruptionError

LARGEST = 2**30
ROWS_PER_BYTE = 8192  # a zero costs at least 1/711 of a bit, so no byte holds more than 5688

# Models of a class, as the core has them, and the start each may be given. Part of the format.
ACTIVITIES = 12
UNARY = 14
GRID_ROWS = 1 + UNARY + 3
START_LEVELS = 64
START_MIDDLE = 32
START_STEPS = 4.5  # levels to a factor of e in the odds
FEWEST_SEEN = 4  # a model used less often than this is not worth a level of its own


def encode_plane(
    values: npt.ArrayLike, classes: npt.ArrayLike | None = None, *, start: U8 | None = None
) -> bytes:
    """Return the code of integers (rows, columns), each of magnitude at most 2^30.

    Parameters
    ----------
    values : array of int, shape (R, C)
    classes : array of int, shape (C,), optional
        Which statistics each column shares; by default all columns share one set.
    start : array of uint8, optional
        What is known of these statistics beforehand, from `shared_start`.
    """
    plane = np.asarray(values)
    if plane.size and np.abs(plane).max() > LARGEST:
        raise ValueError(f"values must lie within ±2^30, got {np.abs(plane).max()}")
    kinds, count = _classes(classes, plane.shape[1])
    return _core.planes_encode(np.ascontiguousarray(plane, np.int32), kinds, count, start)


def decode_plane(
    data: bytes,
    rows: int,
    columns: int,
    classes: npt.ArrayLike | None = None,
    *,
    start: U8 | None = None,
) -> I32:
    """Return the integers (rows, columns) coded with the same `classes` and `start`."""
    if rows * columns and rows > ROWS_PER_BYTE * (len(data) + 1):
        raise CorruptionError(f"{len(data)} bytes cannot hold {rows} rows")
    kinds, count = _classes(classes, columns)
    return np.asarray(_core.planes_decode(data, rows, columns, kinds, count, start))


def shared_start(planes: Sequence[npt.ArrayLike], classes: Sequence[npt.ArrayLike]) -> U8:
    """Return the start that suits planes which must decode each by itself.

    A plane coded alone begins with even odds and pays for learning; planes of one clip are alike,
    so one start for all of them, sent once by `encode_start`, saves a fifth of small planes.
    """
    count = max((int(np.max(c, initial=0)) for c in classes), default=0) + 1
    counts = np.zeros((_core.planes_start_size(count), 2), np.uint32)
    for plane, kinds in zip(planes, classes, strict=True):
        values = np.ascontiguousarray(plane, np.int32)
        _core.planes_count(values, np.ascontiguousarray(kinds, np.uint16), count, counts)
    zeros, ones = counts.T.astype(np.float64)
    odds = np.log((ones + 0.4) / (zeros + 0.4))
    levels = np.clip(np.round(START_MIDDLE + START_STEPS * odds), 1, START_LEVELS - 1)
    rare = zeros + ones < FEWEST_SEEN
    return np.concatenate(
        [
            _from_grid(_carried(_to_grid(mine), _to_grid(unknown) > 0))
            for mine, unknown in zip(_by_class(levels, count), _by_class(rare, count), strict=True)
        ]
    )


def encode_start(start: U8) -> bytes:
    """Return the code of a start; `decode_start` inverts it."""
    count = len(start) // _core.planes_start_size(1)
    grids = [_to_grid(mine) for mine in _by_class(start, count)]
    return encode_plane(np.concatenate([_difference(grid) for grid in grids]))


def decode_start(data: bytes, class_count: int) -> U8:
    """Return the start that `encode_start` coded for that many classes."""
    residuals = decode_plane(data, class_count * GRID_ROWS, ACTIVITIES).astype(np.int64)
    grids = [_sum(r) for r in np.split(residuals, class_count)]
    if any(g.min() < 1 or g.max() >= START_LEVELS for g in grids):
        raise CorruptionError("the start of coded planes has impossible odds")
    return np.concatenate([_from_grid(grid) for grid in grids])


def _to_grid(levels: npt.NDArray[Any]) -> I64:
    """Lay the models of one class out so that neighbours are alike, shape (18, 12).

    Row 0 asks "not zero?", row k "more than k?", each by activity; the last three rows hold the
    signs and the lengths of escapes, and one place that is not used.
    """
    zero, sign, more, length = np.split(levels.astype(np.int64), [12, 15, 15 + 12 * UNARY])
    rest = np.concatenate([sign, length, [START_MIDDLE]]).reshape(3, ACTIVITIES)
    return np.concatenate([zero[np.newaxis], more.reshape(ACTIVITIES, UNARY).T, rest])


def _from_grid(grid: I64) -> U8:
    rest = grid[1 + UNARY :].ravel()
    parts = [grid[0], rest[:3], grid[1 : 1 + UNARY].T.ravel(), rest[3:-1]]
    return np.concatenate(parts).astype(np.uint8)


def _difference(grid: I64) -> I64:
    """Subtract from each level its prediction: the one above, in row 0 the one to the left."""
    out = grid.copy()
    out[1 : 1 + UNARY] -= grid[:UNARY]
    out[0, 1:] -= grid[0, :-1]
    out[0, 0] -= START_MIDDLE
    out[1 + UNARY :] -= START_MIDDLE
    return out


def _sum(residuals: I64) -> I64:
    """Undo `_difference`."""
    out = residuals.copy()
    out[0] = START_MIDDLE + np.cumsum(residuals[0])
    out[: 1 + UNARY] = np.cumsum(out[: 1 + UNARY], axis=0)
    out[1 + UNARY :] += START_MIDDLE
    return out


def _carried(grid: I64, rare: npt.NDArray[np.bool_]) -> I64:
    """Give models that were hardly used their predicted level, which costs next to nothing."""
    out = grid.copy()
    for a in range(ACTIVITIES):
        if rare[0, a]:
            out[0, a] = out[0, a - 1] if a else START_MIDDLE
    for k in range(1, 1 + UNARY):
        out[k] = np.where(rare[k], out[k - 1], out[k])
    out[1 + UNARY :][rare[1 + UNARY :]] = START_MIDDLE
    return out


def _by_class(values: npt.NDArray[Any], class_count: int) -> list[npt.NDArray[Any]]:
    return list(values.reshape(class_count, -1))


def decode_cut_plane(
    data: bytes, rows: int, columns: int, classes: npt.ArrayLike | None = None
) -> I32:
    """Return as many whole rows (some, columns) as the first bytes of a coded plane hold."""
    rows = min(rows, ROWS_PER_BYTE * (len(data) + 1))
    kinds, count = _classes(classes, columns)
    values, whole = _core.planes_decode_cut(data, rows, columns, kinds, count)
    return np.asarray(values)[:whole]


def _classes(classes: npt.ArrayLike | None, columns: int) -> tuple[npt.NDArray[np.uint16], int]:
    if classes is None:
        return np.zeros(columns, np.uint16), 1
    kinds = np.ascontiguousarray(classes, np.uint16)
    return kinds, int(kinds.max(initial=0)) + 1
