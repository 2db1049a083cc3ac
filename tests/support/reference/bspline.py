"""B-splines by the recursion of Cox and de Boor, written as in the paper."""

from __future__ import annotations

import numpy as np

from mocpack.common.arrays import F64


def evaluate_numpy(knots: F64, degree: int, times: F64, control_points: F64) -> F64:
    """Return the points (N, L) of a spline at times (N,) in 0..1."""
    return basis_numpy(knots, degree, times) @ control_points


def basis_numpy(knots: F64, degree: int, times: F64) -> F64:
    """Return the matrix of basis functions (N, K); 0/0 counts as 0, the last span is closed."""
    t = np.asarray(times, np.float64)[:, np.newaxis]
    last = np.nonzero(knots[:-1] < knots[1:])[0][-1]
    basis = ((t >= knots[:-1]) & (t < knots[1:])).astype(np.float64)
    basis[t[:, 0] >= knots[-1], last] = 1.0
    for d in range(1, degree + 1):
        rising = _ratio(t - knots[: -d - 1], knots[d:-1] - knots[: -d - 1])
        falling = _ratio(knots[d + 1 :] - t, knots[d + 1 :] - knots[1:-d])
        basis = rising * basis[:, :-1] + falling * basis[:, 1:]
    return basis


def _ratio(a: F64, b: F64) -> F64:
    return np.where(b > 0, a / np.where(b > 0, b, 1.0), 0.0)
