"""Searches a grid of two whole numbers, in rounds of points that can be tried in parallel.

The searches are generators: they yield a round of points and are sent, for each, the size and the
error that it gave. The caller's `value` function of both says which point is best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence

import numpy as np

from mocpack.common.arrays import F64

Point = tuple[int, int]
Outcome = tuple[float, float]
"""Size and error."""
Value = Callable[[Outcome], float]
"""Smaller is better; infinite if the outcome breaks a limit."""
Rounds = Generator[list[Point], Sequence[Outcome], None]

SHARE = 10  # a fast search tries at most one of this many points
ROUND = 512  # points of an exhaustive round
PROBES = 9  # points that measure how the size exceeds its lower bound
LEADERS = 16  # points whose neighbors make the next round
SLACK = 1.005  # tolerance of predicted sizes, which are interpolated


def every_point(first: range, second: range) -> Rounds:
    """Try the whole grid."""
    points = [(a, b) for a in first for b in second]
    for start in range(0, len(points), ROUND):
        yield points[start : start + ROUND]


def from_the_limit(
    first: range, second: range, least: F64, value: Value, limit: float | None
) -> Rounds:
    """Try a tenth of the grid: first along the size limit, then around the best points.

    Error usually decreases with the first number, and size increases with it. So for each second
    number, the largest first number within the limit is tried, then the neighbors of the best
    points; many of them, because the surface is rough.

    Parameters
    ----------
    least : array, shape (len(first), len(second))
        Lower bound of the size of each point. The excess may depend on the first number only; a
        few probes measure it.
    value : callable
        What to minimize.
    limit : float, optional
        Largest size. Without one, the search starts from the best probe.
    """
    middle = second[len(second) // 2]
    probes = [(first[k], middle) for k in _spread(len(first), PROBES)]
    outcomes = yield probes
    sizes = _predicted(least, probes, [size for size, _ in outcomes], first, second)
    best = probes[int(np.argmin([value(outcome) for outcome in outcomes]))][0]
    start = [(best, b) for b in second]
    if limit is not None:
        kept = (sizes <= limit).sum(axis=0)
        start = [(first[max(k - 1, 0)], b) for k, b in zip(kept, second, strict=True)]

    def allowed(point: Point) -> bool:
        if point[0] not in first or point[1] not in second:
            return False
        size = sizes[first.index(point[0]), second.index(point[1])]
        return limit is None or bool(size <= SLACK * limit)

    known = dict(zip(probes, map(value, outcomes), strict=True))
    budget = most_points(first, second)
    yield from around_the_best(start, allowed, value, known, budget=budget)


def most_points(first: range, second: range) -> int:
    """Return the maximum number of points that `from_the_limit` tries."""
    return max(len(second) + min(PROBES, len(first)), len(first) * len(second) // SHARE)


def around_the_best(
    start: Sequence[Point],
    allowed: Callable[[Point], bool],
    value: Value,
    known: Mapping[Point, float],
    *,
    budget: int,
) -> Rounds:
    """Try `start`, then repeatedly the neighbors of the best points so far.

    A point whose neighbors are not better is skipped for the next best. The search ends when
    `budget` points have been tried, including `known`.
    """
    values = dict(known)
    spent: set[Point] = set()
    points = [p for p in dict.fromkeys(start) if p not in values][: budget - len(values)]
    while True:
        if points:
            outcomes = yield points
            values.update(zip(points, map(value, outcomes), strict=True))
        leaders = _leaders(values, spent)
        if not leaders or len(values) >= budget:
            return
        spent.update(leaders)
        found = (n for leader in leaders for n in _neighbors(leader))
        fresh = dict.fromkeys(n for n in found if n not in values and allowed(n))
        points = list(fresh)[: budget - len(values)]


def _leaders(values: dict[Point, float], spent: set[Point]) -> list[Point]:
    """Return the best points whose neighbors have not been tried."""
    open_points = [p for p, found in values.items() if p not in spent and found < math.inf]
    return sorted(open_points, key=lambda p: (values[p], p))[:LEADERS]


def _neighbors(point: Point) -> list[Point]:
    a, b = point
    return [(a + i, b + j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]


def _spread(count: int, wanted: int) -> list[int]:
    """Return up to `wanted` indices below `count`, including both ends."""
    return sorted({round(k) for k in np.linspace(0, count - 1, min(wanted, count))})


def _predicted(
    least: F64, probes: Sequence[Point], sizes: Sequence[float], first: range, second: range
) -> F64:
    """Return predicted sizes of all points: lower bounds plus the excess of the nearest probes."""
    at = [first.index(a) for a, _ in probes]
    beyond = [s - least[k, second.index(b)] for s, k, (_, b) in zip(sizes, at, probes, strict=True)]
    return np.asarray(least + np.interp(np.arange(len(first)), at, beyond)[:, np.newaxis])
