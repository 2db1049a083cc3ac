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
    wanted, decoded = wanted / usual, decoded / usual
    squares = decoded * decoded
    bands = np.array([paces > 0, paces <= SLOW, paces > SLOW, paces > FAST], float)
    order = np.minimum(paces, 255)
    counts = np.maximum(np.bincount(order, minlength=256), 1)
    found: list[tuple[int, int, int, int]] = []
    for channel, first in enumerate(seen.first_channels):
        if not first:
            continue
        y = wanted[channel]
        energy = np.bincount(order, y * y, minlength=256) / counts
        weights = bands / (energy[order] + 0.3)
        energies = weights @ squares[:first].T + 1e-12
        least = LISTED_BITS / repeats
        for source, band, factor in _greedy(y, decoded[:first], energies, weights, bands, least):
            found.append((channel, source, band, factor))
    return np.array(found, np.int32).reshape(-1, 4)


def _greedy(
    y: F64, sources: F64, energies: F64, weights: F64, bands: F64, least: float
) -> list[tuple[int, int, int]]:
    """Return up to three predictors of a row, each of which saves at least so many bits.

    Parameters
    ----------
    y : array, shape (T,)
    sources : array, shape (S, T)
    energies : array, shape (4, S)
        Of the sources by band, weighted.
    weights, bands : array, shape (4, T)
        What counts in each band and how much, and whether it belongs there.
    """
    chosen: list[tuple[int, int, int]] = []
    cost = float(_bits(y))
    for _ in range(MOST_PER_CHANNEL):
        # what the best factors would be, and how much of the energy they explain
        along = (weights * y) @ sources.T
        rows, columns = _nearest(along**2 / energies)
        factors = np.round(SIXTEENTHS * along[rows, columns] / energies[rows, columns])
        may = (factors != 0) & (np.abs(factors) <= LARGEST_FACTOR)
        rows, columns, factors = rows[may], columns[may], factors[may]
        if not len(factors):
            break
        left = y - factors[:, np.newaxis] / SIXTEENTHS * bands[rows] * sources[columns]
        bits = _bits(left)
        best = int(np.argmin(bits))
        if bits[best] > cost - least:
            break
        cost, y = float(bits[best]), left[best]
        chosen.append((int(columns[best]), int(rows[best]), int(factors[best])))
    return chosen


def _nearest(gains: F64) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return bands and sources of the largest gains (4, S), some of each band."""
    count = min(NEAREST, gains.shape[1])
    columns = np.argsort(gains, axis=1)[:, ::-1][:, :count]
    return np.repeat(np.arange(len(gains)), count), columns.ravel()


def _bits(y: F64) -> F64:
    return np.asarray(0.5 * np.log2(y * y + FLOOR).sum(axis=-1))
