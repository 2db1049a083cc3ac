"""Find the value of a parameter at which a target is just met, with few evaluations.

Positions run from 0, the safe end, to 1, the preferred end. This module chooses positions; `rate`
evaluates them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from mocpack.codec import Quality

MAX_EVALUATIONS = 30  # of one search
TARGET_TOLERANCE = 2e-3  # stop when the possible gain, relative to target or size, is smaller
FIRST_STEP = 1 / 16
MAX_BRACKET_EVALUATIONS = 6  # the start, and steps of 1, 2, 4, 8 and 16 sixteenths
MIN_EDGE_DISTANCE = 0.05  # of an interpolated position from the ends, relative to the interval


@dataclass(frozen=True)
class ParameterScale:
    """Maps positions 0 to 1 to parameter values, evenly in their logarithm.

    With `finest`, 0 is the coarse end, otherwise the fine end.
    """

    parameter: Quality
    finest: bool

    def value(self, place: float) -> float:
        safe, wanted = self._ends()
        if place in (0.0, 1.0):  # the exact ends, without rounding
            return wanted if place else safe
        found = math.exp(self._log(safe) + place * (self._log(wanted) - self._log(safe)))
        found -= self._shift()
        found = min(max(found, self.parameter.low), self.parameter.high)
        return float(round(found)) if self.parameter.integer else found

    def place(self, value: float | None) -> float:
        """Return the position of a value; the middle if it is outside the range."""
        if value is None or not self.parameter.low <= value <= self.parameter.high:
            return 0.5
        safe, wanted = self._ends()
        return (self._log(value) - self._log(safe)) / (self._log(wanted) - self._log(safe))

    def apart(self, a: float, b: float) -> bool:
        """Return whether there is another value between two positions."""
        if self.parameter.integer:
            return abs(self.value(a) - self.value(b)) > 1
        return abs(a - b) > 1e-4

    def _ends(self) -> tuple[float, float]:
        up = self.parameter.low, self.parameter.high
        return up if (self.parameter.error_sign > 0) != self.finest else up[::-1]

    def _log(self, value: float) -> float:
        return math.log(value + self._shift())

    def _shift(self) -> float:
        return 0.0 if self.parameter.low > 0 else 1.0


def search_root(
    evaluate: Callable[[float], float],
    start: float,
    *,
    is_worthwhile: Callable[[float, float], bool],
) -> None:
    """Evaluate positions until one is close below the target; `evaluate` returns the excess.

    `is_worthwhile` returns whether a position between the two bracketing ones can improve the
    result: errors jump, and the target may lie within a jump.

    Steps of doubling length bracket the root, so the ends of the range, where codecs are slowest,
    are evaluated only if necessary. The Illinois method (false position) then refines it. There are
    at most `MAX_EVALUATIONS`.
    """
    found = _bracket(evaluate, start)
    if found is None:
        return
    (kept, under), (missed, over) = found
    excess, last = under, 0
    for _ in range(MAX_EVALUATIONS - MAX_BRACKET_EVALUATIONS):
        if -TARGET_TOLERANCE < excess <= 0 or not is_worthwhile(kept, missed):
            return
        place = _interpolate((kept, under), (missed, over))
        excess = evaluate(place)
        if excess <= 0:
            over = over / 2 if last < 0 else over
            kept, under, last = place, excess, -1
        else:
            under = under / 2 if last > 0 else under
            missed, over, last = place, excess, 1


def _interpolate(kept: tuple[float, float], missed: tuple[float, float]) -> float:
    """Return where the line through two (position, excess) is half the tolerance below 0."""
    share = (-TARGET_TOLERANCE / 2 - kept[1]) / (missed[1] - kept[1])
    return kept[0] + min(max(share, MIN_EDGE_DISTANCE), 1 - MIN_EDGE_DISTANCE) * (
        missed[0] - kept[0]
    )


def _bracket(
    evaluate: Callable[[float], float], start: float
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Return a position that meets the target and one that misses it, with their excess."""
    place, excess, stride = start, evaluate(start), FIRST_STEP
    goal = 1.0 if excess <= 0 else 0.0
    while place != goal:
        ahead = min(place + stride, 1.0) if goal else max(place - stride, 0.0)
        found = evaluate(ahead)
        if (found <= 0) != (excess <= 0):
            pair = (place, excess), (ahead, found)
            return pair if goal else pair[::-1]
        place, excess, stride = ahead, found, 2 * stride
    return None
