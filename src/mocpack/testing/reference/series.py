"""The decoder of series in plain Python and numpy: slow, to be read beside docs/series.md.

`core/src/common/series_coder.h` is the native twin. Doubles are added and multiplied in the order
that the page gives, so that both come to the same predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from mocpack.arrays import F64
from mocpack.coding.series import Feature, Forecast

Decode = Callable[[int], int]
"""From the probability of a 1, in 1/65536, to the next bit."""

MOST_LAG, STEPS, FIRST_LOW = 7, 20, 16
TRENDS = (100, 160, 215, 300, 430, 700)
ACTIVITIES = (120, 170, 220, 280, 360, 480, 700)
FARTHEST = 2147483647.0


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


def _sum(products: F64) -> F64:
    """Add up the last axis in four running sums, then those."""
    sums = np.cumsum(products.reshape(*products.shape[:-1], -1, 4), axis=-2)[..., -1, :]
    return np.asarray((sums[..., 0] + sums[..., 1]) + (sums[..., 2] + sums[..., 3]))


class Recursive:
    """Recursive least squares with forgetting."""

    def __init__(self, count: int, forgetting: float, caution: float) -> None:
        self.count, self.forgetting, self.caution = count, forgetting, caution
        self.width = -(-count // 4) * 4
        self.weights = np.zeros(self.width)
        self._reset()

    def _reset(self) -> None:
        self.scale = 1.0
        self.inverse = np.eye(self.count, self.width) / self.caution

    def predict(self, inputs: F64) -> float:
        return float(_sum(self.weights * inputs)) if self.count else 0.0

    def learn(self, inputs: F64, predicted: float, actual: float) -> None:
        if not self.count:
            return
        gain = np.zeros(self.width)
        gain[: self.count] = _sum(self.inverse * inputs)
        energy = self.forgetting + self.scale * float(_sum(gain * inputs))
        trace = self.scale * float(np.cumsum(np.diagonal(self.inverse))[-1])
        if not energy > 0 or not trace > 0 or not trace * self.caution < 1e3 * self.count:
            self._reset()
            return
        move = gain[: self.count] * (self.scale / energy)
        self.weights[: self.count] += move * (actual - predicted)
        self.inverse -= move[:, np.newaxis] * gain
        if trace * self.caution < self.count:
            self.scale /= self.forgetting
        if self.scale >= 1048576:
            self.inverse *= self.scale
            self.scale = 1.0


class Blend:
    """Weights of a few predictions: least squares with a pull to where they start."""

    def __init__(self, predictors: int, forgetting: float, pull: float) -> None:
        self.start = [1 / predictors] * predictors + [0.0, 0.0]
        self.forgetting, self.pull = forgetting, pull
        self.weights = list(self.start)
        count = len(self.start)
        self.moments = [[0.0] * count for _ in range(count)]
        self.products = [0.0] * count

    def predict(self, inputs: Sequence[float]) -> float:
        total = 0.0
        for weight, value in zip(self.weights, inputs, strict=True):
            total += weight * value
        return total

    def learn(self, inputs: Sequence[float], actual: float) -> None:
        count = len(inputs)
        for i in range(count):
            for j in range(i + 1):
                kept = self.forgetting * self.moments[i][j]
                self.moments[i][j] = kept + inputs[i] * inputs[j]
            self.products[i] = self.forgetting * self.products[i] + inputs[i] * actual
        lower = [[0.0] * count for _ in range(count)]
        diagonal = [0.0] * count
        for j in range(count):
            own = rest = self.moments[j][j] + self.pull
            for k in range(j):
                rest -= lower[j][k] * lower[j][k] * diagonal[k]
            diagonal[j] = max(rest, 1e-6 * own)
            for i in range(j + 1, count):
                total = self.moments[i][j]
                for k in range(j):
                    total -= lower[i][k] * lower[j][k] * diagonal[k]
                lower[i][j] = total / diagonal[j]
        forward = [0.0] * count
        for i in range(count):
            forward[i] = self.products[i] + self.pull * self.start[i]
            for k in range(i):
                forward[i] -= lower[i][k] * forward[k]
        for i in range(count - 1, -1, -1):
            self.weights[i] = forward[i] / diagonal[i]
            for k in range(i + 1, count):
                self.weights[i] -= lower[k][i] * self.weights[k]


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
    """What is known of one column: its predictors, and how large its errors are."""

    features: list[list[Feature]]
    predictors: list[Recursive]
    blend: Blend
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
    """Reads a series column by column, row after row; the first row is given.

    Parameters
    ----------
    decode : Decode
    features : for each column and predictor, what it looks at
    forecast : Forecast
    sizes : sequence of int
        Expected error of each column at first, in 1/256.
    """

    def __init__(
        self,
        decode: Decode,
        features: Sequence[list[list[Feature]]],
        forecast: Forecast,
        sizes: Sequence[int],
    ) -> None:
        self._decode, self._forecast = decode, forecast
        predictors = forecast.predictors
        pull = forecast.blend_pull
        self._columns = [
            Column(
                looked_at,
                [
                    Recursive(len(seen), p.forgetting, forecast.caution)
                    for seen, p in zip(looked_at, predictors, strict=True)
                ],
                Blend(len(predictors), forecast.blend_forgetting, pull),
                [size] * 3,
                8,
            )
            for looked_at, size in zip(features, sizes, strict=True)
        ]
        self._differences = np.zeros((MOST_LAG + 1, len(features)))  # by lag
        self._shared: dict[tuple[int, ...], Counter] = {}
        self._escape: dict[int, tuple[int, int]] = {}
        self._weights: dict[tuple[int, int], list[int]] = {}
        self._row, self._activity = 0, 256

    def begin_row(self) -> None:
        self._activity = 256
        self._row += 1

    def end_row(self) -> None:
        self._differences[1:] = self._differences[:-1].copy()

    def next(self, c: int, before: int) -> int:
        """Return the number of column c; `before` stands above it."""
        column = self._columns[c]
        inputs = [self._inputs(column, p) for p in range(len(column.predictors))]
        pairs = zip(column.predictors, inputs, strict=True)
        predictions = [predictor.predict(x) for predictor, x in pairs]
        last, earlier = float(self._differences[1, c]), float(self._differences[2, c])
        seen = [*predictions, last, 2 * last - earlier]
        prediction = before + column.blend.predict(seen)
        prediction = min(max(prediction, -FARTHEST), FARTHEST)
        if prediction != prediction:
            prediction = -FARTHEST
        near = int(np.floor(prediction * 16))
        value = self._value(column, near)
        actual = float(value - before)
        for p, (predictor, x) in enumerate(zip(column.predictors, inputs, strict=True)):
            if self._due(self._forecast.predictors[p].period, c):
                predictor.learn(x, predictions[p], actual)
        if self._due(self._forecast.blend_period, c):
            column.blend.learn(seen, actual)
        self._differences[0, c] = actual
        return value

    def _inputs(self, column: Column, p: int) -> F64:
        inputs = np.zeros(column.predictors[p].width)
        for i, (other, lag) in enumerate(column.features[p]):
            inputs[i] = self._differences[lag, other]
        return inputs

    def _due(self, period: int, c: int) -> bool:
        return self._row < self._forecast.warm or (self._row + c) % period == 0

    def _value(self, column: Column, near: int) -> int:
        """Read a number that is predicted at `near` / 16."""
        centre = near + 8 >> 4
        fraction = near - (centre << 4) + 8 >> 1
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
            found += self._plain()
        for level in range(width):
            node = FIRST_LOW + 3 * counted + (1 + (found & 1) if level else 0)
            found = found << 1 | (mixed(node) if level < 2 else self._decode(32768))
        value = centre + (found if above else -1 - found)
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

    def _plain(self) -> int:
        length = 0
        while length < 33 and self._adaptive(length):
            length += 1
        found = 1
        for _ in range(length):
            found = found << 1 | self._decode(32768)
        return found - 1

    def _adaptive(self, at: int) -> int:
        fast, slow = self._escape.get(at, (32768, 32768))
        bit = self._decode(min(max(fast + slow >> 1, 64), 65472))
        if bit:
            self._escape[at] = fast + (65535 - fast >> 4), slow + (65535 - slow >> 7)
        else:
            self._escape[at] = fast - (fast >> 4), slow - (slow >> 7)
        return bit

    def _measure(self, column: Column, expected: int, distance: int) -> None:
        error = min(16 * distance, 1 << 28)
        relative = min(error * 256 // max(64, expected), 1536)
        self._activity = 7 * self._activity + relative >> 3
        column.measure(error)


def _class(value: int, bounds: Sequence[int]) -> int:
    return sum(value >= bound for bound in bounds)
