"""Code integer series of a motion, predicted over time, with the native core.

The difference of each column to the row before is predicted by recursive least squares filters: a
fast one from its own joint, a slower one that adds the parent joint, and a slow one that adds the
grandparent and the mirrored joint. `docs/series.md` specifies the bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from mocpack import _core

Feature = tuple[int, int]
"""A column and a lag in rows; lag 0 only for columns that are coded earlier."""

MAX_VALUE = 2**30
MAX_FEATURES = 64


@dataclass(frozen=True)
class Predictor:
    """One recursive least squares filter per column.

    Attributes
    ----------
    forgetting : float
        Forgetting factor per update.
    own : int
        Number of previous differences of its own column that it uses.
    reach : int
        Other columns that it uses: 0 none, 1 its group, 2 also the parent, 3 also the grandparent
        and the mirrored group.
    period : int
        It is updated every `period` rows.
    """

    forgetting: float
    own: int
    reach: int
    period: int = 1


@dataclass(frozen=True)
class Forecast:
    """Prediction settings of a series.

    Attributes
    ----------
    predictors : tuple of Predictor
    warm : int
        Rows at the start in which every predictor is updated, whatever its period.
    caution : float
        Initial regularization of each predictor.
    blend_forgetting, blend_pull, blend_period
        Settings of the least squares filter that weights the predictors.
    """

    predictors: tuple[Predictor, ...]
    warm: int = 0
    caution: float = 1.0
    blend_forgetting: float = 0.93
    blend_pull: float = 100.0
    blend_period: int = 1


NOISY_FORECAST = Forecast((Predictor(0.8, 2, 1), Predictor(0.95, 2, 2), Predictor(0.998, 3, 3)))
"""For noisy numbers, as in `lossless`."""
SMOOTH_FORECAST = Forecast((Predictor(0.98, 4, 1, 2), Predictor(0.998, 3, 3)), 30, 4.0, 0.98)
"""For numbers of few bits; the smallest code."""


@dataclass(frozen=True)
class ColumnGroup:
    """Columns that belong together: the rotation or the translation of a joint.

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
        Every column is in one group.
    forecast : Forecast
    sizes : array of int, shape (C,), optional
        Initial expected error of each column, in 1/256; helps short series.
    """
    series = np.asarray(values)
    if series.size and np.abs(series).max() > MAX_VALUE:
        raise ValueError(f"values must lie within ±2^30, got {np.abs(series).max()}")
    model = build_model(series.shape[1], tuple(groups), forecast, initial_sizes(sizes))
    return _core.series_encode(model, np.ascontiguousarray(series, np.int32))


def initial_sizes(sizes: npt.ArrayLike) -> tuple[int, ...]:
    """Return the initial expected errors as a key of `build_model`."""
    return tuple(map(int, np.asarray(sizes).ravel()))


@lru_cache(maxsize=8)  # a file codes many groups with the same model
def build_model(
    columns: int, groups: tuple[ColumnGroup, ...], forecast: Forecast, sizes: tuple[int, ...]
) -> _core.SeriesModel:
    """Return the core\'s model of these columns."""
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
    """Return the features of each predictor of each column."""
    predictors = forecast.predictors
    features: list[list[list[Feature]]] = [[[] for _ in predictors] for _ in range(columns)]
    for group in groups:
        for column in group.columns:
            features[column] = [_features(column, group, groups, p) for p in predictors]
    return features


def _features(
    column: int, group: ColumnGroup, groups: Sequence[ColumnGroup], predictor: Predictor
) -> list[Feature]:
    """Return the features of one predictor of a column, nearest relations first."""

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
