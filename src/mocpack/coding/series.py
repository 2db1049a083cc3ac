"""Series of integers that follow a motion, predicted in time and coded by the native core.

Each column's difference to the row before is predicted by three recursive least squares: a quick
one from its own joint, a middling one that adds the parent joint, a slow one that adds the
grandparent and the mirrored joint. `docs/series.md` specifies the bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.arrays import I32
from mocpack.errors import CorruptionError

Feature = tuple[int, int]
"""A column and how many rows before; 0 only of columns that are coded before."""

MAX_VALUE = 2**30
NUMBERS_PER_BYTE = 12_000  # each takes two decisions of at least 1/2840 of a bit
MAX_FEATURES = 64


@dataclass(frozen=True)
class Predictor:
    """One least squares of every column: how long it remembers, and how far it looks.

    Attributes
    ----------
    forgetting : float
        What it keeps of its past at each row that it learns from.
    own : int
        How many of its column's own last differences it looks at.
    reach : int
        Which other columns: 0 none, 1 of its group, 2 the parent's too, 3 the grandparent's and
        the mirrored group's too.
    period : int
        It learns from every so many-th row.
    """

    forgetting: float
    own: int
    reach: int
    period: int = 1


@dataclass(frozen=True)
class Forecast:
    """How the columns of a series are predicted.

    Attributes
    ----------
    predictors : tuple of Predictor
    warm : int
        Rows at the start of which every predictor learns, whatever its period.
    caution : float
        How much each doubts what it learns first.
    blend_forgetting, blend_pull, blend_period
        Of the least squares that weighs the predictors.
    """

    predictors: tuple[Predictor, ...]
    warm: int = 0
    caution: float = 1.0
    blend_forgetting: float = 0.93
    blend_pull: float = 100.0
    blend_period: int = 1


NOISY_FORECAST = Forecast((Predictor(0.8, 2, 1), Predictor(0.95, 2, 2), Predictor(0.998, 3, 3)))
"""For numbers with much noise in them, as `lossless` has them."""
SMOOTH_FORECAST = Forecast((Predictor(0.98, 4, 1, 2), Predictor(0.998, 3, 3)), 30, 4.0, 0.98)
"""For numbers of few bits, as small as can be."""


@dataclass(frozen=True)
class ColumnGroup:
    """Columns that turn or move together: a joint's rotation, or its translation.

    Attributes
    ----------
    columns : sequence of int
    parent, grandparent, mirrored : int
        Index of another group, or -1.
    """

    columns: tuple[int, ...]
    parent: int = -1
    grandparent: int = -1
    mirrored: int = -1


def encode_series(
    values: npt.ArrayLike,
    groups: Sequence[ColumnGroup],
    forecast: Forecast = NOISY_FORECAST,
    *,
    sizes: npt.ArrayLike = (),
) -> bytes:
    """Return the code of integers (rows, columns), each of magnitude at most 2^30.

    Parameters
    ----------
    values : array of int, shape (R, C)
    groups : sequence of ColumnGroup
        Every column stands in one group.
    forecast : Forecast
    sizes : array of int, shape (C,), optional
        Expected error of each column at first, in 1/256: saves a short series from finding out.
    """
    series = np.asarray(values)
    if series.size and np.abs(series).max() > MAX_VALUE:
        raise ValueError(f"values must lie within ±2^30, got {np.abs(series).max()}")
    model = _model(series.shape[1], tuple(groups), forecast, _initial_sizes(sizes))
    return _core.series_encode(model, np.ascontiguousarray(series, np.int32))


def decode_series(
    data: bytes,
    rows: int,
    columns: int,
    groups: Sequence[ColumnGroup],
    forecast: Forecast = NOISY_FORECAST,
    *,
    sizes: npt.ArrayLike = (),
) -> I32:
    """Return the integers (rows, columns) that `encode_series` coded, told the same."""
    if rows * columns > NUMBERS_PER_BYTE * (len(data) + 4):
        raise CorruptionError(f"{len(data)} bytes cannot hold {rows} rows of {columns} numbers")
    model = _model(columns, tuple(groups), forecast, _initial_sizes(sizes))
    return np.asarray(_core.series_decode(model, data, rows))


def _initial_sizes(sizes: npt.ArrayLike) -> tuple[int, ...]:
    return tuple(map(int, np.asarray(sizes).ravel()))


@lru_cache(maxsize=8)  # a file of many groups codes each with the same
def _model(
    columns: int, groups: tuple[ColumnGroup, ...], forecast: Forecast, sizes: tuple[int, ...]
) -> _core.SeriesModel:
    predictors = forecast.predictors
    features = select_features(columns, groups, forecast)
    flat = [feature for column in features for chosen in column for feature in chosen]
    counts = [len(chosen) for column in features for chosen in column]
    return _core.SeriesModel(
        columns,
        np.array([p.forgetting for p in predictors]),
        np.array([p.period for p in predictors], np.uint8),
        forecast.warm,
        forecast.caution,
        forecast.blend_forgetting,
        forecast.blend_pull,
        forecast.blend_period,
        np.cumsum([0, *counts]).astype(np.uint32),
        np.array([f[0] for f in flat], np.int32),
        np.array([f[1] for f in flat], np.uint8),
        np.asarray(sizes, np.uint32),
    )


def select_features(
    columns: int, groups: Sequence[ColumnGroup], forecast: Forecast
) -> list[list[list[Feature]]]:
    """Return what each predictor of each column looks at."""
    predictors = forecast.predictors
    features: list[list[list[Feature]]] = [[[] for _ in predictors] for _ in range(columns)]
    for group in groups:
        for column in group.columns:
            features[column] = [_features(column, group, groups, p) for p in predictors]
    return features


def _features(
    column: int, group: ColumnGroup, groups: Sequence[ColumnGroup], predictor: Predictor
) -> list[Feature]:
    """Return what a predictor of a column looks at, nearest relations first."""

    def recent(others: Sequence[int]) -> list[Feature]:
        return [(c, lag) for c in others if c != column for lag in (0, 1) if lag or c < column]

    relations = ((group.parent, 2), (group.grandparent, 3), (group.mirrored, 3))
    found = [(column, lag) for lag in range(1, predictor.own + 1)]
    if predictor.reach >= 1:
        found += recent(group.columns)
    for index, reach in relations:
        if predictor.reach >= reach and index >= 0:
            found += recent(groups[index].columns)
    return found[:MAX_FEATURES]
