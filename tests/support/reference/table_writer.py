"""The encoder of static tables (rANS) in plain Python; `entropy/table_coder.h` is its twin."""

from __future__ import annotations

from collections.abc import Sequence

from reference.table_reader import LEAST_STATE, MOST_LEFT_OUT, MOST_PLAIN_BITS, TABLE_BITS

START_STATES = 1024  # initial states to try
MAX_STATE_BITS = 24

Interval = tuple[int, int, int]
"""Start and size of a symbol's share of 2^bits, and bits."""


class TableWriter:
    """Collects symbols. rANS encodes backwards, so `finish` writes all of them."""

    def __init__(self) -> None:
        self._intervals: list[Interval] = []

    def symbol(self, starts: Sequence[int], value: int) -> None:
        share = starts[value + 1] - starts[value]
        if not share:
            raise ValueError(f"symbol {value} has no share in its table")
        self._intervals.append((starts[value], share, TABLE_BITS))

    def bits(self, count: int, value: int) -> None:
        """Add so many plain bits, the highest first."""
        while count > 0:
            taken = min(count, MOST_PLAIN_BITS)
            count -= taken
            self._intervals.append((value >> count & (1 << taken) - 1, 1, taken))

    def finish(self) -> bytes:
        state, reversed_bytes = self._best_start(), bytearray()
        for interval in reversed(self._intervals):
            while _is_full(state, interval):
                reversed_bytes.append(state & 255)
                state >>= 8
            state = _push(state, interval)
        reversed_bytes += state.to_bytes(3, "little")
        data = bytes(reversed(reversed_bytes))
        zeros = len(data) - len(data.rstrip(b"\0"))
        return data[: len(data) - min(zeros, MOST_LEFT_OUT)]

    def _best_start(self) -> int:
        """Return an initial state after which the last byte is zero, and can be left out."""
        for start in range(LEAST_STATE, LEAST_STATE + START_STATES):
            state = start
            for interval in reversed(self._intervals):
                if _is_full(state, interval):
                    if not state & 255:
                        return start
                    break
                state = _push(state, interval)
        return LEAST_STATE


def _is_full(state: int, interval: Interval) -> bool:
    """Whether a byte must leave the state before it takes a symbol."""
    _, size, bits = interval
    return state >= size << MAX_STATE_BITS - bits


def _push(state: int, interval: Interval) -> int:
    start, size, bits = interval
    return (state // size << bits) + state % size + start
