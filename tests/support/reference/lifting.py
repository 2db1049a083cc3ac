"""The wavelet of `papers/beaudoin/codec/lifting.py` in plain numpy, level by level."""

from __future__ import annotations

import numpy as np

from mocpack.common.arrays import F64
from mocpack.papers.beaudoin.codec.lifting import Update, level_sizes

NEAR_FAR = {"none": (0.0, 0.0), "4-2": (1 / 4, 0.0), "4-4": (9 / 32, -1 / 32)}


def forward_numpy(signals: F64, *, update: Update = "4-4") -> F64:
    """Return the wavelet coefficients (S, n) of signals (S, n)."""
    out = np.array(signals, np.float64)
    for size in level_sizes(out.shape[1]):
        evens, odds = out[:, 0:size:2].copy(), out[:, 1:size:2].copy()
        odds -= evens @ _prediction(size).T
        evens += _update(odds, evens.shape[1], update)
        out[:, :size] = np.concatenate([evens, odds], axis=1)
    return out


def inverse_numpy(coefficients: F64, *, update: Update = "4-4") -> F64:
    """Undo `forward_numpy`, level by level."""
    out = np.array(coefficients, np.float64)
    for size in reversed(level_sizes(out.shape[1])):
        half = (size + 1) // 2
        evens, odds = out[:, :half].copy(), out[:, half:size].copy()
        evens -= _update(odds, half, update)
        odds += evens @ _prediction(size).T
        out[:, 0:size:2], out[:, 1:size:2] = evens, odds
    return out


def _prediction(size: int) -> F64:
    """Return the matrix (odds, evens) of Lagrange weights of one level."""
    evens, odds = (size + 1) // 2, size // 2
    window = min(4, evens)
    weights = np.zeros((odds, evens))
    for i in range(odds):
        first = min(max(i - 1, 0), evens - window)
        weights[i, first : first + window] = _lagrange(i + 0.5 - first, window)
    return weights


def _lagrange(at: float, window: int) -> F64:
    """Return the weights that samples at 0, 1, …, window - 1 have in the polynomial at `at`."""
    nodes = np.arange(window)
    return np.array(
        [np.prod([(at - m) / (k - m) for m in nodes if m != k]) for k in nodes], np.float64
    )


def _update(details: F64, evens: int, update: Update) -> F64:
    """Return the update of each even sample from the details; details past an end are zero."""
    near, far = NEAR_FAR[update]
    padded = np.pad(details, ((0, 0), (2, 2)))
    left2, left, right, right2 = (padded[:, k : k + evens] for k in range(4))
    return np.asarray(near * (left + right) + far * (left2 + right2))
