"""Holds a stream to a bit rate: coarser first, then without twist, then fewer frames."""

from __future__ import annotations

from collections import deque

from mocpack.errors import UsageError
from mocpack.live.mode import Mode

WINDOW = 1.0  # seconds over which the rate is measured
PATIENCE = 0.8  # seconds between two changes for the worse: a new mode begins with a large frame
CALM = 3.0  # seconds of low rate before a change for the better
LOW = 0.6  # of the rate
FACTORS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
FEWER = (2, 4)


class RateControl:
    """Follows what is sent, and says how to go on.

    Parameters
    ----------
    bits : float
        A second, headers of the network included.
    coarsest : float
        Metres: how far `max_error` may be widened.
    overhead : int
        Bytes that the network adds to a packet: 28 of IP and UDP.
    """

    def __init__(self, bits: float, coarsest: float = 0.02, overhead: int = 28) -> None:
        if not bits > 0 or not coarsest > 0:
            raise UsageError(f"bits and coarsest must be above 0, got {bits} and {coarsest}")
        self.bits = bits
        self.coarsest = coarsest
        self.overhead = overhead
        self.level = 0
        self._sent: deque[tuple[float, int]] = deque()
        self._since = self._high = 0.0

    def after(self, size: int, time: float, max_error: float) -> Mode:
        """Return the mode for the next frames, after a packet of `size` bytes at `time` seconds."""
        self._sent.append((time, size + self.overhead))
        while self._sent[0][0] < time - WINDOW:
            self._sent.popleft()
        steps = ladder(max_error, max(self.coarsest, max_error))
        rate = self.rate(time)
        if rate > LOW * self.bits:
            self._high = time
        if time - self._since >= PATIENCE and rate > self.bits and self.level + 1 < len(steps):
            self._change(self.level + 1, time)
        elif time - max(self._since, self._high) >= CALM and self.level:
            self._change(self.level - 1, time)
        return steps[self.level]

    def rate(self, time: float) -> float:
        """Return bits a second over the last second, or since the last change."""
        first = self._sent[0][0] if self._sent else time
        spent = min(WINDOW, max(time - first, PATIENCE))
        return 8 * sum(size for _, size in self._sent) / spent

    def _change(self, level: int, time: float) -> None:
        self.level, self._since, self._high = level, time, time
        self._sent.clear()


def ladder(max_error: float, coarsest: float) -> list[Mode]:
    """Return the modes from the finest to the smallest.

    >>> [(1000 * m.max_error, m.twist, m.every) for m in ladder(0.005, 0.006)]
    [(5.0, True, 1), (6.0, True, 1), (6.0, False, 1), (6.0, False, 2), (6.0, False, 4)]
    """
    errors = [max_error * f for f in FACTORS if max_error * f < coarsest] + [coarsest]
    steps = [Mode(error) for error in errors]
    return [*steps, Mode(coarsest, False), *(Mode(coarsest, False, every) for every in FEWER)]
