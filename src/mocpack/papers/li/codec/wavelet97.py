"""The Cohen-Daubechies-Feauveau 9/7 wavelet along time, for any number of frames.

By lifting, with mirror extension, scaled so that white noise stays nearly white: one quantiser
step then serves all bands. The native core computes it; the numpy text beside it says what.
"""

from __future__ import annotations

import numpy as np

from mocpack import _core
from mocpack.arrays import F64, Mask

LIFTS = (-1.586134342059924, -0.052980118572961, 0.882911075530934, 0.443506852043971)
SCALE = 1.149604398860241
SHORTEST = 4  # a band is halved again while it has more rows than this


def level_count(frames: int, most: int = 0) -> int:
    """Return how often a signal of this many frames is halved; `most` limits it, unless 0.

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


def forward_numpy(signals: F64, levels: int) -> F64:
    """The same as `forward` in plain numpy."""
    values = np.array(signals, np.float64)
    rows = len(values)
    for _ in range(levels):
        if rows < 2:
            break
        part = values[:rows].copy()
        for k, factor in enumerate(LIFTS):
            _lift(part, (k + 1) % 2, factor)
        low = _low(rows)
        values[:low], values[low:rows] = SCALE * part[0::2], part[1::2] / SCALE
        rows = low
    return values


def inverse_numpy(coefficients: F64, levels: int) -> F64:
    """The same as `inverse` in plain numpy."""
    values = np.array(coefficients, np.float64)
    ends = [len(values)]
    for _ in range(levels):
        ends.append(_low(ends[-1]))
    for rows in ends[-2::-1]:
        if rows < 2:
            continue
        low = _low(rows)
        part = np.empty_like(values[:rows])
        part[0::2], part[1::2] = values[:low] / SCALE, values[low:rows] * SCALE
        for k in range(3, -1, -1):
            _lift(part, (k + 1) % 2, -LIFTS[k])
        values[:rows] = part
    return values


def touched(frames: Mask, levels: int) -> Mask:
    """Return which coefficients (T,) a change of which shows in any of the marked frames (T,)."""
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


def _lift(rows: F64, start: int, factor: float) -> None:
    """Add `factor` times both neighbours to every second row, from `start`; mirrored at ends."""
    at = np.arange(start, len(rows), 2)
    above, below = np.abs(at - 1), np.where(at + 1 < len(rows), at + 1, len(rows) - 2)
    rows[at] += factor * (rows[above] + rows[below])


def _near(mask: Mask, reach: int) -> Mask:
    """Return the rows within `reach` of a marked one; mirrored ends only shorten the distance."""
    return np.convolve(mask, np.ones(2 * reach + 1, int), "same")[: len(mask)] > 0
