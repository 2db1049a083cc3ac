"""Truncated principal components, and splines in their space: the model behind `latent-spline`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mocpack.common.arrays import F64
from mocpack.papers.mukai.codec import bspline
from mocpack.papers.mukai.codec.knots import find_knots, insert


@dataclass(frozen=True)
class SplineModel:
    """A curve in the space of the first components: y(τ) = mean + spline(τ) · basis.

    Attributes
    ----------
    degree : int
    mean : array, shape (M,)
    basis : array, shape (L, M)
        Rows are components, orthonormal but for rounding.
    knots : array, shape (K + D + 1,)
    controls : array, shape (K, L)
        Control points.
    """

    degree: int
    mean: F64
    basis: F64
    knots: F64
    controls: F64

    def latent(self, times: F64) -> F64:
        """Return the latent curve (N, L) at times in [0, 1]."""
        if not len(self.basis):
            return np.zeros((len(times), 0))
        return bspline.evaluate(self.knots, self.degree, times, self.controls)

    def evaluate(self, times: F64) -> F64:
        """Return y (N, M) at times in [0, 1]."""
        return self.mean + self.latent(times) @ self.basis


@dataclass(frozen=True)
class Components:
    """All principal components of rows (N, M): y = mean + scores · basis."""

    mean: F64
    basis: F64
    scores: F64

    @property
    def energies(self) -> F64:
        """Mean squared score of each component."""
        return np.asarray(np.mean(self.scores**2, axis=0))


def principal_components(rows: F64) -> Components:
    """Return the components of rows (N, M), strongest first, each with a definite sign.

    Section 3.1: x_n = Eᵀ (y_n - ȳ).
    """
    mean = rows.mean(axis=0)
    if not rows.shape[1]:
        return Components(mean, np.zeros((0, 0)), rows)
    u, s, vt = np.linalg.svd(rows - mean, full_matrices=False)
    largest = vt[np.arange(len(vt)), np.abs(vt).argmax(axis=1)]
    signs = np.where(largest < 0, -1.0, 1.0)
    return Components(mean, vt * signs[:, np.newaxis], u * s * signs)


def component_count(energies: F64, *, select: str, amount: float) -> int:
    """Return how many components to keep.

    Parameters
    ----------
    select : {"tolerance", "floor", "share"}
        Keep until the RMS of what is dropped is at most `amount`; keep eigenvalues of at least
        `amount`; keep until the share of variance reaches `amount`.
    """
    total = float(energies.sum())
    if total <= 0:
        return 0
    if select == "floor":
        return int((energies >= amount).sum())
    dropped = total - np.cumsum(np.concatenate([[0.0], energies]))
    limit = (1 - amount) * total if select == "share" else amount**2
    return int(np.argmax(dropped <= limit + 1e-15 * total))


def control_count(points: F64, degree: int, *, target: float, most: int) -> int:
    """Return the smallest number of control points with which the fast search reaches `target`."""
    high = _enough(points, degree, target, most)
    low = degree + 1
    while high - low > max(1, high // 16):
        middle = (low + high) // 2
        knots = find_knots(points, middle, degree, method="fast", candidates=0, seed=0)
        if bspline.fit(knots, degree, points)[1] <= target:
            high = middle
        else:
            low = middle
    return high


def _enough(points: F64, degree: int, target: float, most: int) -> int:
    """Return a number of control points for which greedy insertion reaches `target`."""
    size = degree + 1
    while size < most:
        if bspline.fit(insert(points, size, degree), degree, points)[1] <= target:
            return size
        size = min(most, size + max(1, size // 3))
    return most
