"""Rate-distortion curves and the Bjøntegaard difference between two of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from mocpack.bench.rows import Row, get_number
from mocpack.common.arrays import F64
from mocpack.common.optional_packages import require

if TYPE_CHECKING:
    from scipy.interpolate import PchipInterpolator

Curve = tuple[F64, F64]
"""Bits per frame, increasing, and the error at each."""


def curves(rows: Iterable[Row], metric: str) -> dict[tuple[str, str], Curve]:
    """Return the curve of each (clip, codec), from the rows that did not fail."""
    points: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        error = get_number(row, metric)
        if row.get("failure") is None and error is not None:
            points[row["clip"], row["codec"]].append((row["bits_per_frame"], error))
    return {key: _lower_hull(pairs) for key, pairs in points.items()}


def bd_rate(anchor: Curve, other: Curve) -> float | None:
    """Return how much larger `other` is than `anchor` at equal error, on average: 0.1 means 10 %.

    The mean difference of log rate over the range of log error that both cover, each curve
    interpolated by monotone cubics (Bjøntegaard 2001, with the interpolation of later practice).
    None if the curves have too few points or no common range.
    """
    a, b = _log_rate(anchor), _log_rate(other)
    if a is None or b is None:
        return None
    low, high = max(a[1], b[1]), min(a[2], b[2])
    if not high > low + 1e-9:
        return None
    difference = (b[0].integrate(low, high) - a[0].integrate(low, high)) / (high - low)
    return float(np.exp(difference) - 1)


def _log_rate(curve: Curve) -> tuple[PchipInterpolator, float, float] | None:
    rate, error = curve
    good = (rate > 0) & (error > 0)
    log_error, log_rate = np.log(error[good]), np.log(rate[good])
    order = np.argsort(log_error)
    log_error, log_rate = log_error[order], log_rate[order]
    distinct = np.concatenate([[True], np.diff(log_error) > 1e-9])
    if distinct.sum() < 3:
        return None
    log_error, log_rate = log_error[distinct], log_rate[distinct]
    require("scipy", extra="bench", purpose="a BD-rate")
    from scipy.interpolate import PchipInterpolator

    return PchipInterpolator(log_error, log_rate), float(log_error[0]), float(log_error[-1])


def _lower_hull(points: list[tuple[float, float]]) -> Curve:
    """Sort by rate and drop points that another point beats in both rate and error."""
    kept: list[tuple[float, float]] = []
    for rate, error in sorted(points):
        if not kept or error < kept[-1][1]:
            kept.append((rate, error))
    array = np.array(kept, np.float64).reshape(-1, 2)
    return array[:, 0], array[:, 1]
