"""The search for the parameters of `rd-pca`, by the principle of equal slopes.

After O. Petřík and L. Váša, "Finding optimal parameter configuration for a dynamic triangle mesh
compressor" (2010), which L. Váša and G. Brunnett use. At the best setting a byte saved by any
parameter costs the same error (their equation 2). So each round tries every parameter one notch up
and down and compares what it gives with what λ alone would give for the same bytes; what gains is
taken, λ goes back to the goal, and when no notch gains any more the slopes are equal.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

from mocpack.codec import Codec, Goal, Rounds, Trial

ROUNDS = {"fast": 2, "default": 6, "best": 14}
MIN_GAIN = 0.003  # minimum relative gain of error at equal size; less is noise
NEAR = 0.01  # a file is close enough if it is at most this fraction below the limit
AIM = 0.004  # fraction below the limit that the search aims for
STEPS_TO_GOAL = 5
# approximate; half as many for short clips
EXPECTED_TRIALS = {"fast": 65, "default": 130, "best": 140}
FINALISTS = 3
SIZE_SLOPE, ERROR_SLOPE = -0.6, 0.9  # initial slopes of log size and log error over log λ
STRIDES = (3, 4, 5, 6, 8, 10, 12)
METRICS = frozenset({"me", "skted", "max"})  # metrics of equalization to try
LAM_RANGE = (1e-9, 10.0)

Asking = Generator[Sequence[Codec], Sequence[Trial], Trial]


def equal_slopes(codec: Codec, goal: Goal, *, effort: str) -> Rounds:
    """Search from `codec` for the best setting for `goal`."""
    best = yield from _best_at_goal([codec], goal)
    notch = 1.5
    for _ in range(ROUNDS[effort]):
        (coarser,) = yield [_with(best.codec, lam=_allowed(1.2 * _value(best.codec, "lam")))]
        slope = _slope(best, coarser)
        trials = yield list(_notches(best.codec, notch))
        ranked = sorted(trials, key=lambda t: -_gain(best, t, slope))
        good = [t.codec for t in ranked if _gain(best, t, slope) > MIN_GAIN]
        if good:
            # the slope is valid nearby only, so the best settings are compared at the goal itself
            together = _merged(best.codec, good)
            found = yield from _best_at_goal([together, *good[:FINALISTS]], goal)
            if goal.best([best, found]) is found:
                best = found
                continue
        if notch < 1.2:
            return
        notch = math.sqrt(notch)


def _best_at_goal(codecs: Sequence[Codec], goal: Goal) -> Asking:
    """Bring λ of each to where the limit is just kept, side by side; return the best of all."""
    slopes = [SIZE_SLOPE if goal.size is not None else ERROR_SLOPE] * len(codecs)
    trials = list((yield codecs))
    tried = list(trials)
    for _ in range(STEPS_TO_GOAL):
        moves = [_move(t, goal, slope) for t, slope in zip(trials, slopes, strict=True)]
        open_ = [n for n, move in enumerate(moves) if move]
        if not open_:
            break
        wanted = [
            _with(codecs[n], lam=_allowed(_value(trials[n].codec, "lam") * math.exp(moves[n])))
            for n in open_
        ]
        for n, after in zip(open_, (yield wanted), strict=True):
            change = (_excess(after, goal) - _excess(trials[n], goal)) / moves[n]
            if 0.2 < change / slopes[n] < 5:
                slopes[n] = change
            trials[n] = after
            tried.append(after)
    return goal.best(tried) or min(tried, key=lambda t: _excess(t, goal))


def _move(trial: Trial, goal: Goal, slope: float) -> float:
    """Return the change of log λ that brings a trial to its limit; 0 if it is there."""
    excess = _excess(trial, goal)
    if -NEAR <= excess <= 0:
        return 0.0
    return min(max(-(excess + AIM) / slope, -2.0), 2.0)


def _allowed(lam: float) -> float:
    return min(max(lam, LAM_RANGE[0]), LAM_RANGE[1])


def _excess(trial: Trial, goal: Goal) -> float:
    """Return the logarithm of a trial's value over its limit; at most 0 within it."""
    if goal.size is not None:
        return math.log(trial.size / goal.size)
    if goal.error is not None:
        return math.log(max(trial.error, 1e-12) / goal.error)
    return -AIM


def _slope(a: Trial, b: Trial) -> float:
    """Return the slope of log error over log size between two trials."""
    if a.size == b.size or not (a.error > 0 and b.error > 0):
        return -1.0
    return min(-0.1, math.log(b.error / a.error) / math.log(b.size / a.size))


def _gain(best: Trial, trial: Trial, slope: float) -> float:
    """Return the share of error that a trial saves against λ alone at its size."""
    if not (best.error > 0 and trial.error > 0):
        return 0.0
    return slope * math.log(trial.size / best.size) - math.log(trial.error / best.error)


def _notches(codec: Codec, notch: float) -> Iterator[Codec]:
    """Yield the settings one notch away in one parameter.

    Where K and P are not given, their forms that do not depend on the clip take their places.
    """
    K, P, s = (_value(codec, name) for name in ("K", "P", "s"))
    floors = ["pose_floor"] * (K is None) + ["trajectory_floor" if P is None else "P"]
    for name in ("Q_l", "Q_g", *floors):
        yield _with(codec, **{name: _value(codec, name) * notch})
        yield _with(codec, **{name: _value(codec, name) / notch})
    if K is not None:
        for other in (max(1, round(K / notch)), max(K + 1, round(K * notch))):
            yield _with(codec, K=other)
    for other in STRIDES if s is None else (max(1, s - 1), s + 1):
        if other != s:
            yield _with(codec, s=other)
    if not callable(_value(codec, "metric")):  # a user's metric is not varied
        for felt in sorted(METRICS - {_value(codec, "metric")}):
            yield _with(codec, metric=felt)


def _merged(base: Codec, changed: Sequence[Codec]) -> Codec:
    """Return `base` with the changes of all; where two change one field, the first wins."""
    changes: dict[str, Any] = {}
    for codec in changed:
        for field in fields(codec):
            value = _value(codec, field.name)
            if value != _value(base, field.name):
                changes.setdefault(field.name, value)
    return _with(base, **changes)


def _value(codec: Codec, name: str) -> Any:
    return getattr(codec, name)


def _with(codec: Codec, **changes: Any) -> Codec:
    """Return the codec with these changes; files name parameters, so numbers are kept short."""
    short = {n: float(f"{v:.4g}") if isinstance(v, float) else v for n, v in changes.items()}
    return replace(codec, **short)
