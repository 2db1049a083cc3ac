"""The grid mode of keysine in plain Python: the numbers of a group, and their channels.

`keysine/format/grid.h` is the native implementation, `docs/codecs/keysine.md` specifies the bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keysine_payload import Grid
from mocpack.codecs.lossless.series import (
    SMOOTH_FORECAST,
    ColumnGroup,
    Forecast,
    Predictor,
    select_features,
)
from mocpack.common.arrays import F64, I64
from mocpack.errors import CorruptionError
from mocpack.model.skeleton import Skeleton
from reference.keysine_plan import Plan, step_size
from reference.keysine_symbols import FINE, LARGEST, rest_of, tables
from reference.range_decoder import moved
from reference.series_forecast import Forecaster
from reference.table_reader import TableReader

MAX_FINER = 15
QUIET = 9  # half octaves of 1/32 step
HALF_STATE = 1 << 31
# number of classes, the first of which use the side of the prediction; first raw digit
CLASSES, SIDED, FIRST_LEVEL, WIDE_OCTAVE, MOST_WIDTH = 17, 8, 72, 12, 16
MAX_ERROR_CODE = 1 << 28
QUICK = Forecast((Predictor(0.99, 3, 2, 4),), 30, 10.0, 0.98)
"""How a grid that is not thorough is predicted."""


def expected_error(scale: int) -> int:
    """Return the error of an initial scale of the head, in 1/256 of a step."""
    return (181 << (scale >> 1)) >> 4 if scale & 1 else 8 << (scale >> 1)


def column_groups(plan: Plan, skeleton: Skeleton) -> list[ColumnGroup]:
    """Return the channels of each track, and its ancestor tracks."""
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


def level_of(error: int) -> int:
    """Return the logarithm of an error in 1/256 of a step, in sixteenths of an octave."""
    bits = (error + 16).bit_length()
    return 16 * bits + (error + 16 >> bits - 5) - 16


class Levels:
    """How far each number will be from its prediction, by how far others were."""

    def __init__(self, plan: Plan, groups: Sequence[ColumnGroup], sizes: Sequence[int]) -> None:
        self._plan, self._groups, self._sizes = plan, groups, sizes
        self._means, self._surprises, self._mood = list(sizes), [0] * len(sizes), 0
        self._weights: list[int] = tables()["GRID_WEIGHTS"].tolist()

    def inputs(self, t: int, c: int) -> tuple[int, ...]:
        """Return what the class of channel c of track t depends on."""
        at, above = self._plan.tracks[t].first_channel + c, self._groups[t].parent
        columns = self._groups[above].columns if above >= 0 else ()
        surprises = sum(self._surprises[column] for column in columns)
        return (
            level_of(self._means[at]),
            level_of(self._sizes[at]),
            self._mood >> 4,
            self._surprises[at],
            self._surprises[at - 1] if c else 0,
            surprises * (12 // len(columns)) >> 2 if columns else 0,
        )

    def outlook(self, inputs: Sequence[int]) -> tuple[int, int]:
        """Return the class of a number by its inputs, and how many of its digits are plain."""
        *weights, constant = self._weights
        level = constant + sum(w * x for w, x in zip(weights, inputs, strict=True)) >> 8
        width = min(max((level >> 4) - WIDE_OCTAVE, 0), MOST_WIDTH)
        return min(max(level - 16 * width - FIRST_LEVEL >> 3, 0), CLASSES - 1), width

    def learn(self, at: int, error: int) -> None:
        surprise = level_of(error) - level_of(self._means[at])
        self._surprises[at] = surprise
        self._mood += 16 * surprise - self._mood >> 5
        self._means[at] += error - self._means[at] >> 3


class GridRows:
    """Reads the frames of a group, track by track."""

    def __init__(self, body: bytes, plan: Plan, skeleton: Skeleton, grid: Grid) -> None:
        self._plan, self._coder = plan, TableReader(body)
        forecast = SMOOTH_FORECAST if grid.thorough else QUICK
        groups = column_groups(plan, skeleton)
        features = select_features(plan.channel_count, groups, forecast)
        for c, scale in enumerate(grid.initial_scales):
            if scale <= QUIET:  # no context for quiet columns
                features[c] = [[] for _ in forecast.predictors]
        sizes = [expected_error(scale) for scale in grid.initial_scales]
        self._forecast, self._levels = Forecaster(features, forecast), Levels(plan, groups, sizes)
        self._sided: list[list[list[int]]] = tables()["GRID_SIDED_TABLES"].tolist()
        self._tables: list[list[int]] = tables()["GRID_TABLES"].tolist()
        self._states = [HALF_STATE] * (4 + MAX_FINER)
        self._numbers = [0] * plan.channel_count
        self._finer = [0] * len(plan.tracks)

    def next(self) -> F64:
        """Return the channels of the next frame, in steps from the key (C,)."""
        self._forecast.begin_row()
        steps = np.zeros(self._plan.channel_count)
        any_finer = 0
        for t, track in enumerate(self._plan.tracks):
            finer = self._level(2 * self._finer[t] + any_finer)
            self._finer[t] = int(finer > 0)
            any_finer |= self._finer[t]
            for c in range(track.channel_count):
                at = track.first_channel + c
                self._numbers[at] = self._number(t, c, self._numbers[at])
                steps[at] = self._numbers[at] + self._digits(finer) / 2**finer
        self._forecast.end_row()
        return steps

    def finish(self) -> None:
        """Check that everything was read."""
        self._coder.finish()

    def _number(self, t: int, c: int, before: int) -> int:
        at = self._plan.tracks[t].first_channel + c
        predicted = self._forecast.predict(at, before)
        center = predicted + 8 >> 4
        off = predicted - 16 * center
        side, fraction = (-1, -1 - off >> 1) if off < 0 else (1, off >> 1)
        value = center + side * self.residual(self._levels.inputs(t, c), fraction)
        if abs(value) > LARGEST:
            raise CorruptionError("keysine payload: a number is too large")
        self._levels.learn(at, min(16 * abs(16 * value - predicted), MAX_ERROR_CODE))
        self._forecast.learn(at, float(value - before))
        return value

    def residual(self, inputs: tuple[int, ...], fraction: int) -> int:
        """Read how far a number is from its prediction, in the direction of the prediction's rest.

        fraction : where the prediction stands between two numbers, in quarters of half a step.
        """
        kind, width = self._levels.outlook(inputs)
        starts = self._sided[kind][fraction] if kind < SIDED else self._tables[kind - SIDED]
        folded = rest_of(self._coder, self._coder.symbol(starts), FINE)
        if folded >= LARGEST:
            raise CorruptionError("keysine payload: a number is too large")
        size = (folded >> 1 << width) + self._coder.bits(width)
        return -size if folded & 1 else size

    def _level(self, context: int) -> int:
        if not self._single(context):
            return 0
        found = 1
        while found < MAX_FINER and self._single(3 + found):
            found += 1
        return found

    def _digits(self, count: int) -> int:
        return self._coder.bits(count) - (1 << count >> 1)

    def _single(self, at: int) -> int:
        state = self._states[at]
        bit = self._coder.choice(4096 - (min(max(state >> 16, 64), 65472) >> 4))
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
    rows.finish()
    return np.asarray(keys + sizes * np.array(found))
