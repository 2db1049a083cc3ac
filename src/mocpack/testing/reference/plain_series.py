"""The decoder of plain series in plain Python: slow, to be read beside docs/series.md.

`core/src/kernels/plain_series.cpp` is the native twin.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mocpack.arrays import I64
from mocpack.testing.reference.range_decoder import RangeDecoder
from mocpack.testing.reference.series import SQUASH, STRETCH, Counter

LIMIT, MOST = 250, 15


@dataclass
class Column:
    """What is known of a column: zeros in a row, the last sign (0 none) and the bits it lacked."""

    zeros: int = 0
    was_zero: int = 0
    sign: int = 0
    lacked: int | None = None


class PlainSeriesDecoder:
    """Differences, one after another."""

    def __init__(self, data: bytes) -> None:
        self._decode = RangeDecoder(data).decode
        self._counters: dict[object, Counter] = defaultdict(Counter)
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

    def _mixed(self, where: object, contexts: Sequence[object]) -> int:
        weights = self._weights.setdefault(where, [65536 // len(contexts)] * len(contexts))
        counters = [self._counters[context] for context in contexts]
        opinions = [STRETCH[counter.one >> 4] for counter in counters]
        total = sum(w * x for w, x in zip(weights, opinions, strict=True))
        one = SQUASH[2048 + min(max(total >> 16, -2047), 2047)]
        bit = self._decode(one)
        for i, (counter, opinion) in enumerate(zip(counters, opinions, strict=True)):
            weights[i] += opinion * ((bit << 16) - one) + (1 << 13) >> 14
            counter.update(bit, LIMIT)
        return bit

    def _single(self, context: object) -> int:
        counter = self._counters[context]
        bit = self._decode(min(max(counter.one, 64), 65472))
        counter.update(bit, LIMIT)
        return bit


def decode_plain_series(data: bytes, rows: int, depths: bytes, order: int) -> I64:
    """Return the numbers (rows, columns) of a plain series."""
    decoder = PlainSeriesDecoder(data)
    columns = [Column() for _ in depths]
    values = np.zeros((rows, len(depths)), np.int64)
    for r in range(rows):
        left = "none"
        for c, depth in enumerate(depths):
            if depth:
                values[r, c] = decoder.difference(columns[c], c, depth, left)
                left = "some" if values[r, c] else "zero"
            if order and r:
                above = int(values[r - 1, c])
                line = order == 2 and r > 1
                values[r, c] += 2 * above - int(values[r - 2, c]) if line else above
    return values
