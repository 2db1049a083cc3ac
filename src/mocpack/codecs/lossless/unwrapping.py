"""Unwrap integer angles and wrap them back exactly."""

from __future__ import annotations

import numpy as np

from mocpack.common.arrays import I64

# the interval of the angles of a column, for wrapping them back
NO_INTERVAL, FROM_MINUS_HALF, TO_HALF, FROM_ZERO = 0, 1, 2, 3


def unwrap(angles: I64, turn: int, largest: int) -> tuple[int, I64]:
    """Return the interval of a column, and the unwrapped column.

    Parameters
    ----------
    angles : array of int, shape (T,)
    turn : int
        A full turn in the unit of the angles; even.
    largest : int
        Maximum of an unwrapped angle; a column that would exceed it is not unwrapped.
    """
    steps = np.diff(angles)
    turns = np.cumsum(np.floor_divide(steps + turn // 2, turn))
    smooth = angles.copy()
    smooth[1:] -= turn * turns
    for interval in (FROM_MINUS_HALF, TO_HALF, FROM_ZERO):
        if np.array_equal(wrap(smooth, turn, interval), angles):
            return (interval, smooth) if np.abs(smooth).max() <= largest else (NO_INTERVAL, angles)
    return NO_INTERVAL, angles


def wrap(angles: I64, turn: int, interval: int) -> I64:
    """Wrap angles into their interval."""
    half = turn // 2
    if interval == FROM_MINUS_HALF:
        return np.mod(angles + half, turn) - half
    if interval == TO_HALF:
        return half - np.mod(half - angles, turn)
    if interval == FROM_ZERO:
        return np.mod(angles, turn)
    return angles
