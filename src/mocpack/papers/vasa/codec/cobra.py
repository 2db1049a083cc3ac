"""Code bases of principal components: steps by importance, every s-th sample of trajectories.

After L. Váša and V. Skala, "COBRA: compression of the basis for PCA represented animations"
(2009), as L. Váša and G. Brunnett use it (2014, section 3.4). A basis vector is quantized with a
step inversely proportional to its importance (the norm of its coefficients), so that all vectors
add the same error; a trajectory keeps every s-th sample, the rest are interpolated by cubics.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from mocpack.common.arrays import F64, I64

# maximum of a quantized sample, so that its second difference fits a plane at any Q and s
LARGEST = 2.0**34


def importance_exponents(importance: F64, vectors: F64) -> I64:
    """Return k of each vector, whose step is ``Q · 2^(-k/2)``; the decoder gets these integers.

    Parameters
    ----------
    importance : array, shape (V,)
        Norm of each vector's coefficients.
    vectors : array, shape (n, V)
        Columns; no sample of theirs may become larger than 2^34 steps of Q = 1.
    """
    tops = np.abs(vectors).max(axis=0, initial=1e-9)
    finest = np.floor(2 * np.log2(LARGEST / tops))
    wanted = np.round(2 * np.log2(np.maximum(importance, 1e-9)))
    return np.asarray(np.minimum(wanted, finest), np.int64)


def steps(Q: float, exponents: npt.ArrayLike) -> F64:
    """Return the step of each vector, ``Q · 2^(-k/2)``."""
    return np.asarray(Q * 2.0 ** (-0.5 * np.asarray(exponents, np.float64)))


@lru_cache(maxsize=256)
def interpolation(length: int, s: int) -> F64:
    """Return the matrix (length, knots) from every s-th sample to all of them.

    Samples between two knots lie on the cubic through the four knots around them; where one of
    the four is missing, the border value is repeated. The last knot lies at or past the end.

    >>> interpolation(3, 2) @ [0.0, 4.0]
    array([0., 2., 4.])
    """
    count = knot_count(length, s)
    t = np.arange(length)
    first = np.minimum(t // s, max(count - 2, 0))
    u = t / s - first
    cubic = (
        -u * (u - 1) * (u - 2) / 6,
        (u + 1) * (u - 1) * (u - 2) / 2,
        -(u + 1) * u * (u - 2) / 2,
        (u + 1) * u * (u - 1) / 6,
    )
    matrix = np.zeros((length, count))
    for offset, share in zip((-1, 0, 1, 2), cubic, strict=True):
        np.add.at(matrix, (t, np.clip(first + offset, 0, count - 1)), share)
    matrix.setflags(write=False)
    return matrix


def knot_count(length: int, s: int) -> int:
    """Return how many samples of a trajectory are kept."""
    return 1 + -(-(length - 1) // s)


@lru_cache(maxsize=256)
def knot_axes(length: int, s: int) -> tuple[F64, F64]:
    """Return Q (length, knots) with orthonormal columns and R with ``Q R = interpolation``."""
    q, r = np.linalg.qr(interpolation(length, s))
    return q, r


def predict_in_time(knots: I64) -> I64:
    """Return the residuals (n, V) of linear extrapolation from the two samples before."""
    residuals = knots.copy()
    residuals[1:] -= knots[:-1]
    residuals[2:] -= knots[1:-1] - knots[:-2]
    return residuals


def undo_prediction(residuals: I64) -> I64:
    """Return the samples of these residuals."""
    slopes = residuals.copy()
    slopes[1:] = np.cumsum(residuals[1:], axis=0)
    return np.cumsum(slopes, axis=0)
