"""Series of integers that follow a motion, predicted in time and coded by the native core.

Each column's difference to the row before is predicted by three recursive least squares: a quick
one from its own joint, a middling one that adds the parent joint, a slow one that adds the
grandparent and the mirrored joint. `docs/series.md` specifies the bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.errors import CorruptionError

I32 = npt.NDArray[np.int32]
Feature = tuple[int, int]
"""A column and how many rows before; 0 only of columns that are coded before."""

LARGEST = 2**30
NUMBERS_PER_BYTE = 12_000  # each takes two decisions of at least 1/2840 of a bit
FORGETTING = (0.8, 0.95, 0.998)
OWN_LAGS = (2, 2, 3)
MOST_FEATURES = 64


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


def encode_series(values: npt.ArrayLike, groups: Sequence[ColumnGroup]) -> bytes:
    """Return the code of integers (rows, columns), each of magnitude at most 2^30.

    Parameters
    ----------
    values : array of int, shape (R, C)
    groups : sequence of ColumnGroup
        Every column stands in one group.
    """
    series = np.asarray(values)
    if series.size and np.abs(series).max() > LARGEST:
        raise ValueError(f"values must lie within ±2^30, got {np.abs(series).max()}")
    model = _model(series.shape[1], groups)
    return _core.series_encode(model, np.ascontiguousarray(series, np.int32))


def decode_series(data: bytes, rows: int, columns: int, groups: Sequence[ColumnGroup]) -> I32:
    """Return the integers (rows, columns) that `encode_series` coded with the same `groups`."""
    if rows * columns > NUMBERS_PER_BYTE * (len(data) + 4):
        raise CorruptionError(f"{len(data)} bytes cannot hold {rows} rows of {columns} numbers")
    return np.asarray(_core.series_decode(_model(columns, groups), data, rows))


def _model(columns: int, groups: Sequence[ColumnGroup]) -> _core.SeriesModel:
    features: list[list[list[Feature]]] = [[[] for _ in FORGETTING] for _ in range(columns)]
    for group in groups:
        for column in group.columns:
            features[column] = _features(column, group, groups)
    flat = [feature for column in features for chosen in column for feature in chosen]
    sizes = [len(chosen) for column in features for chosen in column]
    return _core.SeriesModel(
        columns,
        np.array(FORGETTING),
        np.cumsum([0, *sizes]).astype(np.uint32),
        np.array([f[0] for f in flat], np.int32),
        np.array([f[1] for f in flat], np.uint8),
    )


def _features(
    column: int, group: ColumnGroup, groups: Sequence[ColumnGroup]
) -> list[list[Feature]]:
    """Return what each predictor of a column looks at, nearest relations first."""

    def recent(index: int) -> list[Feature]:
        others = groups[index].columns if index >= 0 else ()
        return [(c, lag) for c in others for lag in (0, 1) if lag or c < column]

    joint = [(c, lag) for c in group.columns if c != column for lag in (0, 1) if lag or c < column]
    parent = joint + recent(group.parent)
    family = parent + recent(group.grandparent) + recent(group.mirrored)
    own = [[(column, lag) for lag in range(1, count + 1)] for count in OWN_LAGS]
    sets = zip(own, (joint, parent, family), strict=True)
    return [(mine + others)[:MOST_FEATURES] for mine, others in sets]
