"""The Cohen-Daubechies-Feauveau 9/7 wavelet along time, by lifting, in plain numpy."""

from __future__ import annotations

import numpy as np

from mocpack.common.arrays import F64

LIFTS = (-1.586134342059924, -0.052980118572961, 0.882911075530934, 0.443506852043971)
SCALE = 1.149604398860241


def forward_numpy(signals: F64, levels: int) -> F64:
    """Return the coefficients (T, C) of signals (T, C), the low band first."""
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
    """Undo `forward_numpy`."""
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


def _low(rows: int) -> int:
    return rows - rows // 2


def _lift(rows: F64, start: int, factor: float) -> None:
    """Add `factor` times both neighbors to every second row, from `start`; mirrored at ends."""
    at = np.arange(start, len(rows), 2)
    above, below = np.abs(at - 1), np.where(at + 1 < len(rows), at + 1, len(rows) - 2)
    rows[at] += factor * (rows[above] + rows[below])
