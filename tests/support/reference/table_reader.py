"""The decoder of static tables (rANS) in plain Python; `entropy/table_coder.h` is its twin."""

from __future__ import annotations

from collections.abc import Sequence

from mocpack.errors import CorruptionError, TruncatedError

TABLE_BITS, LEAST_STATE = 12, 1 << 16
MOST_PLAIN_BITS, MOST_LEFT_OUT = 12, 2


class TableReader:
    """Reads symbols by their tables; a table is where each symbol's share of 4096 starts."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at, self._state = data, 0, 0
        for _ in range(3):
            self._state = self._state << 8 | self._next()

    def symbol(self, starts: Sequence[int]) -> int:
        slot = self._state & 4095
        found = max(s for s, start in enumerate(starts[:-1]) if start <= slot < starts[s + 1])
        self._take(starts[found], starts[found + 1] - starts[found])
        return found

    def choice(self, zero: int) -> int:
        """Return 0 or 1, of which the first has the share `zero`."""
        return self.symbol((0, zero, 4096))

    def bits(self, count: int) -> int:
        """Return that many raw bits, the highest first."""
        value = 0
        while count > 0:
            taken = min(count, MOST_PLAIN_BITS)
            value = value << taken | self._state & (1 << taken) - 1
            self._state >>= taken
            self._refill()
            count -= taken
        return value

    def finish(self) -> None:
        """Check that everything was read."""
        if self._at < len(self._data):
            raise CorruptionError("keysine payload: bytes are left over")

    def _take(self, start: int, size: int) -> None:
        self._state = size * (self._state >> TABLE_BITS) + (self._state & 4095) - start
        self._refill()

    def _refill(self) -> None:
        for _ in range(2):
            if self._state < LEAST_STATE:
                self._state = self._state << 8 | self._next()

    def _next(self) -> int:
        self._at += 1
        if self._at > len(self._data) + MOST_LEFT_OUT:
            raise TruncatedError("keysine payload: symbols end too early")
        return self._data[self._at - 1] if self._at <= len(self._data) else 0
