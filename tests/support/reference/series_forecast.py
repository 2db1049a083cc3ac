"""Prediction of series in plain Python and numpy: slow, to be read beside docs/series.md.

`core/src/entropy/series_forecast.h` is the native twin. Doubles are added and multiplied in the
order that the page gives, so that both come to the same predictions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mocpack.codecs.lossless.series import Feature, Forecast
from mocpack.common.arrays import F64

MAX_LAG = 7
FARTHEST = 2147483647.0


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
    """Weights of a few predictions: least squares, regularized towards the initial weights."""

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


class Forecaster:
    """Predicts a series column by column, row after row, from the differences so far.

    Parameters
    ----------
    features : for each column and predictor, its inputs
    forecast : Forecast
    """

    def __init__(self, features: Sequence[list[list[Feature]]], forecast: Forecast) -> None:
        self._features, self._forecast = features, forecast
        predictors, pull = forecast.predictors, forecast.blend_pull
        self._predictors = [
            [
                Recursive(len(seen), p.forgetting, forecast.caution)
                for seen, p in zip(looked_at, predictors, strict=True)
            ]
            for looked_at in features
        ]
        self._blends = [Blend(len(predictors), forecast.blend_forgetting, pull) for _ in features]
        self._differences = np.zeros((MAX_LAG + 1, len(features)))  # by lag
        self._inputs: list[F64] = []
        self._predictions: list[float] = []
        self._row = 0

    def begin_row(self) -> None:
        self._row += 1

    def end_row(self) -> None:
        self._differences[1:] = self._differences[:-1].copy()

    def predict(self, c: int, before: int) -> int:
        """Return where the number of column c is expected, in 1/16; `before` stands above it."""
        predictors = self._predictors[c]
        self._inputs = [self._seen(c, p) for p in range(len(predictors))]
        pairs = zip(predictors, self._inputs, strict=True)
        found = [predictor.predict(inputs) for predictor, inputs in pairs]
        last, earlier = float(self._differences[1, c]), float(self._differences[2, c])
        self._predictions = [*found, last, 2 * last - earlier]
        prediction = before + self._blends[c].predict(self._predictions)
        prediction = min(max(prediction, -FARTHEST), FARTHEST)
        if prediction != prediction:
            prediction = -FARTHEST
        return int(np.floor(prediction * 16))

    def learn(self, c: int, actual: float) -> None:
        """Learn the difference of the column that was predicted last."""
        for p, predictor in enumerate(self._predictors[c]):
            if self._due(self._forecast.predictors[p].period, c):
                predictor.learn(self._inputs[p], self._predictions[p], actual)
        if self._due(self._forecast.blend_period, c):
            self._blends[c].learn(self._predictions, actual)
        self._differences[0, c] = actual

    def _seen(self, c: int, p: int) -> F64:
        inputs = np.zeros(self._predictors[c][p].width)
        for i, (other, lag) in enumerate(self._features[c][p]):
            inputs[i] = self._differences[lag, other]
        return inputs

    def _due(self, period: int, c: int) -> bool:
        return self._row < self._forecast.warm or (self._row + c) % period == 0
