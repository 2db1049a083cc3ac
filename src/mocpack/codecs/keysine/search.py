"""How hard the encoder searches, and what bits and errors cost it there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.codecs.keysine.tracks import SPREAD

F32 = npt.NDArray[np.float32]

BAND_CENTRES = np.array([1, 2, 3, 4, 5, 6, 7.5, 9.5, 12, 15, 20, 25, 32, 41, 52, 70])
SIZES = 40  # magnitudes that the rate table tells apart


@dataclass(frozen=True)
class Effort:
    """Settings of the search at one level of effort; `keysine/encode/search.h` explains each."""

    sweeps: int
    repairs: int
    coarsest: int
    finest: int
    greedy: bool


EFFORTS = {
    "fast": Effort(0, 40, 7, 9, True),
    "default": Effort(4, 60, 6, 11, False),
    "best": Effort(8, 90, 4, 13, False),
}
OUTSIDE = 60.0  # bits, for each unit of squared displacement beyond the allowance
ROUNDING = 0.33
FREE_ROUNDING = 0.37
CALM = 4.0  # bits for a squared step of energy above 30 Hz that the source does not have
TREMBLE_FROM = 30.0  # hertz
SQUARE_PRICE = 5.0  # bits for a squared step of error, where no bound is asked
FREE_STEPS = (8, 10)
FREE_KEY_STEP = 11
FREE_SHELL = 2.5  # what guards twist may move so much further than what is measured
LOOSE, TIGHT = 8e-3, 2.5e-3  # metres: where other blocks and models fit better
GRID_PRICE = 3.0  # bits that all of an allowance is worth, on a grid in time
GRID_WAYS = {"fast": 2, "default": 8, "best": 16}  # to write a frame, that are kept side by side
SOFTNESS = ((20e-3, 1.0), (10e-3, 2.0), (5e-3, 4.0), (2e-3, 6.0), (1e-3, 8.0))


def bounded(effort: str, bound: float) -> _core.KeysineSettings:
    """Return the search's settings for a bound on the largest error, in metres."""
    made = _settings(EFFORTS[effort])
    made.over, made.square, made.linear = OUTSIDE, _softness(bound), 0.0
    made.inner, made.shrink, made.shell, made.key_share = 1.0, 0.2, 1.0, 0.7
    made.bound = bound
    return made


def gridded(effort: str, bound: float) -> _core.KeysineSettings:
    """Return the search's settings for a grid in time within a bound, in metres."""
    made = bounded(effort, bound)
    made.inner, made.shrink = 0.95, 0.15
    made.grid_price, made.grid_ways = GRID_PRICE, GRID_WAYS[effort]
    made.thorough = int(effort == "best")
    return made


def free(effort: str, step: float) -> _core.KeysineSettings:
    """Return the search's settings for a step: errors have a price, and no bound."""
    made = _settings(EFFORTS[effort])
    made.over, made.square, made.linear = 0.0, 0.0, SQUARE_PRICE
    # origins weigh as they do in the channels, by their descendants; bone ends a third
    made.bound, made.inner, made.shrink = np.sqrt(3) * step, np.sqrt(1 / 3), 0.5 * SPREAD
    made.shell, made.key_share, made.repairs = FREE_SHELL, 0.0, 0
    made.rounding = FREE_ROUNDING
    made.coarsest, made.finest = FREE_STEPS
    return made


def _settings(effort: Effort) -> _core.KeysineSettings:
    made = _core.KeysineSettings()
    made.rounding = ROUNDING
    made.calm, made.calm_from = CALM, 1.0
    made.sweeps, made.repairs = effort.sweeps, effort.repairs
    made.coarsest, made.finest = effort.coarsest, effort.finest
    made.greedy = int(effort.greedy)
    return made


def block_choices(step: float, effort: str) -> tuple[float, ...]:
    """Return how many seconds apart keys may be: the finer the error, the shorter pays."""
    if effort == "fast":
        return (0.5 if step > TIGHT else 0.25,)
    if effort == "best":
        return (0.25, 0.5, 0.75, 1.0)
    return (0.5, 1.0) if step > LOOSE else (0.25, 0.5)


def model_set(step: float, seconds: float) -> int:
    """Return the trained set that fits: 0 in general, for loose steps 1 (long blocks) or 2."""
    return 0 if step <= LOOSE else 1 if seconds > 0.6 else 2


@cache
def rates() -> F32:
    """Return bits by band, neighbours, block before and magnitude: (16, 8, 8, 40)."""
    band = BAND_CENTRES[:, np.newaxis, np.newaxis]
    near, before = np.arange(8.0)[np.newaxis, :, np.newaxis], np.arange(8.0)
    activity = 0.68 * near + 0.32 * before + np.maximum(0, 6 - band) * 0.35
    zero = np.clip(1 / (1 + 0.032 * 2 ** np.minimum(activity, 8)), 0.02, 0.985)
    more = np.minimum(0.85, 0.2 + 0.08 * activity)
    sizes = np.arange(1.0, SIZES)
    bits = np.empty((16, 8, 8, SIZES), np.float32)
    bits[..., 0] = -np.log2(zero)
    bits[..., 1:] = (1 - np.log2(1 - zero) - np.log2(1 - more))[..., np.newaxis] - (
        (sizes - 1) * np.log2(more)[..., np.newaxis]
    )
    return bits


def _softness(bound: float) -> float:
    """Price of u² in bits: an even error is worth more, the tighter the bound."""
    bounds, prices = zip(*reversed(SOFTNESS), strict=True)
    return float(np.interp(np.log(bound), np.log(bounds), prices))
