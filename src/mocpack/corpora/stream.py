"""A stream of all windows of an archive in random order, which decodes each clip once per epoch.

The order depends only on seed, epoch and share, so a stream can resume without decoding the windows
that it has already yielded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mocpack.common.arguments import check_integer, check_integers
from mocpack.common.arrays import F32
from mocpack.corpora.windows import Windows
from mocpack.errors import UsageError


class Stream:
    """An iterable over all windows; each epoch has another order.

    Parameters
    ----------
    windows : Windows
    shuffle : int
        Size of the shuffle buffer in windows; 0 keeps the order of the archive.
    seed : int
    share : (int, int)
        Index and count of equal shares of the clips; (0, 1) is all of them.

    Attributes
    ----------
    epoch : int
        Number of the epoch that the next iteration starts; it is counted automatically.
    """

    def __init__(
        self,
        windows: Windows,
        *,
        shuffle: int = 1024,
        seed: int = 0,
        share: tuple[int, int] = (0, 1),
    ) -> None:
        check_integer("shuffle", shuffle, 0)
        check_integer("seed", seed, 0)
        if len(check_integers("share", share, 0)) != 2 or not share[0] < share[1]:
            raise UsageError(f"share must be (index, count) with 0 <= index < count, got {share}")
        self.windows, self.shuffle, self.seed, self.share = windows, shuffle, seed, share
        self.epoch = self._yielded = 0

    def __iter__(self) -> Iterator[Any]:
        """Yield the remaining windows of this epoch, with their labels if they have any."""
        waiting: dict[int, F32] = {}
        skipped: set[int] = set()
        skip = self._yielded
        for numbers, index in self._steps():
            if index is None:
                if skip:
                    skipped.update(numbers)
                else:
                    waiting.update(self.windows.decode(numbers))
            elif skip:
                skip -= 1
                skipped.discard(index)
                if not skip:
                    waiting = self._decode_waiting(skipped)
            else:
                self._yielded += 1
                yield self.windows.add_labels(index, waiting.pop(index))
        self.epoch, self._yielded = self.epoch + 1, 0

    def indices(self) -> list[int]:
        """Return the window indices of this epoch in order."""
        return [index for _, index in self._steps() if index is not None]

    def state_dict(self) -> dict[str, int]:
        """Return the position, for `load_state_dict` of a stream over the same windows."""
        return {"epoch": self.epoch, "given": self._yielded, "seed": self.seed}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Resume at the position of another stream."""
        self.epoch, self._yielded = int(state["epoch"]), int(state["given"])
        self.seed = int(state["seed"])

    def _steps(self) -> Iterator[tuple[list[int], int | None]]:
        """Yield (windows of a clip, None) to decode, or ([], index) of the next window to yield."""
        rng = np.random.default_rng([self.seed, self.epoch])
        clip_positions = np.arange(len(self.windows.clips))
        if self.shuffle:
            rng.shuffle(clip_positions)
        buffer: list[int] = []
        for clip_position in clip_positions[self.share[0] :: self.share[1]].tolist():
            coming = self.windows.clip_windows(clip_position)
            if not coming:
                continue
            yield coming, None
            buffer += coming
            while len(buffer) > self.shuffle:
                yield [], _draw(buffer, rng if self.shuffle else None)
        while buffer:
            yield [], _draw(buffer, rng if self.shuffle else None)

    def _decode_waiting(self, numbers: set[int]) -> dict[int, F32]:
        """Decode the windows that were in the shuffle buffer when the stream stopped."""
        arrays: dict[int, F32] = {}
        by_clip: dict[int, list[int]] = {}
        for index in sorted(numbers):
            by_clip.setdefault(self.windows.locate(index)[0], []).append(index)
        for together in by_clip.values():
            arrays.update(self.windows.decode(together))
        return arrays


def _draw(buffer: list[int], rng: np.random.Generator | None) -> int:
    if rng is None:
        return buffer.pop(0)
    at = int(rng.integers(len(buffer)))
    buffer[at], buffer[-1] = buffer[-1], buffer[at]
    return buffer.pop()
