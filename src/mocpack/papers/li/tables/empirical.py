"""Empirical entropy: the bits that an ideal coder of order zero would spend, for comparison only.

Papers quote it in place of a file size. It leaves out the cost of the statistics themselves, so
our tables print real bytes next to it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def column_entropy(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the entropy, in bits per symbol, of each column of integers (rows, columns).

    >>> column_entropy([[0, 5], [1, 5], [0, 5], [1, 5]]).tolist()
    [1.0, 0.0]
    """
    plane = np.asarray(values)
    return np.array([_entropy(column) for column in plane.T]).reshape(plane.shape[1])


def _entropy(symbols: npt.NDArray[np.int64]) -> float:
    if not len(symbols):
        return 0.0
    _, counts = np.unique(symbols, return_counts=True)
    share = counts / counts.sum()
    # + 0.0: a single symbol gives -0.0
    return float(-np.sum(share * np.log2(share))) + 0.0
