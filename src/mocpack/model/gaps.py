"""Fill gaps in marker positions, so that codecs encode a smooth motion."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from mocpack.common.arrays import F64, Mask


def fill_gaps(places: F64, valid: Mask) -> None:
    """Fill invalid positions (T, 3) in place: cubic inside gaps, constant before and after."""
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
