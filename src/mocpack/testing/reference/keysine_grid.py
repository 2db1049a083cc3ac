"""A grid in time in plain Python: the numbers of a group, and the channels they stand for.

`keysine/decode/grid.h` is the native twin, `docs/codecs/keysine.md` has the bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mocpack.arrays import F64, I64
from mocpack.codecs.keysine.payload import Grid
from mocpack.codecs.keysine.tracks import Plan, step_size
from mocpack.coding.series import QUICK, THOROUGH, ColumnGroup, features_of
from mocpack.skeleton import Skeleton
from mocpack.testing.reference.range_decoder import RangeDecoder, moved
from mocpack.testing.reference.series import SeriesDecoder

MOST_FINER = 15
QUIET = 9  # half octaves of 1/32 step
HALF_STATE = 1 << 31


def expected_error(scale: int) -> int:
    """Return the error that an initial scale of the head stands for, in 1/256 of a step."""
    return (181 << (scale >> 1)) >> 4 if scale & 1 else 8 << (scale >> 1)


def column_groups(plan: Plan, skeleton: Skeleton) -> list[ColumnGroup]:
    """Return the channels of each track, and which tracks stand above it."""
    above = [_above(plan, skeleton, t) for t in range(len(plan.tracks))]
    return [
        ColumnGroup(
            tuple(range(track.first_channel, track.first_channel + track.channel_count)),
            above[t],
            above[above[t]] if above[t] >= 0 else -1,
        )
        for t, track in enumerate(plan.tracks)
    ]


def _above(plan: Plan, skeleton: Skeleton, t: int) -> int:
    """Return the rotation that a track hangs from; for the root's, its translation."""
    track = plan.tracks[t]
    turning = {other.joint: i for i, other in enumerate(plan.tracks) if other.rotation is not None}
    joint = skeleton.parents[track.joint]
    while joint >= 0 and joint not in turning:
        joint = skeleton.parents[joint]
    if joint >= 0:
        return turning[joint]
    return t - 1 if track.rotation is not None and track.joint == 0 else -1


class GridRows:
    """Reads the frames of a group, track by track."""

    def __init__(self, body: bytes, plan: Plan, skeleton: Skeleton, grid: Grid) -> None:
        self._plan, self._grid = plan, grid
        self._coder = RangeDecoder(body)
        forecast = THOROUGH if grid.thorough else QUICK
        features = features_of(plan.channel_count, column_groups(plan, skeleton), forecast)
        for c, scale in enumerate(grid.initial_scales):
            if scale <= QUIET:  # nothing is looked at where hardly anything happens
                features[c] = [[] for _ in forecast.predictors]
        sizes = [expected_error(scale) for scale in grid.initial_scales]
        self._series = SeriesDecoder(self._coder.decode, features, forecast, sizes)
        self._states = [HALF_STATE] * (4 + MOST_FINER)
        self._numbers = [0] * plan.channel_count
        self._finer = [0] * len(plan.tracks)

    def next(self) -> F64:
        """Return the channels of the next frame, in steps from the key (C,)."""
        self._series.begin_row()
        steps = np.zeros(self._plan.channel_count)
        any_finer = 0
        for t, track in enumerate(self._plan.tracks):
            finer = self._level(2 * self._finer[t] + any_finer)
            self._finer[t] = int(finer > 0)
            any_finer |= self._finer[t]
            for c in range(track.first_channel, track.first_channel + track.channel_count):
                self._numbers[c] = self._series.next(c, self._numbers[c])
                steps[c] = self._numbers[c] + self._digits(finer) / 2**finer
        self._series.end_row()
        return steps

    def _level(self, context: int) -> int:
        if not self._single(context):
            return 0
        found = 1
        while found < MOST_FINER and self._single(3 + found):
            found += 1
        return found

    def _digits(self, count: int) -> int:
        found = 0
        for _ in range(count):
            found = found << 1 | self._coder.decode(32768)
        return found - (1 << count >> 1)

    def _single(self, at: int) -> int:
        state = self._states[at]
        bit = self._coder.decode(min(max(state >> 16, 64), 65472))
        self._states[at] = moved(state, bit)
        return bit


def grid_curves(
    rows: GridRows, plan: Plan, unit: float, steps: Sequence[int], key: I64, length: int
) -> F64:
    """Return the channels (length, C) of a group, of which the first frame is the key."""
    counts = [track.channel_count for track in plan.tracks]
    sizes = np.repeat([step_size(unit, step) for step in steps], counts)
    keys = key * np.repeat([track.key_step for track in plan.tracks], counts)
    found = [np.zeros(plan.channel_count), *(rows.next() for _ in range(length - 1))]
    return np.asarray(keys + sizes * np.array(found))
