"""The symbols of `keysine` in plain Python: the arithmetic decoder, the mixed models, the contexts.

Integers throughout; `reference.py` makes motion of them, `keysine_symbols.h` is the native twin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.clip import ClipHeader
from mocpack.codecs.keysine.tracks import (
    BASIS,
    COLUMNS,
    MEAN,
    ORIGIN,
    ROTATION_KEY_STEP,
    ROTATION_KIND,
    TRANSLATION_KEY_STEP,
    TRANSLATION_KIND,
    Plan,
    Rotation,
    Track,
    Translation,
)
from mocpack.errors import CorruptionError, TruncatedError

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]

INPUTS, DOMAIN, COUNT_LIMIT, WEIGHT_RATE = 5, 2048, 127, 6
FAMILIES, BANDS, LEVELS, UNARY, REACHES, EXPONENTS = 10, 16, 8, 12, 20, 32
COEFFICIENT_STATES = (12 * BANDS, 9 * 9 * 3, FAMILIES * 4 * BANDS, 16 * 8, 9 * 6 * 4)
REACH_STATES = (FAMILIES * 4, REACHES + 1, (REACHES + 1) * 4, REACHES + 1, 16 * 4)
KEY_STATES = (FAMILIES * 4 * 2, 17, 17 * 4, 17, 16 * 2)
MOVES_STATES = (FAMILIES, 3, 4, 16, 3 * 4)
STEP_SAME, STEP_DOWN, STEP_MORE, REACH_LOW, KEY_LOW, ESCAPE, HEAD = 0, 3, 5, 69, 89, 121, 153
NUMBER_LEVELS, HEAD_NUMBERS = 34, 8
MEAN_NUMBER, STILL_NUMBER, BASIS_NUMBER, KEY_STEP_NUMBER = 0, 1, 2, 3
ORIGIN_NUMBER, PLACE_NUMBER, SEGMENT_SIZE, GROUP_SIZE = 4, 5, 6, 7
SQUASH_ANCHORS = (
    *(22, 36, 60, 98, 162, 267, 439, 720, 1179, 1921, 3108, 4971, 7812, 11955, 17625, 24743),
    *(32768, 40793, 47911, 53581, 57724, 60565, 62428, 63615, 64357, 64816, 65097, 65269),
    *(65374, 65438, 65476, 65500, 65514),
)
BAND_ENDS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 28, 36, 46, 58)
ACTIVITY_ENDS = (0, 1, 2, 3, 4, 6, 9, 14, 22, 38, 70)
TOTAL_ENDS = (0, 1, 2, 3, 4, 5, 7, 9, 12, 16, 22, 30, 44, 64, 100)


def squash(x: int) -> int:
    """Return 65536 / (1 + exp(-x / 256)), from a table with straight lines between."""
    cell, part = divmod(min(max(x, -DOMAIN), DOMAIN - 1) + DOMAIN, 128)
    return (SQUASH_ANCHORS[cell] * (128 - part) + SQUASH_ANCHORS[cell + 1] * part + 64) >> 7


def _stretch_table() -> Iterator[int]:
    x = -DOMAIN
    for p in range(4096):
        while x < DOMAIN - 1 and squash(x) < 16 * p + 8:
            x += 1
        yield x


STRETCH = tuple(_stretch_table())


class RangeDecoder:
    """The binary arithmetic decoder of docs/entropy.md."""

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


def _moved(state: int, bit: int) -> int:
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
        inputs = [STRETCH[state >> 20] for state in held]
        sets = self.weights[chosen], self.family_weights[family]
        weights = map(int, sets[0] + sets[1])
        one = squash(sum(w * x for w, x in zip(weights, inputs, strict=True)) >> 16)
        bit = coder.decode(one)
        error = ((bit << 16) - one) * WEIGHT_RATE
        for i, (state, x) in enumerate(zip(held, inputs, strict=True)):
            for weights in sets:
                weights[i] += (x * error + (1 << 19)) >> 20
            self.states[i][contexts[i], level] = _moved(state, bit)
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
        counts_of_sets = [shape[2] for shape in shapes] + [shape[3] for shape in shapes]
        weight_sets = np.split(weights.reshape(-1, INPUTS), np.cumsum(counts_of_sets)[:-1])
        mixtures, at = [], 0
        for kind, (counts, levels, _, _) in enumerate(shapes):
            parts = []
            for count in counts:
                parts.append(states[at : at + count * levels].reshape(count, levels).copy())
                at += count * levels
            mixtures.append(Mixture(parts, weight_sets[kind], weight_sets[len(shapes) + kind]))
        coefficient, reach, key, moves = mixtures
        return cls(coefficient, reach, key, moves, singles)


class Symbols:
    """Reads the symbols of a head, a segment or a group."""

    def __init__(self, data: bytes, plan: Plan, model: int) -> None:
        self._coder = RangeDecoder(data)
        self._plan = plan
        self._m = Models.start(model)

    def _single(self, at: int) -> int:
        """Read a bit that one state predicts by itself."""
        state = int(self._m.singles[at])
        bit = self._coder.decode(min(max(state >> 16, 64), 65472))
        self._m.singles[at] = _moved(state, bit)
        return bit

    def sizes(self, segments: int, groups: int) -> tuple[list[int], list[int]]:
        """Return the sizes of segments and groups."""
        return (
            [self._natural(SEGMENT_SIZE) for _ in range(segments)],
            [self._natural(GROUP_SIZE) for _ in range(groups)],
        )

    def table(self, header: ClipHeader) -> I32:
        """Return the plan (J, 13)."""
        rows = np.zeros((len(header.skeleton), COLUMNS), np.int32)
        turn = place = 0
        for j, row in enumerate(rows):
            turn = row[ROTATION_KIND] = self._kind(3 * turn, 4)
            if turn in (Rotation.STILL, Rotation.VECTOR):
                what = STILL_NUMBER if turn == Rotation.STILL else MEAN_NUMBER
                row[MEAN] = [self._number(what) for _ in range(3)]
            if turn == Rotation.VECTOR:
                row[BASIS] = [self._number(BASIS_NUMBER) for _ in range(3)]
            row[ROTATION_KEY_STEP] = 8
            if turn >= Rotation.VECTOR:
                row[ROTATION_KEY_STEP] += self._number(KEY_STEP_NUMBER)
            if j in header.translated_joints:
                place = row[TRANSLATION_KIND] = self._kind(12 + 2 * place, 3)
            if row[TRANSLATION_KIND] != Translation.REST:
                what = PLACE_NUMBER if place == Translation.STILL else ORIGIN_NUMBER
                row[ORIGIN] = [self._number(what) for _ in range(3)]
            row[TRANSLATION_KEY_STEP] = 8
            if row[TRANSLATION_KIND] == Translation.MOVING:
                row[TRANSLATION_KEY_STEP] += self._number(KEY_STEP_NUMBER)
        return rows

    def _kind(self, context: int, count: int) -> int:
        found = 0
        first = HEAD + HEAD_NUMBERS * NUMBER_LEVELS + context
        while found < count - 1 and self._single(first + found):
            found += 1
        return found

    def _natural(self, what: int) -> int:
        first, length = HEAD + what * NUMBER_LEVELS, 0
        while length < 31 and self._single(first + length):
            length += 1
        return self._low_bits(1, length - 1, first + 32) if length else 0

    def _number(self, what: int) -> int:
        size = self._natural(what) & 0x3FFFFFFF
        return -size if size and self._coder.decode(32768) else size

    def keys(self, count: int) -> I64:
        """Return keys (count, C): the first as it is, the others from differences."""
        channels = self._plan.channel_count
        keys = np.zeros((count, channels), np.int64)
        exponents = [0] * channels
        for k in range(count):
            total = seen = 0
            for track in self._plan.tracks:
                for c in range(track.channel_count):
                    at = track.first_channel + c
                    mean = total * 4 // seen if seen else 0
                    keys[k, at] = self._key(track, c, k, exponents, mean)
                    total, seen = total + exponents[at], seen + 1
        return np.asarray(np.cumsum(keys, axis=0))

    def _key(self, track: Track, c: int, k: int, exponents: list[int], mean: int) -> int:
        at, later, up = track.first_channel + c, int(k > 0), 0
        if track.parent >= 0:
            up = 1 + min(exponents[self._plan.tracks[track.parent].first_channel + min(c, 2)], 15)
        contexts = (
            (track.family * 4 + c) * 2 + later,
            min(exponents[at], 16) if later else 16,
            (1 + min(exponents[at - 1], 15) if c else 0) * 4 + c,
            up,
            min(mean, 15) * 2 + later,
        )
        found, family = 0, track.family * 4 + c
        decode = self._m.key.decode
        while found < EXPONENTS - 1 and decode(self._coder, contexts, found, found, family):
            found += 1
        exponents[at] = found
        if not found:
            return 0
        value = self._low_bits(1, found - 1, KEY_LOW + found)
        return -value if self._coder.decode(32768) else value

    def _low_bits(self, value: int, count: int, first: int | None) -> int:
        """Append `count` bits to `value`: the first by a state, the others as they are."""
        for k in range(count):
            modelled = first is not None and k == 0
            bit = self._single(first) if modelled and first else self._coder.decode(32768)
            value = value << 1 | bit
        return value

    def group(self, lengths: npt.NDArray[np.intp], tempo: int) -> tuple[I64, list[I64]]:
        """Return steps (tracks, blocks) and, for each block, coefficients (C, N - 1)."""
        tracks, blocks = self._plan.tracks, len(lengths)
        steps = np.full((len(tracks), blocks), -1, np.int64)
        reaches = np.zeros((self._plan.channel_count, blocks), np.int64)
        # coefficient k of channel c is values[b, c, k]; a zero stands on either side
        width = int(lengths.max()) + 2
        values = np.zeros((blocks, self._plan.channel_count, width), np.int64)
        for t, track in enumerate(tracks):
            for b in range(blocks):
                if not self._moves(steps, t, b):
                    continue
                steps[t, b] = self._step(steps, t, b)
                for c in range(track.channel_count):
                    reach = self._reach(reaches, track, b, c, int(steps[t, b]))
                    if reach >= lengths[b]:
                        raise CorruptionError("keysine payload: more coefficients than frames")
                    self._coefficients(values, track, b, c, reach, tempo)
        return steps, [values[b, :, 1 : lengths[b]] for b in range(blocks)]

    def _moves(self, steps: I64, t: int, b: int) -> int:
        track = self._plan.tracks[t]
        was = 1 + int(steps[t, b - 1] >= 0) if b else 0
        up = 1 + int(steps[track.parent, b] >= 0) if track.parent >= 0 else 0
        last = int(steps[t - 1, b]) if t else -1
        near = 1 + min(last // 2, 14) if last >= 0 else 0
        contexts = (track.family, was, up, near, was * 4 + up)
        return self._m.moves.decode(self._coder, contexts, 0, 0, track.family)

    def _step(self, steps: I64, t: int, b: int) -> int:
        parent = self._plan.tracks[t].parent
        own = b > 0 and steps[t, b - 1] >= 0
        kind = 0 if own else 1 if parent >= 0 and steps[parent, b] >= 0 else 2
        known = [int(s) for s in steps[t, :b][::-1] if s >= 0]
        while parent >= 0:
            known += [int(steps[parent, b])] if steps[parent, b] >= 0 else []
            parent = self._plan.tracks[parent].parent
        guess = known[0] if known else 8
        if self._single(STEP_SAME + kind):
            return guess
        down = self._single(STEP_DOWN + int(kind != 0))
        size = 1
        while size < 64 and self._single(STEP_MORE + size - 1):
            size += 1
        step = guess - size if down else guess + size
        if not 0 <= step < 64:
            raise CorruptionError("keysine payload: a step out of range")
        return step

    def _reach(self, reaches: I64, track: Track, b: int, c: int, step: int) -> int:
        at, up = track.first_channel + c, 0
        if track.parent >= 0:
            up = 1 + int(reaches[self._plan.tracks[track.parent].first_channel + min(c, 2), b])
        contexts = (
            track.family * 4 + c,
            1 + int(reaches[at, b - 1]) if b else 0,
            (1 + int(reaches[at - 1, b]) if c else 0) * 4 + c,
            up,
            min(max(step - 2, 0), 15) * 4 + c,
        )
        found, family = 0, track.family * 4 + c
        decode = self._m.reach.decode
        while found < REACHES - 1 and decode(self._coder, contexts, found, found, family):
            found += 1
        reaches[at, b] = found
        if found < 5:
            return found
        bits = (found - 5) // 2 + 1
        low = self._low_bits(0, bits, REACH_LOW + found)
        return int(((2 + (found - 5) % 2) << bits) + 1 + low)

    def _coefficients(
        self, values: I64, track: Track, b: int, c: int, reach: int, tempo: int
    ) -> None:
        at = track.first_channel + c
        row = values[b, at]
        zeros = np.zeros_like(row)
        before = values[b - 1, at] if b else zeros
        left = values[b, at - 1] if c else zeros
        up = zeros
        if track.parent >= 0:
            up = values[b, self._plan.tracks[track.parent].first_channel + min(c, 2)]
        for k in range(1, reach + 1):
            one = min(abs(int(row[k - 1])), 1000)
            two = min(abs(int(row[k - 2])), 1000) if k > 1 else 0
            near = 2 * one + two
            was, side, over = _around(before, k), _around(left, k), _around(up, k)
            band = _class(k * tempo + 8 >> 4, BAND_ENDS)
            total = _class(2 * near + was + side + over, TOTAL_ENDS)
            contexts = (
                _class(near, ACTIVITY_ENDS) * BANDS + band,
                (_activity(was) * 9 + _activity(side)) * 3 + min(one, 2),
                (track.family * 4 + c) * BANDS + band,
                total * 8 + min(reach - k, 7),
                (_activity(over) * 6 + min(_class(near, ACTIVITY_ENDS), 5)) * 4 + c,
            )
            sets = min(band // 3, 3), track.family * 4 + c
            row[k] = self._coefficient(contexts, sets, int(k == reach))

    def _coefficient(self, contexts: Sequence[int], sets: tuple[int, int], found: int) -> int:
        """Read a magnitude of at least `found`, and its sign."""
        region, family = sets
        decode = self._m.coefficient.decode
        while found < UNARY:
            level = min(found, LEVELS - 1)
            if not decode(self._coder, contexts, level, level * 4 + region, family):
                break
            found += 1
        if found == UNARY:
            length = 1
            while length < 31 and self._single(ESCAPE + length):
                length += 1
            found = self._low_bits(1, length - 1, None) + UNARY - 1
        return -found if found and self._coder.decode(32768) else found


def _around(row: I64, k: int) -> int:
    below, at, above = (min(abs(int(v)), 1000) for v in row[k - 1 : k + 2])
    return 2 * at + below + above


def _class(value: int, ends: tuple[int, ...]) -> int:
    return next((c for c, end in enumerate(ends) if value <= end), len(ends))


def _activity(value: int) -> int:
    return min(_class(value, ACTIVITY_ENDS), 8)
