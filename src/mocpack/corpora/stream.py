"""All windows of an archive once, in an order by chance, each clip decoded once.

The order follows from seed, epoch and share alone, so that a stream goes on where it stopped
without decoding what came before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mocpack.arrays import F32
from mocpack.corpora.decoded import float_rows
from mocpack.corpora.windows import Windows
from mocpack.errors import UsageError


class Stream:
    """Windows one after another, through all clips; each pass over them is another order.

    Parameters
    ----------
    windows : Windows
    shuffle : int
        Windows that wait while others are drawn from among them; 0 for the archive's own order.
    seed : int
    share : (int, int)
        Which of how many equal shares of the clips: 0 of 1 is all.

    Attributes
    ----------
    epoch : int
        The pass that the next iteration makes; it counts them itself.
    """

    def __init__(
        self,
        windows: Windows,
        *,
        shuffle: int = 1024,
        seed: int = 0,
        share: tuple[int, int] = (0, 1),
    ) -> None:
        if shuffle < 0:
            raise UsageError(f"shuffle must be 0 or above, got {shuffle}")
        if not 0 <= share[0] < share[1]:
            raise UsageError(f"share must be a number below its count, got {share}")
        self.windows, self.shuffle, self.seed, self.share = windows, shuffle, seed, share
        self.epoch = self._given = 0

    def __iter__(self) -> Iterator[F32]:
        """Go through the windows that are left of this epoch."""
        waiting: dict[int, F32] = {}
        skipped: set[int] = set()
        skip = self._given
        for numbers, number in self._steps():
            if number is None:
                if skip:
                    skipped.update(numbers)
                else:
                    waiting.update(self._decoded(numbers))
            elif skip:
                skip -= 1
                skipped.discard(number)
                if not skip:
                    waiting = self._again(skipped)
            else:
                self._given += 1
                yield waiting.pop(number)
        self.epoch, self._given = self.epoch + 1, 0

    def numbers(self) -> list[int]:
        """Return the numbers of the windows of this epoch, in their order."""
        return [number for _, number in self._steps() if number is not None]

    def state_dict(self) -> dict[str, int]:
        """Return where the stream is, for `load_state_dict` of another over the same windows."""
        return {"epoch": self.epoch, "given": self._given, "seed": self.seed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where a stream was."""
        self.epoch, self._given = int(state["epoch"]), int(state["given"])
        self.seed = int(state["seed"])

    def _steps(self) -> Iterator[tuple[list[int], int | None]]:
        """Return what happens: (windows of a clip, None) come in, ([], number) goes out."""
        chance = np.random.default_rng([self.seed, self.epoch])
        places = np.arange(len(self.windows.clips))
        if self.shuffle:
            chance.shuffle(places)
        buffer: list[int] = []
        for place in places[self.share[0] :: self.share[1]].tolist():
            coming = self._windows_of(place)
            if not coming:
                continue
            yield coming, None
            buffer += coming
            while len(buffer) > self.shuffle:
                yield [], _drawn(buffer, chance if self.shuffle else None)
        while buffer:
            yield [], _drawn(buffer, chance if self.shuffle else None)

    def _windows_of(self, place: int) -> list[int]:
        plain = self.windows.windows_of(place)
        if not self.windows.is_mirrored:
            return list(plain)
        half = len(self.windows) // 2
        return [*plain, *(number + half for number in plain)]

    def _decoded(self, numbers: list[int]) -> dict[int, F32]:
        """Return windows of one clip, which is decoded as far as they reach, once."""
        windows = self.windows
        place = windows.locate(numbers[0])[0]
        clip = windows.clips[place]
        stop = max(windows.reach(number) for number in numbers)
        windows.corpus.prefetch([(clip, 0, stop)])
        rows = float_rows(windows.corpus.motion(clip), 0, stop)
        found = {}
        for number in numbers:
            # each by itself: what goes out is given back, and its memory used again
            found[number] = np.empty((windows.rows, windows.width), np.float32)
            windows.from_rows(place, rows, number, found[number])
        return found

    def _again(self, numbers: set[int]) -> dict[int, F32]:
        """Return the windows that waited when the stream was stopped."""
        found: dict[int, F32] = {}
        by_clip: dict[int, list[int]] = {}
        for number in sorted(numbers):
            by_clip.setdefault(self.windows.locate(number)[0], []).append(number)
        for together in by_clip.values():
            found |= self._decoded(together)
        return found


def _drawn(buffer: list[int], chance: np.random.Generator | None) -> int:
    if chance is None:
        return buffer.pop(0)
    at = int(chance.integers(len(buffer)))
    buffer[at], buffer[-1] = buffer[-1], buffer[at]
    return buffer.pop()
