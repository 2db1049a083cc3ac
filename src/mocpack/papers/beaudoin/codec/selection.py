"""Select wavelet coefficients: a number of each signal, the strongest first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack.common.arrays import F64, Mask
from mocpack.model.clip import Clip
from mocpack.papers.beaudoin.codec import lifting
from mocpack.papers.beaudoin.codec.lifting import Update
from mocpack.papers.beaudoin.codec.signals import (
    Rotation,
    SignalPlan,
    bone_reach,
    layout,
    moving,
    ranking_weights,
    to_signals,
)

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ranking:
    """The coefficients of some signals, and their order of strength.

    Attributes
    ----------
    coefficients : array, shape (S, n)
        From the widest basis function to the narrowest.
    strengths : array, shape (S, n)
        Contribution of each to its signal: magnitude times the norm of its basis function.
    order : array of int, shape (S, n)
        Indices of the coefficients of each signal, the strongest first.
    update : str
        Update step of the wavelet.
    """

    coefficients: F64
    strengths: F64
    order: npt.NDArray[np.intp]
    update: Update

    @property
    def shape(self) -> tuple[int, int]:
        signals, length = self.coefficients.shape
        return signals, length

    def strongest(self, counts: Counts) -> F64:
        """Return the coefficients (S, n) with all but the strongest of each signal zero.

        The paper's trunc(θ_i, m_i), section 4, before the inverse transform.
        """
        out = np.zeros_like(self.coefficients)
        for i, count in enumerate(counts):
            where = self.order[i, :count]
            out[i, where] = self.coefficients[i, where]
        return out

    def between(self, signals: npt.NDArray[np.intp], low: Counts, high: Counts) -> F64:
        """Return the sum of the coefficients of rank `low` to `high`, for each of `signals`."""
        out = np.zeros((len(signals), self.shape[1]))
        for row, i in enumerate(signals):
            where = self.order[i, low[row] : high[row]]
            out[row, where] = self.coefficients[i, where]
        return lifting.inverse(out, update=self.update)


@dataclass(frozen=True, eq=False)
class Analysis:
    """A clip as ranked coefficients.

    Attributes
    ----------
    plan : SignalPlan
        The meaning of each signal.
    ranking : Ranking
    moving : array of bool, shape (S,)
    weights : array, shape (S,)
        Meters per unit of each signal.
    """

    plan: SignalPlan
    ranking: Ranking
    moving: Mask
    weights: F64

    def standard_counts(self, ratio: float) -> Counts:
        """Return how many coefficients (S,) the standard method keeps of each signal."""
        return choose_counts(self.ranking, self.moving, self.weights, ratio)


def analyze(clip: Clip, *, rotation: Rotation, update: Update) -> Analysis:
    """Transform a clip's signals and rank their coefficients."""
    plan = layout(clip.header, rotation)
    signals = to_signals(clip, plan)
    return Analysis(
        plan, rank(signals, update), moving(signals), ranking_weights(plan, bone_reach(clip))
    )


def rank(signals: F64, update: Update) -> Ranking:
    """Transform signals (S, n) and put their coefficients in order of strength."""
    coefficients = lifting.forward(signals, update=update)
    strengths = np.abs(coefficients) * lifting.synthesis_norms(signals.shape[1], update)
    order = np.argsort(-strengths, axis=1, kind="stable")
    return Ranking(coefficients, strengths, order, update)


def choose_counts(ranking: Ranking, moving: Mask, weights: F64, ratio: float) -> Counts:
    """Return how many coefficients (S,) to keep of each signal: the strongest of all signals.

    The paper's vector w, section 4.

    Parameters
    ----------
    moving : array of bool, shape (S,)
        Signals that share the budget of (moving signals · n) / ratio coefficients; any other is
        constant and keeps its first coefficient, unless that is zero.
    weights : array, shape (S,)
        Factor that makes the strengths of different signals comparable.
    """
    length = ranking.shape[1]
    budget = int(moving.sum() * length / ratio)
    strengths = ranking.strengths[moving] * weights[moving, np.newaxis]
    kept = strongest(strengths, budget)
    counts = np.where(ranking.coefficients[:, 0] != 0, 1, 0)
    counts[moving] = kept.sum(1)
    return counts


def strongest(strengths: F64, budget: int) -> Mask:
    """Return which `budget` entries are largest; the first ones where several are equal."""
    mask = np.zeros(strengths.size, bool)
    mask[np.argsort(-strengths, axis=None, kind="stable")[:budget]] = True
    return mask.reshape(strengths.shape)
