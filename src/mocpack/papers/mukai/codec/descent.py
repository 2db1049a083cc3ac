"""Descent along a gradient with limited memory (L-BFGS, Nocedal 1980).

SciPy's implementation calls a threaded BLAS for tiny matrices, which takes a hundred times longer
on several cores than the cost function.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from mocpack.common.arrays import F64

MEMORY = 20  # steps remembered
ENOUGH = 1e-4  # minimum decrease of a step, relative to the slope (Armijo condition)
SHORTEST = 1e-10  # fraction of a full step; the line search ends below it


def descend(
    cost: Callable[[F64], tuple[float, F64]], start: F64, *, rounds: int, gain: float
) -> F64:
    """Minimize `cost`, a function that returns its value and gradient, from `start`.

    Stops after `rounds` steps, or when a step gains less than the fraction `gain` of the value.
    """
    at = start
    value, slope = cost(at)
    past: deque[tuple[F64, F64, float]] = deque(maxlen=MEMORY)
    for _ in range(rounds):
        towards = _direction(slope, past)
        steep = float(towards @ slope)
        if steep >= 0:
            if not past:
                break
            past.clear()  # the direction leads uphill: restart from the gradient
            continue
        found = _step(cost, at, value, towards, steep, first=not past)
        if found is None:
            break
        point, lower, new_slope = found
        moved, turned = point - at, new_slope - slope
        bend = float(moved @ turned)
        if bend > 1e-12 * float(turned @ turned):
            past.append((moved, turned, 1.0 / bend))
        gained = value - lower
        at, value, slope = point, lower, new_slope
        if gained <= gain * max(abs(value), 1e-300):
            break
    return at


def _direction(slope: F64, past: deque[tuple[F64, F64, float]]) -> F64:
    """Return the quasi-Newton direction by the two loops over remembered steps."""
    q = -slope
    shares = []
    for moved, turned, weight in reversed(past):
        share = weight * float(moved @ q)
        shares.append(share)
        q = q - share * turned
    if past:
        moved, turned, weight = past[-1]
        q = q / (weight * float(turned @ turned))
    for (moved, turned, weight), share in zip(past, reversed(shares), strict=True):
        q = q + (share - weight * float(turned @ q)) * moved
    return q


def _step(
    cost: Callable[[F64], tuple[float, F64]],
    at: F64,
    value: float,
    towards: F64,
    steep: float,
    *,
    first: bool,
) -> tuple[F64, float, F64] | None:
    """Return a lower point along a direction with its value and gradient, or None.

    Backtracking to the bottom of the parabola through both values and the slope.
    """
    length = min(1.0, 1.0 / float(np.linalg.norm(towards))) if first else 1.0
    while length > SHORTEST:
        point = at + length * towards
        lower, slope = cost(point)
        if np.isfinite(lower) and lower <= value + ENOUGH * length * steep:
            return point, lower, slope
        bottom = -0.5 * steep * length**2 / (lower - value - steep * length)
        length = (
            min(max(bottom, 0.1 * length), 0.5 * length) if np.isfinite(bottom) else length / 10
        )
    return None
