"""The search for the parameters of `rd-pca`, by the principle of equal slopes.

After O. Petřík and L. Váša, "Finding optimal parameter configuration for a dynamic triangle mesh
compressor" (2010), which L. Váša and G. Brunnett use. At the best setting a byte saved by any
parameter costs the same error. So each round tries every parameter one notch up and down and
compares what it gives with what λ alone would give for the same bytes; what gains is taken, λ goes
back to the goal, and when no notch gains any more the slopes are equal.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

from mocpack.codec import Candidates, Codec, Goal, Trial

ROUNDS = {"fast": 2, "default": 6, "best": 14}
LEAST_GAIN = 0.003  # of the error at equal size: less than this is noise
NEAR = 0.01  # a file is near enough to its limit when it is this much below
AIM = 0.004  # and this is what is aimed at
SIZE_SLOPE, ERROR_SLOPE = -0.6, 0.9  # of log size and log error over log λ, to begin with
STRIDES = (3, 4, 5, 6, 8, 10, 12)
METRICS = frozenset({"me", "skted", "max"})  # which equalisation serves a goal best is tried too
LAM_RANGE = (1e-6, 1e3)

Asking = Generator[Sequence[Codec], Sequence[Trial], Trial]


def equal_slopes(codec: Codec, goal: Goal, *, effort: str) -> Candidates:
    """Search from `codec` for the setting that serves `goal` best."""
    best = yield from _at_goal(codec, goal)
    (coarser,) = yield [_with(best.codec, lam=1.2 * _value(best.codec, "lam"))]
    slope = _slope(best, coarser)
    notch = 1.5
    for _ in range(ROUNDS[effort]):
        trials = yield list(_notches(best.codec, notch))
        gains = [_gain(best, trial, slope) for trial in trials]
        good = [t.codec for t, g in zip(trials, gains, strict=True) if g > LEAST_GAIN]
        if good:
            (together,) = yield [_merged(best.codec, good)]
            winner = max([together, *trials], key=lambda t: _gain(best, t, slope))
            best = yield from _at_goal(winner.codec, goal)
        elif notch < 1.2:
            return
        else:
            notch = math.sqrt(notch)


def _at_goal(codec: Codec, goal: Goal) -> Asking:
    """Bring λ to where the size or the error asked for is just kept; with neither, leave it."""
    (trial,) = yield [codec]
    slope = SIZE_SLOPE if goal.size is not None else ERROR_SLOPE
    tried = [trial]
    for _ in range(8):
        excess = _excess(trial, goal)
        if -NEAR <= excess <= 0:
            break
        move = min(max(-(excess + AIM) / slope, -2.0), 2.0)
        lam = min(max(_value(trial.codec, "lam") * math.exp(move), LAM_RANGE[0]), LAM_RANGE[1])
        (after,) = yield [_with(codec, lam=lam)]
        change = (_excess(after, goal) - excess) / move if move else slope
        if 0.2 < change / slope < 5:
            slope = change
        trial = after
        tried.append(trial)
    return goal.best(tried) or tried[-1]


def _excess(trial: Trial, goal: Goal) -> float:
    """Return by how much a trial misses its limit, as a logarithm; at most 0 is kept."""
    if goal.size is not None:
        return math.log(trial.size / goal.size)
    if goal.error is not None:
        return math.log(max(trial.error, 1e-12) / goal.error)
    return -AIM


def _slope(a: Trial, b: Trial) -> float:
    """Return log error over log size from one trial to another: what λ trades."""
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
    for name in ("Q_l", "Q_g", "pose_floor" if K is None else "", *_truncation(P)):
        if name:
            yield _with(codec, **{name: _value(codec, name) * notch})
            yield _with(codec, **{name: _value(codec, name) / notch})
    if K is not None:
        for other in (max(1, round(K / notch)), max(K + 1, round(K * notch))):
            yield _with(codec, K=other)
    for other in STRIDES if s is None else (max(1, s - 1), s + 1):
        if other != s:
            yield _with(codec, s=other)
    for felt in sorted(METRICS - {_value(codec, "metric")}):
        yield _with(codec, metric=felt)


def _truncation(P: float | None) -> tuple[str, ...]:
    return ("trajectory_floor",) if P is None else ("P",)


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
