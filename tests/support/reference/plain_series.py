"""The decoder of plain series in plain Python: slow, to be read beside docs/series.md.

`core/src/entropy/plain_series.cpp` is the native twin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mocpack.common.arrays import I64
from reference.range_decoder import RangeDecoder
from reference.series import SQUASH, STRETCH, Counter

LIMIT, MOST = 250, 15
SEEN, SEEN_SOME = 4, 1  # bits that counters count as seen at first, those of decision 1 fewer
UNIT = 2048  # a 32nd of 65536
RUN_STARTS = (20, 22, 13, 8, 4, 4, 1)
LOST_STARTS = (29, 26, 21, 18, 16, 15, 15, 12, 13, 10)
STARTS = {
    "column 0": 20,
    "column 1": 18,
    "left none 0": 21,
    "left none 1": 18,
    "left zero 0": 12,
    "left zero 1": 14,
    "left some 0": 24,
    "left some 1": 20,
    "sign 0": 15,
    "sign -1": 18,
    "sign 1": 14,
    "below None": 12,
    "below 0": 13,
    "below 1": 14,
    **{f"run {k}": RUN_STARTS[min(k, len(RUN_STARTS) - 1)] for k in range(MOST + 1)},
    **{f"lost {k}": LOST_STARTS[min(k, len(LOST_STARTS) - 1)] for k in range(MOST + 1)},
}


@dataclass
class Column:
    """The state of a column: consecutive zeros, the last sign (0: none) and its missing bits."""

    zeros: int = 0
    was_zero: int = 0
    sign: int = 0
    lacked: int | None = None


class PlainSeriesDecoder:
    """Differences, one after another."""

    def __init__(self, data: bytes) -> None:
        self._decode = RangeDecoder(data).decode
        self._counters: dict[object, Counter] = {}
        self._weights: dict[object, list[int]] = {}

    def difference(self, column: Column, number: int, depth: int, left: str) -> int:
        some = ("run", min(column.zeros.bit_length(), MOST)), ("column", min(number, 3))
        contexts = [some[0], (*some[1], column.was_zero), ("left", left, column.was_zero)]
        there = self._mixed("some", contexts)
        column.was_zero = 1 - there
        column.zeros = 0 if there else column.zeros + 1
        if not there:
            return 0
        negative = self._single(("sign", column.sign))
        lacked = 0
        while lacked < depth - 1:
            k = min(lacked, MOST)
            if not self._mixed(("lost", k), [("lost", k), ("after", column.lacked, k)]):
                break
            lacked += 1
        found = 1
        for level in range(depth - lacked - 1):
            below = "below", min(lacked, MOST), found & 1 if level == 1 else None
            found = found << 1 | (self._single(below) if level < 2 else self._decode(32768))
        column.sign, column.lacked = -1 if negative else 1, min(lacked, MOST)
        return -found if negative else found

    def _mixed(self, where: object, contexts: Sequence[tuple[object, ...]]) -> int:
        weights = self._weights.setdefault(where, [65536 // len(contexts)] * len(contexts))
        counters = [self._counter(context) for context in contexts]
        opinions = [STRETCH[counter.one >> 4] for counter in counters]
        total = sum(w * x for w, x in zip(weights, opinions, strict=True))
        one = SQUASH[2048 + min(max(total >> 16, -2047), 2047)]
        bit = self._decode(one)
        for i, (counter, opinion) in enumerate(zip(counters, opinions, strict=True)):
            weights[i] += opinion * ((bit << 16) - one) + (1 << 13) >> 14
            counter.update(bit, LIMIT)
        return bit

    def _single(self, context: tuple[object, ...]) -> int:
        counter = self._counter(context)
        bit = self._decode(min(max(counter.one, 64), 65472))
        counter.update(bit, LIMIT)
        return bit

    def _counter(self, context: tuple[object, ...]) -> Counter:
        if context not in self._counters:
            seen = SEEN_SOME if context[0] in ("run", "column", "left") else SEEN
            self._counters[context] = Counter(UNIT * STARTS[start_of(context)], seen)
        return self._counters[context]


def start_of(context: tuple[object, ...]) -> str:
    """Return the name of the start that a counter has: of some, several have the same."""
    kind, last = context[0], context[-1]
    if kind == "left":
        return f"left {context[1]} {last}"
    return f"{'lost' if kind == 'after' else kind} {last}"


def decode_plain_series(
    data: bytes,
    rows: int,
    depths: bytes,
    order: int,
    floors: Sequence[int],
    decoder: PlainSeriesDecoder | None = None,
) -> I64:
    """Return the numbers (rows, columns) of a plain series; `decoder` of its own to listen in."""
    decoder = decoder or PlainSeriesDecoder(data)
    columns = [Column() for _ in depths]
    values = np.zeros((rows, len(depths)), np.int64)
    for r in range(rows):
        left = "none"
        for c, depth in enumerate(depths):
            if depth:
                values[r, c] = decoder.difference(columns[c], c, depth, left)
                left = "some" if values[r, c] else "zero"
            values[r, c] += _extrapolated(values[:r, c].tolist(), order, floors[c])
    return values


def _extrapolated(before: list[int], order: int, floor: int) -> int:
    if order == 0 or not before:
        return 0
    if order == 1 or len(before) == 1:
        return before[-1]
    line = 2 * before[-1] - before[-2]
    return max(line, floor) if order == 3 else line
