"""Choose frames so that linear interpolation between them follows the curves of sparse keys.

Clips interpolate linearly; curves with sparse keys do not. They get enough frames to stay close:
one at a sharp bend, two at a jump. Recordings have a key in every frame and keep their frames.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mocpack.common.arrays import F64, I64, Mask
from mocpack.model import rotations
from mocpack.model.take_data import Track

WEIGHT_BOUND = 1e-4  # of weights of shapes and expressions, which range from 0 to 1
MAX_DEVIATION = 1e-4  # of a curve from linear interpolation: meters, radians, scale
MAX_SPLIT = 64  # frames per source frame
MAX_JUMP_GAP_S = 1e-4  # frames closer than this belong to a jump and are not subdivided
MAX_TURN_RAD = math.radians(150)  # between consecutive frames


@dataclass(frozen=True)
class Choice:
    """Chosen frames among the sampled times."""

    rows: I64  # (T,), indices of the chosen times, in time order
    split: int  # parts into which even frames must be divided for accurate interpolation


def choose_frames(times: F64, even: int, needed: F64, pose: dict[str, F64]) -> Choice:
    """Choose frames among sampled times: even ones at twice the frame rate, then others.

    `times` (N,) begin with the `even` ones, of which every second is a frame. The others that are
    `needed` (M,), next to jumps, become frames too. `pose` has the translation, rotation and scale
    (N, J, n) of what has sparse keys, or (1, J, n) if constant.
    """
    last = (even - 1) // 2 * 2  # last even time that is a frame
    others = np.arange(last + 1, len(times))
    taken = np.isin(times[others], needed)
    rows = _sort_by_time(times, [np.arange(0, last + 1, 2), others[taken]])
    bends = others[~taken]
    sharp = bends[_measure_deviations(times, rows, bends, pose) > MAX_DEVIATION]
    rows = _sort_by_time(times, [rows, sharp])
    apart = float(_measure_deviations(times, rows, np.arange(1, last, 2), pose).max(initial=0.0))
    # The error of linear interpolation falls with the square of the number of frames.
    wanted = math.ceil(math.log2(max(1.0, apart / MAX_DEVIATION)) / 2)
    slow = np.diff(times[rows]) > MAX_JUMP_GAP_S
    if max_turn(pose["rotation"][rows], slow) > MAX_TURN_RAD:
        wanted = max(1, wanted)  # the direction of half a turn would be ambiguous
    return Choice(rows, 2**wanted)


def max_turn(turns: F64, counted: Mask | None = None) -> float:
    """Return the largest angle in radians between consecutive quaternions (T, ..., 4).

    `counted` (T - 1,) selects the steps that count; all by default.
    """
    turns = rotations.normalize(turns)
    cosines = np.abs((turns[1:] * turns[:-1]).sum(-1)).clip(0, 1)
    cosines = cosines if counted is None else cosines[counted]
    return float(2 * np.arccos(cosines.min(initial=1.0)))


def weight_tracks(weights: Mapping[str, F64], times: F64, frame_time: float) -> dict[str, Track]:
    """Return series of weights at the times of a clip's frames as tracks."""
    even = times[0] + np.arange(len(times)) * frame_time
    if np.allclose(times, even, atol=1e-7):  # then a track needs no times
        start, own_times = float(times[0]), None
    else:
        start, own_times = 0.0, times
    return {
        name: Track("scalar", values, start=start, times=own_times, bound=WEIGHT_BOUND)
        for name, values in weights.items()
    }


def _sort_by_time(times: F64, parts: list[I64]) -> I64:
    rows = np.concatenate(parts)
    return rows[np.argsort(times[rows], kind="stable")]


def _measure_deviations(times: F64, rows: I64, others: I64, pose: dict[str, F64]) -> F64:
    """Return how far poses at other times (M,) are from linear interpolation between `rows`."""
    if not len(others):
        return np.zeros(0)
    after = np.clip(np.searchsorted(times[rows], times[others]), 1, max(1, len(rows) - 1))
    before, after = rows[after - 1], rows[np.minimum(after, len(rows) - 1)]
    gap = times[after] - times[before]
    share = np.clip((times[others] - times[before]) / np.where(gap > 0, gap, 1.0), 0.0, 1.0)
    worst = np.zeros(len(others))
    for channel, values in pose.items():
        if len(values) == 1:
            continue  # constant
        one, two, inside = values[before], values[after], values[others]
        if channel == "rotation":
            line = rotations.slerp(one, two, share[:, np.newaxis])
            cosine = np.abs((line * inside).sum(-1)).clip(0, 1)
            apart = 2 * np.arccos(cosine)
        else:
            part = share[:, np.newaxis, np.newaxis]
            apart = np.abs((1 - part) * one + part * two - inside).max(-1)
        worst = np.maximum(worst, apart.max(-1, initial=0.0))
    return worst
