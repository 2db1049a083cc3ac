"""Low-passes of increasing strength that keep rounding noise from showing as trembling.

Maximally flat (Herrmann's) filters: slow motion passes unchanged to many digits. With
s = sin²(ω/2), their gain is (1 - s)^K Σ_{i<L} C(K-1+i, i) s^i, and every tap a fraction of
4^(K+L-1). The mildest are such a filter in part, and leave the rest of the motion as it is.
"""

from __future__ import annotations

from functools import cache
from math import comb

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]

# (K, L, part) by strength; whole ones leave half at 1/2, 0.38 and 1/3 of half the frame rate
FILTERS = (
    (0, 1, 0.0),
    (4, 4, 0.125),
    (4, 4, 0.25),
    (4, 4, 0.5),
    (4, 4, 1.0),
    (6, 3, 1.0),
    (8, 3, 1.0),
)


def low_pass(channels: F64, strength: int) -> F64:
    """Smooth channels (T, C) over time; the motion goes on, mirrored in its ends, beyond them."""
    side = taps(strength)
    reach, count = len(side) - 1, len(channels)
    if not reach or count <= reach:
        return channels
    before = 2 * channels[0] - channels[reach:0:-1]
    after = 2 * channels[-1] - channels[-2 : -reach - 2 : -1]
    longer = np.concatenate([before, channels, after])
    out = side[0] * channels
    for k in range(1, reach + 1):
        early, late = longer[reach - k :][:count], longer[reach + k :][:count]
        out += side[k] * (early + late)
    return np.asarray(out)


@cache
def taps(strength: int) -> tuple[float, ...]:
    """Return the centre and one side of a symmetric filter.

    >>> taps(4)[:3]
    (0.5, 0.299072265625, 0.0)
    """
    order, flatness, part = FILTERS[strength]
    rise, fall = np.array([-0.25, 0.5, -0.25]), np.array([0.25, 0.5, 0.25])
    reach = order + flatness - 1
    total = np.zeros(2 * reach + 1)
    term = np.ones(1)
    for _ in range(order):
        term = np.convolve(term, fall)
    for i in range(flatness):
        ends = reach - len(term) // 2
        total[ends : len(total) - ends] += comb(max(order - 1 + i, 0), i) * term
        term = np.convolve(term, rise)
    total *= part
    total[reach] += 1 - part
    return tuple(float(x) for x in total[reach:])
