"""The decoder of series in plain Python and numpy: slow, to be read beside docs/series.md.

`core/src/entropy/series_coder.h` is the native twin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mocpack.codecs.lossless.series import Feature, Forecast
from reference.series_forecast import Forecaster

Decode = Callable[[int], int]
"""From the probability of a 1, in 1/65536, to the next bit."""

STEPS, FIRST_LOW = 20, 16
TRENDS = (100, 160, 215, 300, 430, 700)
ACTIVITIES = (120, 170, 220, 280, 360, 480, 700)


def _squash_table() -> list[int]:
    table, power = [0] * 4096, 1 << 32
    for x in range(2048):
        kept = min(65520, (1 << 48) // ((1 << 32) + power))
        table[2048 + x], table[2048 - x] = kept, 65536 - kept
        power = power * 4278222805 >> 32
    table[0] = table[1]
    return table


SQUASH = _squash_table()


def _stretch_table() -> list[int]:
    table, at = [], 0
    for i in range(4096):
        while at < 4095 and SQUASH[at] < 16 * i + 8:
            at += 1
        table.append(at - 2048)
    return table


STRETCH = _stretch_table()


@dataclass
class Counter:
    """A probability of a 1 that moves ever less."""

    one: int = 32768
    count: int = 0

    def update(self, bit: int, limit: int) -> None:
        self.one += (65535 * bit - self.one) * (655360 // (10 * self.count + 16)) >> 16
        self.count = min(self.count + 1, limit)


@dataclass
class Column:
    """The state of one column: the size of its errors."""

    means: list[int]  # fast, middle, slow
    count: int
    own: dict[tuple[int, int], Counter] = field(default_factory=dict)

    @property
    def expected(self) -> int:
        fast, middle, slow = self.means
        return max(1, fast + 2 * middle + slow >> 2)

    def measure(self, error: int) -> None:
        self.count += 1
        for i, shift in enumerate((3, 5, 7)):
            way = error - self.means[i]
            by = way >> shift
            if self.count < 1 << shift:
                by = int(way / (self.count + 1))  # towards zero
            self.means[i] += by


class SeriesDecoder:
    """Reads a series row after row.

    Parameters
    ----------
    decode : Decode
    features : for each column and predictor, its inputs
    forecast : Forecast
    sizes : sequence of int
        Expected error of each column at first, in 1/256; empty where it is not told.
    """

    def __init__(
        self,
        decode: Decode,
        features: Sequence[list[list[Feature]]],
        forecast: Forecast,
        sizes: Sequence[int] = (),
    ) -> None:
        self._decode = decode
        self._forecast = Forecaster(features, forecast)
        told = [Column([size] * 3, 8) for size in sizes]
        self._columns = told or [Column([1 << 14] * 3, 0) for _ in features]
        self._shared: dict[tuple[int, ...], Counter] = {}
        self._first: dict[int, tuple[int, int]] = {}
        self._escape: dict[int, tuple[int, int]] = {}
        self._weights: dict[tuple[int, int], list[int]] = {}
        self._activity = 256

    def rows(self, count: int) -> list[list[int]]:
        """Return that many rows, including the first."""
        found = [[_unfolded(self._plain(self._first)) for _ in self._columns]]
        for _ in range(count - 1):
            found.append(self._row(found[-1]))
        return found

    def _row(self, before: Sequence[int]) -> list[int]:
        self._activity = 256
        self._forecast.begin_row()
        found = []
        for c, above in enumerate(before):
            found.append(self._value(self._columns[c], self._forecast.predict(c, above)))
            self._forecast.learn(c, float(found[c] - above))
        self._forecast.end_row()
        return found

    def _value(self, column: Column, near: int) -> int:
        """Read a number that is predicted at `near` / 16."""
        center = near + 8 >> 4
        fraction = near - (center << 4) + 8 >> 1
        expected = column.expected
        log = expected.bit_length() - 1
        halves = 2 * log + (expected >> log - 1 & 1 if log else 0)
        width = max(0, log - 8)
        trend = _class(column.means[0] * 256 // max(1, column.means[2]), TRENDS)
        activity = _class(self._activity, ACTIVITIES)

        def mixed(node: int) -> int:
            narrow = min(width, 3)
            by_size = (0, halves, fraction) if node == 0 else (1, halves, node)
            counters = (
                self._shared.setdefault(by_size, Counter()),
                column.own.setdefault((min(width, 2), node), Counter()),
                self._shared.setdefault((2, trend, activity, narrow, node), Counter()),
            )
            return self._mixed(counters, self._weights.setdefault((node, narrow), [21845] * 3))

        above = mixed(0)
        found = 0
        while found < STEPS and mixed(1 + min(found, 14)):
            found += 1
        counted = min(found, 3)
        if found == STEPS:
            found += self._plain(self._escape)
        for level in range(width):
            node = FIRST_LOW + 3 * counted + (1 + (found & 1) if level else 0)
            found = found << 1 | (mixed(node) if level < 2 else self._decode(32768))
        value = center + (found if above else -1 - found)
        self._measure(column, expected, abs(16 * value - near))
        return value

    def _mixed(self, counters: Sequence[Counter], weights: list[int]) -> int:
        opinions = [STRETCH[counter.one >> 4] for counter in counters]
        total = sum(w * x for w, x in zip(weights, opinions, strict=True))
        one = SQUASH[2048 + min(max(total >> 16, -2047), 2047)]
        bit = self._decode(one)
        for i, (counter, opinion) in enumerate(zip(counters, opinions, strict=True)):
            weights[i] += opinion * ((bit << 16) - one) + (1 << 13) >> 14
            counter.update(bit, 60 if i == 1 else 120)
        return bit

    def _plain(self, lengths: dict[int, tuple[int, int]]) -> int:
        length = 0
        while length < 33 and self._adaptive(lengths, length):
            length += 1
        found = 1
        for _ in range(length):
            found = found << 1 | self._decode(32768)
        return found - 1

    def _adaptive(self, states: dict[int, tuple[int, int]], at: int) -> int:
        fast, slow = states.get(at, (32768, 32768))
        bit = self._decode(min(max(fast + slow >> 1, 64), 65472))
        if bit:
            states[at] = fast + (65535 - fast >> 4), slow + (65535 - slow >> 7)
        else:
            states[at] = fast - (fast >> 4), slow - (slow >> 7)
        return bit

    def _measure(self, column: Column, expected: int, distance: int) -> None:
        error = min(16 * distance, 1 << 28)
        relative = min(error * 256 // max(64, expected), 1536)
        self._activity = 7 * self._activity + relative >> 3
        column.measure(error)


def _unfolded(number: int) -> int:
    return -(number + 1 >> 1) if number & 1 else number >> 1


def _class(value: int, bounds: Sequence[int]) -> int:
    return sum(value >= bound for bound in bounds)
