"""The symbols of `keysine` in plain Python: the context of each, which selects its table.

Integers throughout; `keysine.py` makes motion of them, `keysine/format/symbols.h` is the native
twin.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import isqrt
from pathlib import Path

import numpy as np

from mocpack.common.arrays import I64
from mocpack.errors import CorruptionError
from reference.keysine_plan import Plan
from reference.table_reader import TableReader

SYMBOLS, ESCAPE, FINE, COARSE, LARGEST = 32, 31, 2, 1, 1 << 30
BAND_ENDS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 28, 36, 46, 58)
STEPS, STEP_ESCAPE, FIRST_GUESS, STEP_GUESSES = 64, 23, 5, 8
SIGNS = 12  # that are read at once
MAX_BLOCK_FRAMES = 512  # frames
RATIOS = (1, 1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256)
TABLES = Path(__file__).resolve().parents[3] / "core/src/keysine/format/tables.inc"
ARRAY = re.compile(r"(\w+)((?:\[\d+\])+) = (\{.*?\});", re.DOTALL)
# the core has one row for each pair of band group and kind
SHAPES = {"MAGNITUDE_WEIGHTS": (4, 4, 13), "MAGNITUDE_LIFTS": (4, 4, 24)}


@cache
def tables() -> dict[str, I64]:
    """Return the trained tables, as docs/codecs/keysine.md names them."""
    found = {}
    for name, sizes, body in ARRAY.findall(TABLES.read_text()):
        numbers = np.array([int(number) for number in re.findall(r"-?\d+", body)])
        shape = tuple(int(size) for size in re.findall(r"\d+", sizes))
        found[name] = numbers.reshape(SHAPES.get(name, shape))
    return found


def plain_bits(symbol: int, m: int) -> int:
    return max((symbol >> m) - 1, 0)


def symbol_floor(symbol: int, m: int) -> int:
    """Return the smallest magnitude of a symbol."""
    bits = plain_bits(symbol, m)
    return symbol - (bits << m) << bits


def symbol_of(size: int, m: int) -> int:
    bits = max(size.bit_length() - m - 1, 0)
    return min((bits << m) + (size >> bits), ESCAPE)


def level_of(symbol: int) -> int:
    return min(symbol_floor(symbol, FINE), 255)


def pace(k: int, tempo: int) -> int:
    return k * tempo + 32 >> 6


def band_of(k: int, tempo: int) -> int:
    return sum(pace(k, tempo) > end for end in BAND_ENDS)


def step_ratio(difference: int) -> int:
    """Return 16 · 2^(difference / 2)."""
    return RATIOS[min(max(difference, -8), 8) + 8]


def seen_by_series(distance: int, step: int, key_index: int, length: int) -> int:
    """Return how far keys are apart, in sixteenths of a step, as a first coefficient sees it."""
    scaled = min(distance, 1 << 20) * step_ratio(step - key_index) * isqrt(64 * length)
    return min(scaled >> 6, 1 << 14)


def rest_of(coder: TableReader, symbol: int, m: int) -> int:
    """Read the rest of a magnitude, of which the symbol is known."""
    bits = coder.bits(5) if symbol == ESCAPE else plain_bits(symbol, m)
    if bits > 29:
        raise CorruptionError("keysine payload: a number is too large")
    return symbol_floor(symbol, m) + coder.bits(bits)


def number(coder: TableReader, starts: Sequence[int], *, signed: bool) -> int:
    size = rest_of(coder, coder.symbol(starts), COARSE)
    return -size if signed and size and coder.bits(1) else size


@dataclass
class Group:
    """The integers of a group, as far as its layers have been read.

    Attributes
    ----------
    keys : array of int, shape (blocks + 1, channels)
    residuals : array of int, shape (blocks + 1, channels)
        Differences of the inner keys to the mean of their neighbors, as the last layer knows them.
    lengths : list of int
        Frames of each block.
    steps : array of int, shape (tracks, blocks)
        -1 where a track does not move.
    values, levels : array of int, shape (blocks, channels, …)
        Coefficient k stands at k + 4; levels are magnitudes, coarsely.
    reaches : array of int, shape (blocks, channels)
    """

    keys: I64
    residuals: I64
    lengths: list[int]
    tempo: int
    steps: I64
    values: I64
    levels: I64
    reaches: I64


def read_group(
    coder: TableReader, plan: Plan, edges: I64, length: int, tempo: int, shifts: I64
) -> Group:
    """Read how a group is split, and the keys between those at its ends, as a first layer."""
    splits = coder.symbol(tables()["SPLIT_TABLE"].tolist())
    blocks = 1 << splits
    if blocks > length or -(-length // blocks) > MAX_BLOCK_FRAMES:
        raise CorruptionError(f"keysine payload: {blocks} blocks in a group of {length} frames")
    keys = np.zeros((blocks + 1, plan.channel_count), np.int64)
    keys[[0, -1]] = edges
    residuals = np.zeros_like(keys)
    KeySymbols(coder, plan).between(keys, residuals, None, shifts)
    starts = [(2 * b * length + blocks) >> (splits + 1) for b in range(blocks + 1)]
    shape = blocks, plan.channel_count
    room = -(-length // blocks) + 8
    return Group(
        keys,
        residuals,
        np.diff(starts).tolist(),
        tempo << splits,
        np.full((len(plan.tracks), blocks), -1),
        np.zeros((*shape, room), np.int64),
        np.zeros((*shape, room), np.int64),
        np.zeros(shape, np.int64),
    )


class KeySymbols:
    """Reads keys as differences from a prediction."""

    def __init__(self, coder: TableReader, plan: Plan) -> None:
        self._coder, self._plan = coder, plan
        self._found = [0] * plan.channel_count  # symbols of this key, or still of the one before

    def sequence(self, count: int) -> I64:
        """Return keys (count, channels): the first, then each from the one before."""
        keys = np.zeros((count, self._plan.channel_count), np.int64)
        none = [0] * self._plan.channel_count
        for k in range(count):
            self._differences(keys[k], none, min(k, 2))
            keys[k] += keys[k - 1] if k else 0
            check_key(keys[k])
        return keys

    def between(self, keys: I64, residuals: I64, before: I64 | None, after: I64) -> None:
        """Read the residuals of the keys between the first and the last, halving, and place them.

        Parameters
        ----------
        before, after : array of int, shape (channels,)
            Shifts of the residuals in the previous layer (if there is one) and in this one.
        """
        half, level = (len(keys) - 1) // 2, 0
        bits = None if before is None else before - after
        while half:
            for at in range(half, len(keys) - 1, 2 * half):
                low, high = keys[at - half], keys[at + half]
                apart = [symbol_of(int(d), COARSE) for d in np.abs(high - low) >> after]
                self._differences(residuals[at], apart, 3 + min(level, 2), bits)
                size = (np.abs(residuals[at]) << after) + ((1 << after) - 1) // 2
                keys[at] = (low + high >> 1) + np.sign(residuals[at]) * size
                check_key(keys[at])
            half, level = half // 2, level + 1

    def _differences(
        self, known: I64, apart: list[int], state: int, bits: I64 | None = None
    ) -> None:
        """Read the differences (channels) of a key, or make known ones so many bits finer."""
        total = seen = 0
        for t, track in enumerate(self._plan.tracks):
            for c in range(track.channel_count):
                at = track.first_channel + c
                starts = self._starts(t, c, apart[at], 4 * total // seen if seen else 0, state)
                if bits is None:
                    known[at] = self._read(starts, at)
                else:
                    known[at] = self._refine(starts, at, int(known[at]), int(bits[at]))
                total, seen = total + self._found[at], seen + 1

    def _starts(self, t: int, c: int, apart: int, mean: int, state: int) -> list[int]:
        """Return the table of a channel: by a weighted sum of its neighbors."""
        track, found = self._plan.tracks[t], self._found
        at, up = track.first_channel + c, 0
        if track.parent >= 0:
            parent = self._plan.tracks[track.parent]
            up = found[parent.first_channel + min(c, parent.channel_count - 1)]
        left = found[at - 1] if c else 0
        inputs = [found[at], apart, left, up, mean, c == 1, c == 2, c == 3]
        chosen = 4 * state + (c == 0) + 2 * (track.parent < 0)
        lift = int(tables()["KEY_FAMILIES"][chosen, track.family])
        expected = lift + int(tables()["KEY_WEIGHTS"][chosen] @ np.array(inputs, np.int64))
        starts: list[int] = tables()["KEY_TABLES"][min(max(expected >> 7, 0), 47)].tolist()
        return starts

    def _read(self, starts: list[int], at: int) -> int:
        self._found[at] = self._coder.symbol(starts)
        size = rest_of(self._coder, self._found[at], COARSE)
        return -size if size and self._coder.bits(1) else size

    def _refine(self, starts: list[int], at: int, known: int, bits: int) -> int:
        size = abs(known)
        self._found[at] = symbol_of(size, COARSE)
        if bits:
            low, high = size << bits, (size + 1 << bits) - 1
            size, self._found[at] = refined(self._coder, starts, COARSE, low, high)
        negative = known < 0 if known else bits and size and self._coder.bits(1)
        return -size if negative else size


def check_key(key: I64) -> None:
    if np.abs(key).max(initial=0) > LARGEST:
        raise CorruptionError("keysine payload: a key is too large")


def refined(coder: TableReader, starts: list[int], m: int, low: int, high: int) -> tuple[int, int]:
    """Read a magnitude from `low` to `high`, and return it and its symbol."""
    symbol = between(coder, starts, symbol_of(low, m), symbol_of(high, m))
    floor = symbol_floor(symbol, m)
    low = max(low, floor)
    high = high if symbol == ESCAPE else min(high, floor + (1 << plain_bits(symbol, m)) - 1)
    while low < high:
        middle = (low + high) // 2
        if coder.bits(1):
            low = middle + 1
        else:
            high = middle
    return low, symbol


def between(coder: TableReader, starts: list[int], low: int, high: int) -> int:
    """Read one of the symbols from `low` to `high`, by halves."""
    while low < high:
        middle = (low + high) // 2
        below, whole = starts[middle + 1] - starts[low], starts[high + 1] - starts[low]
        zero = min(max(below * 4096 // whole if whole else 2048, 1), 4095)
        if coder.choice(zero):
            low = middle + 1
        else:
            high = middle
    return low


def track_of(plan: Plan, channel: int) -> int:
    return max(t for t, track in enumerate(plan.tracks) if track.first_channel <= channel)


class CoefficientSymbols:
    """Reads the steps and coefficients of a group."""

    def __init__(self, coder: TableReader, plan: Plan, group: Group, shifts: Sequence[int]) -> None:
        self._coder, self._plan, self._group = coder, plan, group
        self._shifts = shifts  # (tracks) of the coefficients in this layer

    def read(self) -> None:
        for t, track in enumerate(self._plan.tracks):
            for b, length in enumerate(self._group.lengths):
                if length > 1:
                    self._step(t, b)
                for c in range(track.channel_count if self._group.steps[t, b] >= 0 else 0):
                    self._channel(t, b, c)

    def _step(self, t: int, b: int) -> None:
        steps, parent = self._group.steps, self._plan.tracks[t].parent
        was = 1 + int(steps[t, b - 1] >= 0) if b else 0
        up = 1 + int(steps[parent, b] >= 0) if parent >= 0 else 0
        guess = self._known_step(t, b)
        row = min(max(guess - FIRST_GUESS, 0), STEP_GUESSES - 1)
        symbol = self._coder.symbol(tables()["STEP_TABLES"][3 * was + up, row].tolist())
        if symbol == 0:
            return
        change = 0 if symbol == 1 else symbol // 2 if symbol % 2 else -(symbol // 2)
        steps[t, b] = self._coder.bits(6) if symbol == STEP_ESCAPE else guess + change
        if not 0 <= steps[t, b] < STEPS:
            raise CorruptionError(f"keysine payload: step {steps[t, b]} is outside 0..{STEPS - 1}")

    def _known_step(self, t: int, b: int) -> int:
        """Return the step last used by the track, else by its nearest ancestor, else 8."""
        steps = self._group.steps
        own = [int(step) for step in steps[t, :b] if step >= 0]
        above = self._plan.tracks[t].parent
        while not own and above >= 0:
            own = [int(steps[above, b])] if steps[above, b] >= 0 else []
            above = self._plan.tracks[above].parent
        return own[-1] if own else 8

    def _distance(self, channel: int, b: int) -> int:
        """Return how far the keys at the ends of a block are apart."""
        keys = self._group.keys[:, channel].tolist()
        return int(abs(keys[b + 1] - keys[b]))

    def _bend(self, channel: int, b: int) -> int:
        """Return how far those within the group are off their neighbors' middle, twice."""
        keys = self._group.keys[:, channel].tolist()
        inner = [e for e in (b, b + 1) if 0 < e < len(keys) - 1]
        return int(sum(abs(keys[e - 1] - 2 * keys[e] + keys[e + 1]) for e in inner))

    def _seen_keys(self, t: int, b: int, c: int) -> list[int]:
        """Return distance and bend of the keys at the ends of a block."""
        track, step = self._plan.tracks[t], int(self._group.steps[t, b])
        channel, length = track.first_channel + c, self._group.lengths[b]
        far = self._distance(channel, b), self._bend(channel, b)
        coarse = step - 2 * self._shifts[t]
        return [seen_by_series(d, coarse, track.key_index, length) for d in far]

    def _channel(self, t: int, b: int, c: int) -> None:
        channel = self._plan.tracks[t].first_channel + c
        reach = self._reach(t, b, c, 0)
        levels, symbols = self._group.levels[b, channel], []
        for k in range(1, reach + 1):
            symbols.append(self._coder.symbol(self._starts(t, b, c, k, reach)))
            levels[k + 4] = level_of(symbols[-1])
        sizes = [s if s < 8 else rest_of(self._coder, s, FINE) for s in symbols]
        moved = [k for k, size in enumerate(sizes) if size]
        for first in range(0, len(moved), SIGNS):
            chunk = moved[first : first + SIGNS]
            signs = self._coder.bits(len(chunk))
            for i, k in enumerate(chunk):
                sizes[k] = -sizes[k] if signs >> i & 1 else sizes[k]
        self._group.values[b, channel, 5 : 5 + reach] = sizes

    def _reach(self, t: int, b: int, c: int, least: int) -> int:
        """Read the highest frequency that is not zero, which is at least `least`."""
        group, track = self._group, self._plan.tracks[t]
        reaches, at = group.reaches, track.first_channel + c
        up = first = 0
        if track.parent >= 0:
            parent = self._plan.tracks[track.parent]
            up = reaches[b, parent.first_channel + min(c, parent.channel_count - 1)]
            first = reaches[b, parent.first_channel]
        before, left = reaches[b - 1, at] if b else 0, reaches[b, at - 1] if c else 0
        length = symbol_of(group.lengths[b] - 1, COARSE)
        inputs = [before, left, up, first, group.steps[t, b], length, c > 1]
        inputs += [symbol_of(seen >> 2, COARSE) for seen in self._seen_keys(t, b, c)]
        kind = (b == 0) + 2 * (c == 0)
        chosen = kind + 4 * (track.parent < 0)
        lift = int(tables()["REACH_FAMILIES"][chosen, track.family])
        expected = lift + int(tables()["REACH_WEIGHTS"][chosen] @ np.array(inputs, np.int64))
        starts = tables()["REACH_TABLES"][min(max(expected >> 7, 0), 31), kind].tolist()
        lowest = 1 + symbol_of(least - 1, COARSE) if least else 0
        symbol = between(self._coder, starts, lowest, 23) if lowest else self._coder.symbol(starts)
        reaches[b, at] = symbol
        reach = 0
        if symbol:
            place = self._coder.bits(plain_bits(symbol - 1, COARSE))
            reach = 1 + symbol_floor(symbol - 1, COARSE) + place
        if not least <= reach < group.lengths[b]:
            raise CorruptionError("keysine payload: more coefficients than frames")
        return reach

    def _starts(self, t: int, b: int, c: int, k: int, reach: int) -> list[int]:
        """Return the table of a coefficient: by a weighted sum of its neighbors."""
        levels, track = self._group.levels, self._plan.tracks[t]
        channel = track.first_channel + c
        none = np.zeros_like(levels[0, 0])
        before = levels[b - 1, channel] if b else none
        left = levels[b, channel - 1] if c else none
        second = levels[b, channel - 2] if c > 1 else none
        up = first = none
        if track.parent >= 0:
            parent = self._plan.tracks[track.parent]
            up = levels[b, parent.first_channel + min(c, parent.channel_count - 1)]
            first = levels[b, parent.first_channel]
        at, own = k + 4, levels[b, channel]
        inputs = [own[at - 1], own[at - 2], own[at - 3], *_around(before, at), *_around(left, at)]
        inputs += [2 * second[at] + sum(_around(second, at)[1:]), *_around(up, at), first[at]]
        band, kind = band_of(k, self._group.tempo), 2 * (b == 0) + (c == 0)
        weights = tables()["MAGNITUDE_WEIGHTS"][band // 4, kind].tolist()
        ratios = self._ratios(t, b)
        for i in (3, 4, 8, 9, 10):
            weights[i] = weights[i] * ratios[i > 4] >> 4
        total = int(tables()["MAGNITUDE_CONSTANTS"][band, kind])
        total += sum(w * int(x) for w, x in zip(weights[:11], inputs, strict=True))
        seen = self._seen_keys(t, b, c)
        keys = min(weights[11] * seen[0] + weights[12] * seen[1] >> 8, 65535)
        total += keys * (65536 // k) >> 12
        total |= 1
        bits = total.bit_length()
        part = (total >> bits - 4 if bits > 3 else total << 4 - bits) & 7
        lifts = tables()["MAGNITUDE_LIFTS"][band // 4, kind]
        step = min(max(int(self._group.steps[t, b]) - 4, 0), 9)
        lift = int(lifts[track.family] + lifts[10 + c] + lifts[14 + step])
        row = min(max(8 * bits + part + lift - 24 >> 2, 0), 25)
        found: list[int] = tables()["MAGNITUDE_TABLES"][row, min(reach - k, 3)].tolist()
        return found

    def _ratios(self, t: int, b: int) -> tuple[int, int]:
        """Return sixteenths of the steps of the block before and of the parent to this one's."""
        steps, parent = self._group.steps, self._plan.tracks[t].parent
        own = int(steps[t, b])
        was = int(steps[t, b - 1]) if b else -1
        up = int(steps[parent, b]) if parent >= 0 else -1
        return (
            step_ratio(own - was) if was >= 0 else 0,
            step_ratio(own - up - 2 * (self._shifts[t] - self._shifts[parent])) if up >= 0 else 0,
        )


def _around(row: I64, at: int) -> list[int]:
    """Return a level, and the sum of those on either side."""
    return [int(row[at]), int(row[at - 1] + row[at + 1])]
