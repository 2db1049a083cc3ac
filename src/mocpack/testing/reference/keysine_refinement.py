r"""Layers in plain Python: coefficients coarsely first, then finer, given the coarse ones.

A layer of shift s knows of a coefficient q the integer \|q\| >> s and its sign; the base is read
like any group. `keysine/decode/refinement.h` is the native twin.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mocpack.codecs.keysine.tracks import Plan
from mocpack.errors import CorruptionError
from mocpack.testing.reference.keysine_models import LEVELS
from mocpack.testing.reference.keysine_symbols import Group, Symbols

F64 = npt.NDArray[np.float64]


class Refinement(Symbols):
    """Reads a layer of a group that is not the base."""

    def layer(self, group: Group, bits: Sequence[int], tempo: int) -> None:
        """Make the coefficients of each track by so many bits finer."""
        for t, track in enumerate(self._plan.tracks):
            for b in range(len(group.lengths) if bits[t] else 0):
                if group.steps[t, b] < 0 and self._moves(group.steps, t, b):
                    group.steps[t, b] = self._step(group.steps, t, b)
                for c in range(track.channel_count if group.steps[t, b] >= 0 else 0):
                    self._channel(group, t, b, c, bits[t], tempo)

    def _channel(self, group: Group, t: int, b: int, c: int, bits: int, tempo: int) -> None:
        row = group.values[b, self._plan.tracks[t].first_channel + c]
        reach = self._reach(group, t, b, c, int(np.flatnonzero(row).max(initial=0)))
        if reach >= group.lengths[b]:
            raise CorruptionError("keysine payload: more coefficients than frames")
        for k in range(1, reach + 1):
            known = int(row[k])
            size = self._refined(group, (t, b, c, k, reach, tempo), abs(known), bits)
            negative = known < 0 if known else size and self._coder.decode(32768)
            row[k] = -size if negative else size

    def _refined(
        self, group: Group, place: tuple[int, int, int, int, int, int], known: int, bits: int
    ) -> int:
        """Read which of the magnitudes it is that are `known` after a shift by `bits`."""
        low, high = known << bits, (known + 1 << bits) - 1
        k, reach = place[3:5]
        low += int(k == reach and not low)
        if low < min(high, LEVELS):
            context = self._contexts(group, *place)
            while low < min(high, LEVELS) and self._more(context, low):
                low += 1
            high = low if low < LEVELS else high
        while low < high:
            middle = (low + high) // 2
            if self._coder.decode(32768):
                low = middle + 1
            else:
                high = middle
        return low


def middles(group: Group, plan: Plan, shifts: Sequence[int]) -> F64:
    """Return the values (blocks, channels, …) in the middle of what they may be, so coarse."""
    found = group.values.astype(np.float64)
    for track, shift in zip(plan.tracks, shifts, strict=True):
        at = slice(track.first_channel, track.first_channel + track.channel_count)
        size = np.abs(found[:, at]) * 2**shift + 0.5 * (2**shift - 1)
        found[:, at] = np.sign(found[:, at]) * size
    return found
