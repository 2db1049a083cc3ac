"""The Cohen-Daubechies-Feauveau 9/7 wavelet along time, for any number of frames.

By lifting, with mirror extension, scaled so that white noise stays nearly white: one quantizer
step then serves all bands. The native core computes it.
"""

from __future__ import annotations

import numpy as np

from mocpack import _core
from mocpack.common.arrays import F64, Mask

SHORTEST = 4  # rows; a band with more is halved again


def level_count(frames: int, most: int = 0) -> int:
    """Return the number of levels for a number of frames; at most `most`, unless that is 0.

    >>> [level_count(n) for n in (1, 4, 5, 16, 17, 580)]
    [0, 0, 1, 2, 3, 8]
    >>> level_count(580, most=3)
    3
    """
    levels = 0
    while frames > SHORTEST and (levels < most or most == 0):
        frames = _low(frames)
        levels += 1
    return levels


def band_slices(frames: int, levels: int) -> list[slice]:
    """Return the rows of each band, coarsest first: the low band, then each level's high band."""
    ends = [frames]
    for _ in range(levels):
        ends.append(_low(ends[-1]))
    return [slice(0, ends[-1])] + [slice(ends[k], ends[k - 1]) for k in range(levels, 0, -1)]


def forward(signals: F64, levels: int) -> F64:
    """Return the coefficients (T, C) of signals (T, C), rows as in `band_slices`."""
    values = np.array(signals, np.float64, order="C")
    _core.wavelet97(values, levels, inverse=False)
    return values


def inverse(coefficients: F64, levels: int) -> F64:
    """Return the signals (T, C) that `forward` turned into `coefficients`."""
    values = np.array(coefficients, np.float64, order="C")
    _core.wavelet97(values, levels, inverse=True)
    return values


def touched(frames: Mask, levels: int) -> Mask:
    """Return which coefficients (T,) affect any of the marked frames (T,)."""
    out = frames.copy()
    rows = len(frames)
    for _ in range(levels):
        low = _low(rows)
        part = out[:rows].copy()
        # synthesis filters: 7 taps from the low band, 9 from the high
        out[:low], out[low:rows] = _near(part, 3)[0::2], _near(part, 4)[1::2]
        rows = low
    return out


def _low(rows: int) -> int:
    return rows - rows // 2


def _near(mask: Mask, reach: int) -> Mask:
    """Return the rows within `reach` of a marked one; mirrored ends only shorten the distance."""
    return np.convolve(mask, np.ones(2 * reach + 1, int), "same")[: len(mask)] > 0
