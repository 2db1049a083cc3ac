"""Gaps of markers: places that were not seen, filled so that a codec sees a smooth motion."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from mocpack.arrays import F64, Mask


def fill_gaps(places: F64, valid: Mask) -> None:
    """Fill places (T, 3) where they are not valid: cubics between what is around, level outside."""
    known = np.flatnonzero(valid)
    if not len(known):
        places[:] = 0.0
        return
    places[: known[0]], places[known[-1] :] = places[known[0]], places[known[-1]]
    for before, after in pairwise(known.tolist()):
        if after == before + 1:
            continue
        length = after - before
        into = places[before] - places[before - 1] if before and valid[before - 1] else 0.0
        last = after + 1 < len(places) and valid[after + 1]
        out = places[after + 1] - places[after] if last else 0.0
        t = (np.arange(1, length) / length)[:, np.newaxis]
        places[before + 1 : after] = (
            (2 * t**3 - 3 * t**2 + 1) * places[before]
            + (t**3 - 2 * t**2 + t) * length * into
            + (3 * t**2 - 2 * t**3) * places[after]
            + (t**3 - t**2) * length * out
        )
