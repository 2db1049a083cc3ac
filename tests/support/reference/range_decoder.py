"""The binary arithmetic decoder in plain Python, and a probability that learns.

`entropy/range_coder.h` is the native twin.
"""

from __future__ import annotations

from mocpack.errors import TruncatedError

COUNT_LIMIT = 127


class RangeDecoder:
    """The binary arithmetic decoder of docs/coding.md."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0
        self._low, self._high, self._value = 0, 0xFFFFFFFF, 0
        for _ in range(4):
            self._value = self._value << 8 | self._next()

    def decode(self, one: int) -> int:
        """Return the next bit, which is 1 with probability `one` / 65536."""
        middle = self._low + ((self._high - self._low) * one >> 16)
        bit = int(self._value <= middle)
        if bit:
            self._high = middle
        else:
            self._low = middle + 1
        while not (self._low ^ self._high) & 0xFF000000:
            self._low = self._low << 8 & 0xFFFFFFFF
            self._high = self._high << 8 & 0xFFFFFFFF | 255
            self._value = (self._value << 8 & 0xFFFFFFFF) | self._next()
        return bit

    def _next(self) -> int:
        self._at += 1
        if self._at > len(self._data) + 4:
            raise TruncatedError("keysine payload: symbols end too early")
        return self._data[self._at - 1] if self._at <= len(self._data) else 0


def moved(state: int, bit: int) -> int:
    """Return a state, probability << 10 | count, after it has seen a bit."""
    p, count = state >> 10, state & 1023
    p += ((4194303 * bit - p) * (131072 // (2 * count + 3))) >> 16
    return p << 10 | min(count + 1, max(count, COUNT_LIMIT))
