r"""Layers in plain Python: keys and coefficients coarsely first, then finer, given the coarse ones.

A layer of shift s knows of a coefficient q the integer \|q\| >> s and its sign; the first layer is
read like any group. Of a key k at an end of groups it knows (k + h) >> s, with h half of the first
layer's 2^s. Of a key inside a group it knows its difference to its neighbors' mean as of q.
`keysine/format/refinement.h` is the native twin.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keysine_payload import PayloadHead
from mocpack.common.arrays import F64, I64
from reference.keysine_plan import Plan
from reference.keysine_symbols import (
    FINE,
    CoefficientSymbols,
    Group,
    level_of,
    refined,
)
from reference.table_reader import TableReader


class KeyShifts:
    """How coarse the keys of each channel are in each layer."""

    def __init__(self, head: PayloadHead, plan: Plan) -> None:
        counts = [track.channel_count for track in plan.tracks]
        rows = [head.shifts[layer, 0] for layer in range(head.layer_count - 1)]
        rows.append(np.zeros(len(plan.tracks), np.uint8))
        self._shifts = [np.repeat(row.astype(np.int64), counts) for row in rows]
        self._half = (1 << self._shifts[0]) >> 1

    def inner(self, layer: int) -> I64:
        """Return the shifts (channels) of the keys inside groups."""
        return np.where(self._shifts[layer] > 0, self._shifts[layer] + 1, 0)

    def coarse(self, keys: I64, layer: int) -> I64:
        """Return the integers (…, channels) that a layer knows of keys."""
        return np.asarray((keys + self._half) >> self._shifts[layer])

    def middles(self, coarse: I64, layer: int) -> I64:
        """Return the middle of the interval of each key."""
        shift = self._shifts[layer]
        return np.asarray((coarse << shift) + ((1 << shift) >> 1) - self._half)

    def refine(self, coder: TableReader, keys: I64, layer: int) -> I64:
        """Read a layer's further bits of keys (count, channels)."""
        bits = self._shifts[layer - 1] - self._shifts[layer]
        coarse = self.coarse(keys, layer - 1) << bits
        for key in coarse:
            for c in np.flatnonzero(bits):
                key[c] += coder.bits(int(bits[c]))
        return self.middles(coarse, layer)


class Refinement(CoefficientSymbols):
    """Reads a layer of a group that is not the base."""

    def layer(self, bits: Sequence[int]) -> None:
        """Refine the coefficients of each track by that many bits."""
        group = self._group
        for t, track in enumerate(self._plan.tracks):
            for b in range(len(group.lengths) if bits[t] else 0):
                if group.lengths[b] > 1 and group.steps[t, b] < 0:
                    self._step(t, b)
                for c in range(track.channel_count if group.steps[t, b] >= 0 else 0):
                    self._refine(t, b, c, bits[t])

    def _refine(self, t: int, b: int, c: int, bits: int) -> None:
        channel = self._plan.tracks[t].first_channel + c
        row = self._group.values[b, channel]
        known = int(np.flatnonzero(row).max(initial=4)) - 4
        reach = self._reach(t, b, c, known)
        for k in range(1, reach + 1):
            before = int(row[k + 4])
            starts = self._starts(t, b, c, k, reach)
            low, high = abs(before) << bits, (abs(before) + 1 << bits) - 1
            low += int(k == reach and not low)  # the last coefficient is not zero
            size, symbol = refined(self._coder, starts, FINE, low, high)
            negative = before < 0 if before else size and self._coder.bits(1)
            row[k + 4] = -size if negative else size
            self._group.levels[b, channel, k + 4] = level_of(symbol)


def middles(group: Group, plan: Plan, shifts: Sequence[int]) -> F64:
    """Return the middle of the interval of each coarse value (blocks, channels, …)."""
    found = group.values.astype(np.float64)
    for track, shift in zip(plan.tracks, shifts, strict=True):
        at = slice(track.first_channel, track.first_channel + track.channel_count)
        size = np.abs(found[:, at]) * 2**shift + 0.5 * (2**shift - 1)
        found[:, at] = np.sign(found[:, at]) * size
    return found
