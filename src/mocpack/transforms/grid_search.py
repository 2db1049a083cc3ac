"""Searches a grid of two whole numbers, in rounds of points that can be tried in parallel.

Both searches are generators: they yield a round of points and are sent a value for each, the
smaller the better and infinite for what breaks a limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence

Point = tuple[int, int]
Rounds = Generator[list[Point], Sequence[float], None]

ROUND = 512  # points of an exhaustive round
LEADERS = 8  # points whose neighbours make the next round


def every_point(first: range, second: range) -> Rounds:
    """Try the whole grid."""
    points = [(a, b) for a in first for b in second]
    for start in range(0, len(points), ROUND):
        yield points[start : start + ROUND]


def around_the_best(
    start: Sequence[Point], allowed: Callable[[Point], bool], *, budget: int
) -> Rounds:
    """Try `start`, then again and again the neighbours of the best points found so far.

    The surface may be rough: a point that leads nowhere is left for the next best, and the search
    ends when `budget` points have been tried.
    """
    values: dict[Point, float] = {}
    spent: set[Point] = set()
    points = list(dict.fromkeys(start))[:budget]
    while points:
        values.update(zip(points, (yield points), strict=True))
        points = []
        while not points and (leaders := _leaders(values, spent)):
            spent.update(leaders)
            found = (n for leader in leaders for n in _neighbours(leader))
            fresh = dict.fromkeys(n for n in found if n not in values and allowed(n))
            points = list(fresh)[: budget - len(values)]


def _leaders(values: dict[Point, float], spent: set[Point]) -> list[Point]:
    """Return the best points whose neighbours have not been tried."""
    open_points = [p for p, value in values.items() if p not in spent and value < math.inf]
    return sorted(open_points, key=lambda p: (values[p], p))[:LEADERS]


def _neighbours(point: Point) -> list[Point]:
    a, b = point
    return [(a + i, b + j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
