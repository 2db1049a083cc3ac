"""Which channels foretell which: the list of predictors that a head holds.

The coefficients of a channel are often a fixed multiple of those of another, of an earlier track:
limbs swing together, and a joint takes back what its parent's rounding moved. Each predictor tells
from which channel, by how many sixteenths, and in which band of frequencies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack.arrays import F64, I32

SLOW, FAST = 5, 15  # half hertz, where bands end
MOST_PER_CHANNEL = 3
LISTED_BITS = 16.0  # that a predictor takes in the head, about
SIXTEENTHS, LARGEST_FACTOR = 16, 64
NEAREST = 3  # sources whose gain is found exactly, of each band
FLOOR = 0.4  # of a squared step: what is smaller costs hardly less


@dataclass(frozen=True)
class Observed:
    """What an encoder saw: coefficient k of a block stands k frames after its first.

    Attributes
    ----------
    wanted, decoded, steps : array, shape (C, T)
        What coefficients should be, what they are, and the quantiser's steps there.
    paces : array of int, shape (T,)
        Their frequencies, in half hertz.
    first_channels : array of int, shape (C,)
        The first channel of the same track.
    size : int
        Bytes of the groups.
    """

    wanted: F64
    decoded: F64
    steps: F64
    paces: I32
    first_channels: npt.NDArray[np.intp]
    size: int


def choose(seen: Observed, *, repeats: float) -> I32:
    """Return predictors (N, 4): channel, source, band, factor; greedily, channel by channel.

    Parameters
    ----------
    repeats : float
        How many times as long as what was seen the clip is that shares their cost.
    """
    moving = seen.paces > 0
    wanted, decoded = seen.wanted[:, moving], seen.decoded[:, moving]
    paces = seen.paces[moving]
    steps = np.where(seen.steps > 0, seen.steps, np.nan)[:, moving]
    usual = np.nanmedian(steps) if np.isfinite(steps).any() else 0.0
    if not usual:
        return np.zeros((0, 4), np.int32)
    bands = np.array([paces > 0, paces <= SLOW, paces > SLOW, paces > FAST], float)
    order = np.minimum(paces, 255)
    counts = np.maximum(np.bincount(order, minlength=256), 1)
    found: list[tuple[int, int, int, int]] = []
    for channel, first in enumerate(seen.first_channels):
        if not first:
            continue
        y, sources = wanted[channel], decoded[:first]
        energy = np.bincount(order, y * y, minlength=256) / counts
        weights = 1 / (energy[order] + 0.3 * usual**2)
        least = LISTED_BITS / repeats
        for source, band, factor in _greedy(y / usual, sources / usual, weights, bands, least):
            found.append((channel, source, band, factor))
    return np.array(found, np.int32).reshape(-1, 4)


def _greedy(
    y: F64, sources: F64, weights: F64, bands: F64, least: float
) -> list[tuple[int, int, int]]:
    """Return up to three predictors of a row, each of which saves at least so many bits."""
    chosen: list[tuple[int, int, int]] = []
    cost = _bits(y)
    for _ in range(MOST_PER_CHANNEL):
        # (bands, sources): what the best factors would be, and how much of the energy they explain
        along = (bands * (weights * y)) @ sources.T
        across = (bands * weights) @ (sources * sources).T + 1e-12
        best = None
        for band, source in _nearest(along**2 / across):
            factor = round(SIXTEENTHS * along[band, source] / across[band, source])
            if not 0 < abs(factor) <= LARGEST_FACTOR:
                continue
            left = y - factor / SIXTEENTHS * bands[band] * sources[source]
            bits = _bits(left)
            if best is None or bits < best[0]:
                best = bits, (source, band, factor), left
        if best is None or best[0] > cost - least:
            break
        cost, y = best[0], best[2]
        chosen.append(best[1])
    return chosen


def _nearest(gains: F64) -> list[tuple[int, int]]:
    rows = np.argsort(gains, axis=1)[:, ::-1][:, :NEAREST]
    return [(band, int(source)) for band, row in enumerate(rows) for source in row]


def _bits(y: F64) -> float:
    return float(0.5 * np.log2(y * y + FLOOR).sum())
