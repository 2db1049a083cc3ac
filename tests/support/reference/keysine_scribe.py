"""Writes the integers of a `keysine` encoder: parts of keys and groups, for `keysine_encoder.py`.

The decoder selects a table for every symbol by its context. `Scribe` takes the place of the
decoder's coder and writes numbers where the decoder would read them. The decoder's own code thus
selects the tables, and both agree on every context. The functions below list the numbers in the
order in which the decoder asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from keysine_payload import PayloadHead, checksum
from keysine_tracks import UNIT_STEP
from mocpack.common.arrays import I64
from reference.keysine_plan import Plan
from reference.keysine_symbols import (
    COARSE,
    ESCAPE,
    FINE,
    SIGNS,
    STEP_ESCAPE,
    CoefficientSymbols,
    KeySymbols,
    plain_bits,
    read_group,
    symbol_floor,
    symbol_of,
)
from reference.table_reader import TableReader
from reference.table_writer import TableWriter


@dataclass
class Integers:
    """The integers of a clip.

    Attributes
    ----------
    splits : int
        How often groups are halved into blocks.
    key_frames : array of int, shape (K,)
        Where blocks begin; the last frame.
    keys : array of int, shape (K, C)
    steps : array of int, shape (tracks, K - 1)
        The index of each block's quantizer step; -1 where all coefficients are zero.
    coefficients : array of int, shape (T, C)
        Coefficient k of the block that starts at frame f is in row f + k.
    """

    splits: int
    key_frames: I64
    keys: I64
    steps: I64
    coefficients: I64


class Scribe(TableReader):
    """Writes the next number where the decoder would read one."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers, self._writer = numbers, TableWriter()

    def symbol(self, starts: Sequence[int]) -> int:
        number = next(self._numbers)
        self._writer.symbol(starts, number)
        return number

    def bits(self, count: int) -> int:
        if not count:
            return 0
        number = next(self._numbers)
        self._writer.bits(count, number)
        return number

    def part(self) -> bytes:
        """Return the part: its checksum and its bytes."""
        body = self._writer.finish()
        return checksum(body) + body


def write_parts(head: PayloadHead, plan: Plan, found: Integers) -> Iterator[bytes]:
    """Yield all parts: segments of keys, then groups."""
    blocks = 1 << found.splits
    edges = found.keys[::blocks]
    for segment in range(head.segment_count):
        first = segment * head.groups_per_segment
        own = edges[first : first + head.groups_per_segment + 1]
        scribe = Scribe(_difference_numbers(np.diff(own, axis=0, prepend=0)))
        KeySymbols(scribe, plan).sequence(len(own))
        yield scribe.part()
    unshifted = np.zeros(plan.channel_count, np.int64)
    for g in range(head.group_count):
        start, stop = (int(found.key_frames[blocks * e]) for e in (g, g + 1))
        if stop - start == 1:
            yield b""
            continue
        scribe = Scribe(_group_numbers(plan, found, g))
        group = read_group(scribe, plan, edges[g : g + 2], stop - start, head.tempo, unshifted)
        CoefficientSymbols(scribe, plan, group, [0] * len(plan.tracks)).read()
        yield scribe.part()


def key_order(count: int, splits: int) -> Iterator[tuple[int, int, int]]:
    """Yield keys and the two that predict each: ends of groups first, then ever finer halves."""
    for at in range(1 << splits, count, 1 << splits):
        yield at, at - (1 << splits), at - (1 << splits)
    for level in reversed(range(splits)):
        half = 1 << level
        yield from ((at, at - half, at + half) for at in range(half, count, 2 * half))


def _difference_numbers(differences: I64) -> Iterator[int]:
    """Yield the numbers of differences of keys, as the decoder asks for them."""
    for value in differences.ravel().tolist():
        yield from _magnitude(abs(value), COARSE)
        if value:
            yield int(value < 0)


def _magnitude(size: int, m: int) -> Iterator[int]:
    symbol = symbol_of(size, m)
    yield symbol
    yield from _rest(symbol, size, m)


def _rest(symbol: int, size: int, m: int) -> Iterator[int]:
    rest = size - symbol_floor(symbol, m)
    if symbol == ESCAPE:
        yield rest.bit_length()
    if rest.bit_length() if symbol == ESCAPE else plain_bits(symbol, m):
        yield rest


def _group_numbers(plan: Plan, found: Integers, g: int) -> Iterator[int]:
    """Yield the numbers of a group: its splits, inner keys, then steps and coefficients."""
    blocks = 1 << found.splits
    keys = found.keys[blocks * g : blocks * (g + 1) + 1]
    yield found.splits
    for at, left, right in key_order(blocks + 1, found.splits):
        if at < blocks:
            yield from _difference_numbers(keys[at] - (keys[left] + keys[right] >> 1))
    for t, track in enumerate(plan.tracks):
        for b in range(blocks * g, blocks * (g + 1)):
            start, stop = found.key_frames[b : b + 2]
            if stop - start > 1:
                yield from _step_numbers(plan, found.steps, t, b, blocks * g)
            if found.steps[t, b] >= 0:
                for values in found.coefficients[start:stop, track.channels].T.tolist():
                    yield from _coefficient_numbers(values)


def _step_numbers(plan: Plan, steps: I64, t: int, b: int, first: int) -> Iterator[int]:
    """Yield the step of a track in a block, relative to the one that the decoder guesses."""
    known, above = steps[t, first:b], plan.tracks[t].parent
    while not (known >= 0).any() and above >= 0:
        known, above = steps[above, b : b + 1], plan.tracks[above].parent
    guess = int(known[known >= 0][-1]) if (known >= 0).any() else UNIT_STEP
    step = int(steps[t, b])
    change = step - guess
    symbol = 2 * change + 1 if change >= 0 else -2 * change
    if step < 0:
        yield 0
    elif symbol < STEP_ESCAPE:
        yield symbol
    else:
        yield from (STEP_ESCAPE, step)


def _coefficient_numbers(values: list[int]) -> Iterator[int]:
    """Yield the coefficients of a channel in a block: reach, symbols, rests, signs."""
    reach = max((k for k, value in enumerate(values) if value), default=0)
    yield 1 + symbol_of(reach - 1, COARSE) if reach else 0
    if reach:
        yield from _rest(symbol_of(reach - 1, COARSE), reach - 1, COARSE)
    symbols = [symbol_of(abs(value), FINE) for value in values[1 : reach + 1]]
    yield from symbols
    for symbol, value in zip(symbols, values[1:], strict=False):
        if symbol >= 8:
            yield from _rest(symbol, abs(value), FINE)
    negative = [value < 0 for value in values if value]
    for first in range(0, len(negative), SIGNS):
        yield sum(sign << i for i, sign in enumerate(negative[first : first + SIGNS]))
