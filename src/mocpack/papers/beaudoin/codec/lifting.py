"""The cubic interpolating biorthogonal wavelet, built by lifting, for signals of any length.

One level splits a signal into even and odd samples, predicts each odd one by the cubic through
the four nearest even ones (one-sided near the ends) and keeps the difference, the detail; then an
update adds a share of the details to the even samples, which makes the coarse signal a fair
average. Levels repeat down to one sample. Coefficients are ordered from the widest basis function
to the narrowest: the coarse sample, then each level's details, coarsest level first.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.common.arrays import F64

Update = Literal["none", "4-2", "4-4"]
UPDATES: tuple[Update, ...] = ("none", "4-2", "4-4")
EDGE = 12  # basis functions this many spacings from either end have the same shape


def forward(signals: F64, *, update: Update = "4-4") -> F64:
    """Return the wavelet coefficients (S, n) of signals (S, n)."""
    coefficients = np.array(signals, np.float64, order="C")
    _core.lifting_forward(coefficients, UPDATES.index(update))
    return coefficients


def inverse(coefficients: F64, *, update: Update = "4-4") -> F64:
    """Return the signals (S, n) of wavelet coefficients (S, n)."""
    signals = np.array(coefficients, np.float64, order="C")
    _core.lifting_inverse(signals, UPDATES.index(update))
    return signals


def level_sizes(length: int) -> list[int]:
    """Return the lengths that the levels split, finest first.

    >>> level_sizes(9)
    [9, 5, 3, 2]
    """
    sizes = []
    while length > 1:
        sizes.append(length)
        length = (length + 1) // 2
    return sizes


@lru_cache(maxsize=16)
def synthesis_norms(length: int, update: Update = "4-4") -> F64:
    """Return the Euclidean norm (n,) of each coefficient's basis function.

    A coefficient times this norm is its contribution to the signal, so that coefficients of
    all levels can be ranked together. Away from the ends the functions of one level are copies of
    each other, so one of them is measured for all.
    """
    norms = np.empty(length)
    norms[:1] = _norms_at(length, np.arange(min(length, 1)), update)
    for size in level_sizes(length):
        half, count = (size + 1) // 2, size // 2
        if count <= 2 * EDGE + 1:
            norms[half:size] = _norms_at(length, np.arange(half, size), update)
            continue
        ends = np.concatenate([np.arange(EDGE + 1), np.arange(count - EDGE, count)])
        found = _norms_at(length, half + ends, update)
        norms[half:size] = found[EDGE]
        norms[half + ends] = found
    norms.setflags(write=False)
    return norms


def _norms_at(length: int, where: npt.NDArray[np.intp], update: Update) -> F64:
    impulses = np.zeros((len(where), length))
    impulses[np.arange(len(where)), where] = 1.0
    return np.asarray(np.linalg.norm(inverse(impulses, update=update), axis=1))
