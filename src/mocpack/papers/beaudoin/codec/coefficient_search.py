"""Search how to divide a number of coefficients among signals (Beaudoin et al. 2007, §5).

`random_descent` is the paper's Algorithm 1: take some coefficients from a random signal, give them
to the one that gains most, and take smaller steps once nothing gains any more. `directed_descent`
moves between the signals that lose least and gain most, several at a time: it needs a quarter of
the evaluations and seldom ends worse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mocpack.common.arrays import F64, Mask
from mocpack.model.clip import Clip
from mocpack.papers.beaudoin.codec.position_error import CountedError, PositionError
from mocpack.papers.beaudoin.codec.selection import Analysis, Counts

Method = Literal["fast", "exact"]
METHODS: tuple[Method, ...] = ("fast", "exact")

PATIENCE = 10  # failures in a row before the step is halved, as in the paper
PAIRS = 8  # moves that `directed_descent` tries to make at once
FRAMES_TO_SEE = 1024  # minimum that the fast search evaluates, if the clip has that many
WIDEST_STRIDE = 4
MIN_GAIN = 1e-9  # share of the error below which a gain is rounding


@dataclass(frozen=True, eq=False)
class Outcome:
    """Result of a search: counts (S,), and the number of steps that it tried."""

    counts: Counts
    iterations: int


def random_descent(
    start: Counts,
    movable: Mask,
    length: int,
    error: CountedError,
    *,
    seed: int,
    patience: int = PATIENCE,
) -> Outcome:
    """Search by Algorithm 1 of the paper (section 5), from w to m.

    Parameters
    ----------
    start : array of int, shape (S,)
        Counts to begin with; their sum is kept.
    movable : array of bool, shape (S,)
        Signals whose counts may change.
    length : int
        Maximum count of a signal.
    """
    counts = start.copy()
    random = np.random.Generator(np.random.PCG64(seed))
    step = int(counts[movable].max(initial=0)) // 2
    failures = iterations = 0
    while step > 0:
        donor = int(random.choice(np.flatnonzero(movable & (counts > 0))))
        size = min(step, int(counts[donor]))
        counts[donor] -= size
        now, changes = error.with_more(counts, size)
        receiver = _best_receiver(now + changes, donor, movable & (counts + size <= length))
        counts[receiver] += size
        iterations += 1
        failures = failures + 1 if receiver == donor else 0
        if failures == patience:
            step, failures = step // 2, 0
    return Outcome(counts, iterations)


def _best_receiver(errors: F64, donor: int, allowed: Mask) -> int:
    best = int(np.argmin(np.where(allowed, errors, np.inf)))
    return best if errors[best] < errors[donor] else donor


def directed_descent(start: Counts, movable: Mask, length: int, error: CountedError) -> Outcome:
    """Search by moving from the signals that lose least to those that gain most."""
    counts = start.copy()
    step = int(counts[movable].max(initial=0)) // 2
    iterations = 0
    now, gains = error.with_more(counts, step)
    while step > 0:
        _, losses = error.with_fewer(counts, step)
        pairs = _promising_pairs(
            np.where(movable & (counts >= step), losses, np.inf),
            np.where(movable & (counts + step <= length), gains, np.inf),
            -MIN_GAIN * now,
        )
        found = now
        while pairs and not found < now:
            iterations += 1
            trial = _moved(counts, pairs, step)
            found, gains = error.with_more(trial, step)
            pairs = pairs[: len(pairs) // 2]  # moves made together can cancel each other's gain
        if found < now:
            counts, now = trial, found
        else:
            step //= 2
            now, gains = error.with_more(counts, step)
    return Outcome(counts, iterations)


def _promising_pairs(losses: F64, gains: F64, at_most: float) -> list[tuple[int, int]]:
    """Pair the best donors with the best receivers, each once, while a pair reduces the error."""
    pairs: list[tuple[int, int]] = []
    used: set[int] = set()
    receivers = list(np.argsort(gains, kind="stable"))
    for donor in np.argsort(losses, kind="stable"):
        free = [r for r in receivers if r != donor and r not in used]
        if donor in used or not free:
            continue
        receiver = free[0]
        if not losses[donor] + gains[receiver] < at_most or len(pairs) == PAIRS:
            break
        pairs.append((int(donor), int(receiver)))
        used |= {donor, receiver}
    return pairs


def _moved(counts: Counts, pairs: list[tuple[int, int]], size: int) -> Counts:
    out = counts.copy()
    for donor, receiver in pairs:
        out[donor] -= size
        out[receiver] += size
    return out


def position_search(
    clip: Clip,
    found: Analysis,
    weights: F64,
    ratio: float,
    *,
    method: Method,
    seed: int,
    patience: int,
) -> Outcome:
    """Search for the least squared position error, beginning with what the standard method keeps.

    Parameters
    ----------
    weights : array, shape (J + E,)
        Weight of each joint and end site. Signals that move none of them keep their counts.
    """
    error = CountedError(
        PositionError(clip, found.plan, weights, stride=frame_stride(clip.frame_count, method)),
        found.ranking,
    )
    start, movable = found.standard_counts(ratio), found.moving & found.plan.moves(weights)
    if method == "fast":
        return directed_descent(start, movable, clip.frame_count, error)
    return random_descent(start, movable, clip.frame_count, error, seed=seed, patience=patience)


def frame_stride(frames: int, method: Method) -> int:
    """Return the stride of the frames that a search evaluates."""
    if method == "exact":
        return 1
    return max(1, min(WIDEST_STRIDE, frames // FRAMES_TO_SEE))
