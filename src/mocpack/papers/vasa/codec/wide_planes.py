"""Planes of integers that may be too large for the entropy coder: it codes each in two parts.

A wide plane has twice the columns. A number is 2^20 f + g: first the columns of the far parts f,
then those of the near parts g. Only the far parts are predictable; the near parts are noise.
"""

from __future__ import annotations

import numpy as np

from mocpack import _core
from mocpack.coding.planes import MAX_VALUE, decode_plane, encode_plane
from mocpack.common.arrays import I64, U8
from mocpack.errors import CorruptionError

SPLIT = 1 << 20
WIDEST = 2**50


def is_wide(plane: I64) -> bool:
    """Return whether a plane needs two parts."""
    return bool(np.abs(plane).max(initial=0) > MAX_VALUE)


def encode_numbers(plane: I64, classes: I64, *, start: U8, wide: bool) -> bytes:
    """Return the code of integers (rows, columns), of magnitude at most 2^30 or, wide, 2^50."""
    if not wide:
        return encode_plane(plane, classes, start=start)
    far, near = split(plane)
    both, known = _both(classes, start)
    return encode_plane(np.concatenate([far, near], axis=1), both, start=known)


def decode_numbers(data: bytes, rows: int, classes: I64, *, start: U8, wide: bool) -> I64:
    """Return the integers (rows, columns) coded with the same `classes` and `start`."""
    if not wide:
        return decode_plane(data, rows, len(classes), classes, start=start).astype(np.int64)
    both, known = _both(classes, start)
    parts = decode_plane(data, rows, len(both), both, start=known)
    plane = join(*np.split(parts.astype(np.int64), 2, axis=1))
    largest = int(np.abs(plane).max(initial=0))
    if largest > WIDEST:
        raise CorruptionError(f"rd-pca: a number must be at most 2^50, got {largest}")
    return plane


def split(numbers: I64) -> tuple[I64, I64]:
    """Return the far and the near part of integers: ``SPLIT · far + near``, near within ±2^19."""
    far, near = np.divmod(numbers + SPLIT // 2, SPLIT)
    return far, near - SPLIT // 2


def join(far: I64, near: I64) -> I64:
    """Undo `split`."""
    return far * SPLIT + near


def _both(classes: I64, start: U8) -> tuple[I64, U8]:
    """Return classes and start of both parts: of the near ones, classes after, nothing is known."""
    count = len(start) // _core.planes_start_size(1)
    return np.concatenate([classes, classes + count]), np.concatenate([start, 0 * start])
