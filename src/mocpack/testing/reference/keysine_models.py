"""The mixed adaptive models of `keysine` and the arithmetic decoder, in plain Python and integers.

`symbols.py` says which decision has which contexts, `keysine/decode/models.h` is the native twin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.errors import TruncatedError

I64 = npt.NDArray[np.int64]

INPUTS, DOMAIN, COUNT_LIMIT, WEIGHT_RATE = 5, 2048, 127, 6
FAMILIES, BANDS, LEVELS, UNARY, REACHES, EXPONENTS = 10, 16, 8, 12, 20, 32
COEFFICIENT_STATES = (12 * BANDS, 9 * 9 * 3, FAMILIES * 4 * BANDS, 16 * 8, 9 * 6 * 4)
REACH_STATES = (FAMILIES * 4, REACHES + 1, (REACHES + 1) * 4, REACHES + 1, 16 * 4)
KEY_STATES = (FAMILIES * 4 * 2, 17, 17 * 4, 17, 16 * 2)
MOVES_STATES = (FAMILIES, 3, 4, 16, 3 * 4)
SQUASH_ANCHORS = (
    *(22, 36, 60, 98, 162, 267, 439, 720, 1179, 1921, 3108, 4971, 7812, 11955, 17625, 24743),
    *(32768, 40793, 47911, 53581, 57724, 60565, 62428, 63615, 64357, 64816, 65097, 65269),
    *(65374, 65438, 65476, 65500, 65514),
)


def squash(x: int) -> int:
    """Return 65536 / (1 + exp(-x / 256)), from a table with straight lines between."""
    cell, part = divmod(min(max(x, -DOMAIN), DOMAIN - 1) + DOMAIN, 128)
    return (SQUASH_ANCHORS[cell] * (128 - part) + SQUASH_ANCHORS[cell + 1] * part + 64) >> 7


def _logit_table() -> Iterator[int]:
    x = -DOMAIN
    for p in range(4096):
        while x < DOMAIN - 1 and squash(x) < 16 * p + 8:
            x += 1
        yield x


LOGITS = tuple(_logit_table())  # of probabilities in 1/4096, the inverse of `squash`


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


@dataclass
class Mixture:
    """States and weights of one kind of decision."""

    # of each input: (contexts, levels), probability << 10 | count
    states: list[I64]
    weights: I64  # (sets, inputs), 65536 = 1
    family_weights: I64  # (sets by family and channel, inputs), added to them

    def decode(
        self, coder: RangeDecoder, contexts: Sequence[int], level: int, chosen: int, family: int
    ) -> int:
        held = [int(s[c, level]) for s, c in zip(self.states, contexts, strict=True)]
        inputs = [LOGITS[state >> 20] for state in held]
        sets = self.weights[chosen], self.family_weights[family]
        both = map(int, sets[0] + sets[1])
        one = squash(sum(w * x for w, x in zip(both, inputs, strict=True)) >> 16)
        bit = coder.decode(one)
        error = ((bit << 16) - one) * WEIGHT_RATE
        for i, (state, x) in enumerate(zip(held, inputs, strict=True)):
            for weights in sets:
                weights[i] += (x * error + (1 << 19)) >> 20
            self.states[i][contexts[i], level] = moved(state, bit)
        return bit


@dataclass
class Models:
    """Everything that adapts, as it stands at the start of a segment or group."""

    coefficient: Mixture
    reach: Mixture
    key: Mixture
    moves: Mixture
    singles: I64

    @classmethod
    def start(cls, model: int) -> Models:
        """Cut the core's table of trained starts into mixtures."""
        states, weights, singles = (np.array(a, np.int64) for a in _core.keysine_start(model))
        shapes = (
            (COEFFICIENT_STATES, LEVELS, LEVELS * 4, FAMILIES * 4),
            (REACH_STATES, REACHES, REACHES, FAMILIES * 4),
            (KEY_STATES, EXPONENTS, EXPONENTS, FAMILIES * 4),
            (MOVES_STATES, 1, 1, FAMILIES),
        )
        # the sets of all kinds of decision, then those by family
        set_counts = [shape[2] for shape in shapes] + [shape[3] for shape in shapes]
        weight_sets = np.split(weights.reshape(-1, INPUTS), np.cumsum(set_counts)[:-1])
        mixtures, at = [], 0
        for kind, (counts, levels, _, _) in enumerate(shapes):
            parts = []
            for count in counts:
                parts.append(states[at : at + count * levels].reshape(count, levels).copy())
                at += count * levels
            mixtures.append(Mixture(parts, weight_sets[kind], weight_sets[len(shapes) + kind]))
        coefficient, reach, key, moves = mixtures
        return cls(coefficient, reach, key, moves, singles)
