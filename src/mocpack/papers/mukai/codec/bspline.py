"""Clamped B-splines: values, least-squares control points; the native core does the sums.

A spline of degree D with K control points has K + D + 1 knots in [0, 1], the first and the last
D + 1 of them equal, K - D - 1 inner ones free.
"""

from __future__ import annotations

import numpy as np

from mocpack import _core
from mocpack.common.arrays import F64


def uniform_knots(control_points: int, degree: int) -> F64:
    """Return the knots of a spline whose inner knots are evenly spaced."""
    return clamped(np.linspace(0, 1, control_points - degree + 1)[1:-1], degree)


def clamped(inner: F64, degree: int) -> F64:
    """Return all knots from the inner ones."""
    return np.concatenate([np.zeros(degree + 1), inner, np.ones(degree + 1)])


def inner_knots(knots: F64, degree: int) -> F64:
    """Return the free knots."""
    return knots[degree + 1 : len(knots) - degree - 1]


def knots_from_increments(increments: F64, degree: int) -> F64:
    """Return knots (..., K + D + 1) from span widths (..., K - D), as step (1) samples them.

    Negative widths count as 0; the rest is scaled to fill [0, 1].
    """
    widths = np.maximum(increments, 0.0)
    total = widths.sum(axis=-1, keepdims=True)
    even = np.full_like(widths, 1 / widths.shape[-1])
    widths = np.where(total > 1e-12, widths / np.maximum(total, 1e-12), even)
    inner = np.minimum(np.cumsum(widths[..., :-1], axis=-1), 1.0)
    ends = np.ones((*inner.shape[:-1], degree + 1))
    return np.concatenate([0 * ends, inner, ends], axis=-1)


def evaluate(knots: F64, degree: int, times: F64, control_points: F64) -> F64:
    """Return the spline's points (N, L) at `times` in [0, 1], in any order: equation (1)."""
    clipped = np.clip(np.atleast_1d(np.asarray(times, np.float64)), 0.0, 1.0)
    return np.asarray(_core.bspline_evaluate(knots, degree, clipped, control_points))


def basis(knots: F64, degree: int, times: F64) -> F64:
    """Return the matrix of basis functions (N, K) at `times` in [0, 1]: equations (2) and (3)."""
    clipped = np.clip(np.asarray(times, np.float64), 0.0, 1.0)
    first, values = _core.bspline_basis(knots, degree, clipped)
    whole = np.zeros((len(clipped), len(knots) - degree - 1))
    columns = np.asarray(first)[:, np.newaxis] + np.arange(degree + 1)
    np.put_along_axis(whole, columns, np.asarray(values), axis=1)
    return whole


def fit(knots: F64, degree: int, points: F64) -> tuple[F64, float]:
    """Return the control points (K, L) nearest to evenly timed points (N, L), and their E_RMS.

    Steps (2) and (3) of section 3.2: B C = X by least squares, and equation (4).
    """
    controls, squares = _core.bspline_fit(knots, degree, even_times(len(points)), points)
    return np.asarray(controls), float(np.sqrt(squares / len(points)))


def even_times(count: int) -> F64:
    """Return the times of `count` frames: τ_n = (n - 1) / (N - 1), beside equation (4)."""
    return np.linspace(0.0, 1.0, count) if count > 1 else np.zeros(1)
