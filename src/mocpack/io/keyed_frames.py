"""Which frames a clip needs so that lines between them are what few keys of a source make there.

Clips go straight from frame to frame. Curves of few keys do not: they get so many frames that the
lines stay near, one at every sharp bend that lies between them, and two at a jump. Recordings, of
which every frame has a key, are their frames.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mocpack import rotations
from mocpack.arrays import F64, I64, Mask

MAX_DEVIATION = (
    1e-4  # metres, radians, scale: how far a curve may stray from the line between frames
)
MAX_SPLIT = 64  # frames for one of the source's
MAX_JUMP_GAP_S = (
    1e-4  # seconds: frames that are nearer stand beside a jump, which no more frames divide
)
MAX_TURN_RAD = math.radians(150)  # from one frame to the next


@dataclass(frozen=True)
class Choice:
    """Frames among the times at which poses are known.

    Attributes
    ----------
    rows : array, shape (T,)
        Of the times, increasing.
    split : int
        Into how many parts the even frames have to be divided for lines to stay near.
    """

    rows: I64
    split: int


def choose_frames(times: F64, even: int, needed: F64, pose: dict[str, F64]) -> Choice:
    """Choose frames among times that are even, twice as dense as frames, and others.

    Parameters
    ----------
    times : array, shape (N,)
        The even ones first; every second of these is a frame.
    even : int
        How many are even.
    needed : array, shape (M,)
        Those of the others that are frames, beside jumps.
    pose : dict
        "translation" (N, J, 3), "rotation" (N, J, 4) and "scale" (N, J, 3), or (1, J, 3) where
        none moves, of what has few keys.
    """
    last = (even - 1) // 2 * 2  # of the even ones that are frames
    others = np.arange(last + 1, len(times))
    taken = np.isin(times[others], needed)
    rows = _sort_by_time(times, [np.arange(0, last + 1, 2), others[taken]])
    bends = others[~taken]
    sharp = bends[_deviations(times, rows, bends, pose) > MAX_DEVIATION]
    rows = _sort_by_time(times, [rows, sharp])
    apart = float(_deviations(times, rows, np.arange(1, last, 2), pose).max(initial=0.0))
    # lines come nearer with the square of their number
    wanted = math.ceil(math.log2(max(1.0, apart / MAX_DEVIATION)) / 2)
    slow = np.diff(times[rows]) > MAX_JUMP_GAP_S
    if max_turn(pose["rotation"][rows], slow) > MAX_TURN_RAD:
        wanted = max(1, wanted)  # of half a turn nobody could tell which way it went
    return Choice(rows, 2**wanted)


def max_turn(turns: F64, counted: Mask | None = None) -> float:
    """Return the largest angle, radians, from one row of quaternions (T, ..., 4) to the next.

    `counted` (T - 1,) says which of these ways count; all, where it is left out.
    """
    turns = rotations.normalize(turns)
    cosines = np.abs((turns[1:] * turns[:-1]).sum(-1)).clip(0, 1)
    cosines = cosines if counted is None else cosines[counted]
    return float(2 * np.arccos(cosines.min(initial=1.0)))


def _sort_by_time(times: F64, parts: list[I64]) -> I64:
    rows = np.concatenate(parts)
    return rows[np.argsort(times[rows], kind="stable")]


def _deviations(times: F64, rows: I64, others: I64, pose: dict[str, F64]) -> F64:
    """Return how far poses at other times (M,) are from the lines between those of `rows`."""
    if not len(others):
        return np.zeros(0)
    after = np.clip(np.searchsorted(times[rows], times[others]), 1, max(1, len(rows) - 1))
    before, after = rows[after - 1], rows[np.minimum(after, len(rows) - 1)]
    gap = times[after] - times[before]
    share = np.clip((times[others] - times[before]) / np.where(gap > 0, gap, 1.0), 0.0, 1.0)
    worst = np.zeros(len(others))
    for channel, values in pose.items():
        if len(values) == 1:
            continue  # of what does not move
        one, two, there = values[before], values[after], values[others]
        if channel == "rotation":
            line = rotations.slerp(one, two, share[:, np.newaxis])
            cosine = np.abs((line * there).sum(-1)).clip(0, 1)
            apart = 2 * np.arccos(cosine)
        else:
            part = share[:, np.newaxis, np.newaxis]
            apart = np.abs((1 - part) * one + part * two - there).max(-1)
        worst = np.maximum(worst, apart.max(-1, initial=0.0))
    return worst
