"""Temporal PCA: channels of a chunk as linear combinations of a few trajectories.

After L. Váša and G. Brunnett (2014), section 3.3. The channels of a chunk are samples of vectors
as long as the chunk; their principal components are trajectories of their own, learnt for this
chunk and sent with it (`cobra`), and each channel keeps one coefficient for each. All energies are
in squares of the coefficients' step, which is 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mocpack.common.arrays import F64, I64
from mocpack.papers.vasa.codec import cobra

SLOPE = np.log(2) / 6  # decrease of squared error per bit of a coefficient of step 1
BITS_OF_KNOT = 10.0  # cost of a trajectory sample, used only to choose s
STRIDES = (16, 12, 10, 8, 6, 5, 4, 3, 2, 1)


@dataclass(frozen=True)
class Truncation:
    """Which trajectories are dropped.

    Attributes
    ----------
    floor : float
        Drop trajectories of less energy, which cost more than they save.
    budget : float or None
        If given, drop the smallest trajectories up to this total energy.
    share : float or None
        If given, as many of the smallest as have no more than this share of the magnitudes of all
        coefficients of the chunk: the paper's section 3.3.
    """

    floor: float
    budget: float | None = None
    share: float | None = None

    def count_kept(self, sizes: F64, mixes: F64) -> int:
        """Return how many trajectories are kept.

        Parameters
        ----------
        sizes : array, shape (M,)
            Norm of each trajectory's coefficients, falling.
        mixes : array, shape (M, K)
            These coefficients, each row divided by its norm.
        """
        if self.share is not None:
            left = _from_the_end(sizes * np.abs(mixes).sum(axis=1))
            return int(np.count_nonzero(left > self.share * left.max(initial=0.0)))
        if self.budget is not None:
            return int(np.count_nonzero(_from_the_end(sizes**2) > self.budget))
        return int(np.count_nonzero(sizes**2 > self.floor))


def _from_the_end(values: F64) -> F64:
    """Return the sum of each value and all after it."""
    return np.asarray(np.cumsum(values[::-1])[::-1])


@dataclass(frozen=True)
class Trajectories:
    """A chunk, quantized.

    Attributes
    ----------
    s : int
        Every s-th sample is kept.
    exponents : array, shape (M,)
        Of each trajectory's step, ``q · 2^(-k/2)``.
    knots : array, shape (n, M)
        Samples kept, in steps.
    coefficients : array, shape (M, K)
    """

    s: int
    exponents: I64
    knots: I64
    coefficients: I64

    def rebuilt(self, length: int, Q_l: float) -> F64:
        """Return the decoded chunk (length, K): equation (8)."""
        return self.paths(length, Q_l) @ self.coefficients

    def paths(self, length: int, Q_l: float) -> F64:
        """Return the trajectories (length, M)."""
        knots = self.knots * cobra.steps(Q_l / np.sqrt(self.s), self.exponents)
        return np.asarray(cobra.interpolation(length, self.s) @ knots)


def quantize(
    chunk: F64,
    *,
    s: int | None,
    Q_l: float,
    truncation: Truncation,
    centered: bool,
    closed_loop: bool = True,
) -> Trajectories:
    """Return the trajectories of a chunk (length, K), and its channels' coefficients of them.

    Parameters
    ----------
    s : int, optional
        Keep every s-th sample; by default as few as the chunk allows.
    Q_l : float
        Step of a trajectory of importance 1, in units of ``1/√s``: at 1 a bit spent on a sample
        saves as much as a bit spent on a coefficient.
    centered : bool
        Subtract the mean of all channels first; it becomes the first trajectory, whose
        coefficients are all 1 and stored as 0.
    closed_loop : bool
        Fit the coefficients to the quantized trajectories.
    """
    length, channels = chunk.shape
    if s is None:
        s = best_stride(chunk, truncation)
    mean = _quantized_mean(chunk, s, Q_l) if centered else None
    rest = chunk if mean is None else chunk - mean.paths(length, Q_l)
    axes, to_knots = cobra.knot_axes(length, s)
    paths, sizes, mixes = np.linalg.svd(axes.T @ rest, full_matrices=False)
    count = truncation.count_kept(sizes, mixes)
    knots = np.linalg.solve(to_knots, paths[:, :count])
    exponents = cobra.importance_exponents(sizes[:count], knots)
    steps = cobra.steps(Q_l / np.sqrt(s), exponents)
    whole = np.round(knots / steps).astype(np.int64)
    # the decoder has the quantized trajectories, so a closed loop fits the coefficients to them
    seen = cobra.interpolation(length, s) @ (whole * steps if closed_loop else knots)
    coefficients = np.round(_fit(seen, rest)).astype(np.int64)
    if mean is None:
        return Trajectories(s, exponents, whole, coefficients)
    return Trajectories(
        s,
        np.concatenate([mean.exponents, exponents]),
        np.concatenate([mean.knots, whole], axis=1),
        np.concatenate([np.zeros((1, channels), np.int64), coefficients]),
    )


def best_stride(chunk: F64, truncation: Truncation) -> int:
    """Return the s whose error and cost together are least.

    Fewer samples lose fast motion but cost less; error and cost are weighted at equal slopes.
    """
    total = float(np.sum(chunk**2))
    best, least = 1, np.inf
    for s in STRIDES:
        axes, _ = cobra.knot_axes(len(chunk), s)
        if s > 1 and axes.shape[1] == len(chunk):
            continue
        seen = axes.T @ chunk
        sizes, mixes = _spectrum(seen, with_mixes=truncation.share is not None)
        count = truncation.count_kept(sizes, mixes)
        missed = total - float(np.sum(sizes[:count] ** 2))
        cost = missed + SLOPE * BITS_OF_KNOT * count * axes.shape[1]
        if cost < least:
            best, least = s, cost
    return best


def _spectrum(seen: F64, *, with_mixes: bool) -> tuple[F64, F64]:
    """Return the norms of the trajectories' coefficients, falling, and, if wanted, their mixes."""
    if with_mixes:
        return np.linalg.svd(seen, full_matrices=False)[1:]
    small = seen @ seen.T if seen.shape[0] < seen.shape[1] else seen.T @ seen
    return np.sqrt(np.maximum(np.linalg.eigvalsh(small)[::-1], 0)), np.zeros((0, 0))


def _quantized_mean(chunk: F64, s: int, Q_l: float) -> Trajectories:
    """Return the mean of all channels as a trajectory with coefficient 1 in each."""
    length, channels = chunk.shape
    axes, to_knots = cobra.knot_axes(length, s)
    mean = chunk.sum(axis=1, keepdims=True) / max(channels, 1)
    knots = np.linalg.solve(to_knots, axes.T @ mean)
    exponents = cobra.importance_exponents(np.array([np.sqrt(channels)]), knots)
    steps = cobra.steps(Q_l / np.sqrt(s), exponents)
    whole = np.round(knots / steps).astype(np.int64)
    return Trajectories(s, exponents, whole, np.ones((1, channels), np.int64))


def _fit(paths: F64, chunk: F64) -> F64:
    """Return the coefficients (M, K) by which `paths` (length, M) come nearest to `chunk`."""
    if not paths.shape[1]:
        return np.zeros((0, chunk.shape[1]))
    return np.asarray(np.linalg.lstsq(paths, chunk, rcond=1e-9)[0])
