"""The symbols of `keysine` in plain Python: which decisions there are, and their contexts.

Integers throughout; `keysine.py` makes motion of them, `keysine/decode/symbols.h` is the native
twin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack.clip import ClipHeader
from mocpack.codecs.keysine.payload import MOST_INITIAL_SCALE, MOST_SHIFT
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
from mocpack.errors import CorruptionError
from mocpack.testing.reference.keysine_models import (
    BANDS,
    EXPONENTS,
    LEVELS,
    REACHES,
    UNARY,
    Models,
    RangeDecoder,
    moved,
)

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
Context = tuple[Sequence[int], int, int]
"""Contexts of a decision, the band of its weights, and the number of its family's."""
U8 = npt.NDArray[np.uint8]

NUMBER_LEVELS, HEAD_NUMBERS = 34, 8
MEAN_NUMBER, STILL_NUMBER, BASIS_NUMBER, KEY_STEP_NUMBER = 0, 1, 2, 3
ORIGIN_NUMBER, PLACE_NUMBER, SEGMENT_SIZE, GROUP_SIZE = 4, 5, 6, 7
BAND_ENDS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 28, 36, 46, 58)
ACTIVITY_ENDS = (0, 1, 2, 3, 4, 6, 9, 14, 22, 38, 70)
TOTAL_ENDS = (0, 1, 2, 3, 4, 5, 7, 9, 12, 16, 22, 30, 44, 64, 100)
STEP_SAME, STEP_DOWN, STEP_MORE, REACH_LOW, KEY_LOW, ESCAPE, HEAD = 0, 3, 5, 69, 89, 121, 153


@dataclass
class Group:
    """The integers of a group, as far as its layers have been read.

    Attributes
    ----------
    lengths : array of int, shape (blocks,)
        Frames of each block.
    steps : array of int, shape (tracks, blocks)
        -1 where a track has no coefficients.
    reaches : array of int, shape (channels, blocks)
        Classes.
    values : array of int, shape (blocks, channels, longest + 2)
        Coefficient k stands at k; a zero stands on either side.
    """

    lengths: npt.NDArray[np.intp]
    steps: I64
    reaches: I64
    values: I64

    @classmethod
    def empty(cls, plan: Plan, lengths: npt.NDArray[np.intp]) -> Group:
        blocks, channels = len(lengths), plan.channel_count
        return cls(
            lengths,
            np.full((len(plan.tracks), blocks), -1, np.int64),
            np.zeros((channels, blocks), np.int64),
            np.zeros((blocks, channels, int(lengths.max()) + 2), np.int64),
        )


class Symbols:
    """Reads the symbols of a head, a segment or a group."""

    def __init__(self, data: bytes, plan: Plan, models: Models) -> None:
        self._coder = RangeDecoder(data)
        self._plan = plan
        self._m = models

    def _single(self, at: int) -> int:
        """Read a bit that one state predicts by itself."""
        state = int(self._m.singles[at])
        bit = self._coder.decode(min(max(state >> 16, 64), 65472))
        self._m.singles[at] = moved(state, bit)
        return bit

    def sizes(self, segments: int, groups: int) -> tuple[list[int], list[int]]:
        """Return the sizes of segments and groups."""
        return (
            [self._natural(SEGMENT_SIZE) for _ in range(segments)],
            [self._natural(GROUP_SIZE) for _ in range(groups)],
        )

    def shifts(self, count: int, tracks: int) -> U8:
        """Return how coarse the layers but the last are: (count, tracks)."""
        found = np.zeros((count, tracks), np.uint8)
        above = np.full(tracks, MOST_SHIFT)
        for row in found:
            for t in range(tracks):
                shift = (int(row[t - 1]) if t else 0) + self._number(MEAN_NUMBER)
                if not 0 <= shift <= above[t]:
                    raise CorruptionError(
                        f"keysine head: track {t}: a layer's shift {shift} is outside 0..{above[t]}"
                    )
                row[t] = shift
            above = row
        return found

    def grid(self, tracks: int, channels: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the steps of a grid in time, by track, and its initial scales, by channel."""
        steps = self._running(KEY_STEP_NUMBER, 8, tracks, "track", "grid step", 63)
        scales = self._running(
            MEAN_NUMBER, 16, channels, "channel", "initial scale", MOST_INITIAL_SCALE
        )
        return steps, scales

    def _running(
        self, number: int, start: int, count: int, part: str, field: str, high: int
    ) -> tuple[int, ...]:
        """Read numbers in 0..high, each as its difference to the one before."""
        found = [start]
        for i in range(count):
            found.append(found[-1] + self._number(number))
            if not 0 <= found[-1] <= high:
                raise CorruptionError(
                    f"keysine head: {part} {i}: {field} {found[-1]} is outside 0..{high}"
                )
        return tuple(found[1:])

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

    def group(self, group: Group, tempo: int) -> None:
        """Read the steps and coefficients of a group, track by track, block by block."""
        for t, track in enumerate(self._plan.tracks):
            for b in range(len(group.lengths)):
                if not self._moves(group.steps, t, b):
                    continue
                group.steps[t, b] = self._step(group.steps, t, b)
                for c in range(track.channel_count):
                    reach = self._reach(group, t, b, c)
                    if reach >= group.lengths[b]:
                        raise CorruptionError("keysine payload: more coefficients than frames")
                    row = group.values[b, track.first_channel + c]
                    for k in range(1, reach + 1):
                        context = self._contexts(group, t, b, c, k, reach, tempo)
                        row[k] = self._coefficient(context, int(k == reach))

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

    def _reach(self, group: Group, t: int, b: int, c: int, least: int = 0) -> int:
        """Read a reach that is at least `least`."""
        track, reaches = self._plan.tracks[t], group.reaches
        at, up = track.first_channel + c, 0
        if track.parent >= 0:
            up = 1 + int(reaches[self._plan.tracks[track.parent].first_channel + min(c, 2), b])
        contexts = (
            track.family * 4 + c,
            1 + int(reaches[at, b - 1]) if b else 0,
            (1 + int(reaches[at - 1, b]) if c else 0) * 4 + c,
            up,
            min(max(int(group.steps[t, b]) - 2, 0), 15) * 4 + c,
        )
        found, family = _reach_class(least), track.family * 4 + c
        decode = self._m.reach.decode
        while found < REACHES - 1 and decode(self._coder, contexts, found, found, family):
            found += 1
        reaches[at, b] = found
        floor = _reach_floor(found)
        return floor + self._place(found, max(0, least - floor))

    def _place(self, found: int, least: int) -> int:
        """Read the place of a reach in its class, without the bits that `least` decides."""
        place, bits = 0, max(0, (found - 3) // 2)
        for k in range(bits - 1, -1, -1):
            known = 2 * place + 1 <= least >> k
            first = REACH_LOW + found if k == bits - 1 else None
            place = 2 * place + 1 if known else self._low_bits(place, 1, first)
        return place

    def _contexts(
        self, group: Group, t: int, b: int, c: int, k: int, reach: int, tempo: int
    ) -> Context:
        """Return the contexts of coefficient k, and which weights it has."""
        track = self._plan.tracks[t]
        at, values = track.first_channel + c, group.values
        row, zeros = values[b, at], np.zeros_like(values[b, at])
        up = zeros
        if track.parent >= 0:
            up = values[b, self._plan.tracks[track.parent].first_channel + min(c, 2)]
        one = min(abs(int(row[k - 1])), 1000)
        two = min(abs(int(row[k - 2])), 1000) if k > 1 else 0
        near = 2 * one + two
        was = _around(values[b - 1, at] if b else zeros, k)
        side, over = _around(values[b, at - 1] if c else zeros, k), _around(up, k)
        band = _class(k * tempo + 8 >> 4, BAND_ENDS)
        total = _class(2 * near + was + side + over, TOTAL_ENDS)
        contexts = (
            _class(near, ACTIVITY_ENDS) * BANDS + band,
            (_activity(was) * 9 + _activity(side)) * 3 + min(one, 2),
            (track.family * 4 + c) * BANDS + band,
            total * 8 + min(reach - k, 7),
            (_activity(over) * 6 + min(_class(near, ACTIVITY_ENDS), 5)) * 4 + c,
        )
        return contexts, min(band // 3, 3), track.family * 4 + c

    def _more(self, context: Context, found: int) -> int:
        """Read whether a magnitude is more than `found`."""
        level = min(found, LEVELS - 1)
        contexts, region, family = context
        chosen = level * 4 + region
        return self._m.coefficient.decode(self._coder, contexts, level, chosen, family)

    def _coefficient(self, context: Context, found: int) -> int:
        """Read a magnitude of at least `found`, and its sign."""
        while found < UNARY and self._more(context, found):
            found += 1
        if found == UNARY:
            length = 1
            while length < 31 and self._single(ESCAPE + length):
                length += 1
            found = self._low_bits(1, length - 1, None) + UNARY - 1
        return -found if found and self._coder.decode(32768) else found


def _reach_floor(found: int) -> int:
    """Return the smallest reach of a class: 0, 1, 2, 3, 4, 5, 7, 9, 13, 17, 25 …"""
    return found if found < 5 else ((2 + (found - 5) % 2) << ((found - 3) // 2)) + 1


def _reach_class(reach: int) -> int:
    return max(c for c in range(REACHES) if _reach_floor(c) <= reach)


def _around(row: I64, k: int) -> int:
    below, at, above = (min(abs(int(v)), 1000) for v in row[k - 1 : k + 2])
    return 2 * at + below + above


def _class(value: int, ends: tuple[int, ...]) -> int:
    return next((c for c, end in enumerate(ends) if value <= end), len(ends))


def _activity(value: int) -> int:
    return min(_class(value, ACTIVITY_ENDS), 8)
