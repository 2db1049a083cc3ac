"""All windows of an archive once, in an order by chance, each clip decoded once.

The order follows from seed, epoch and share alone, so that a stream goes on where it stopped
without decoding what came before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mocpack.arrays import F32
from mocpack.corpora.decoded_cache import decode_rows
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
        self.epoch = self._yielded = 0

    def __iter__(self) -> Iterator[F32]:
        """Go through the windows that are left of this epoch."""
        waiting: dict[int, F32] = {}
        skipped: set[int] = set()
        skip = self._yielded
        for numbers, index in self._steps():
            if index is None:
                if skip:
                    skipped.update(numbers)
                else:
                    waiting.update(self._decode_windows(numbers))
            elif skip:
                skip -= 1
                skipped.discard(index)
                if not skip:
                    waiting = self._decode_waiting(skipped)
            else:
                self._yielded += 1
                yield waiting.pop(index)
        self.epoch, self._yielded = self.epoch + 1, 0

    def indices(self) -> list[int]:
        """Return the numbers of the windows of this epoch, in their order."""
        return [index for _, index in self._steps() if index is not None]

    def state_dict(self) -> dict[str, int]:
        """Return where the stream is, for `load_state_dict` of another over the same windows."""
        return {"epoch": self.epoch, "given": self._yielded, "seed": self.seed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where a stream was."""
        self.epoch, self._yielded = int(state["epoch"]), int(state["given"])
        self.seed = int(state["seed"])

    def _steps(self) -> Iterator[tuple[list[int], int | None]]:
        """Return what happens: (windows of a clip, None) come in, ([], number) goes out."""
        rng = np.random.default_rng([self.seed, self.epoch])
        clip_positions = np.arange(len(self.windows.clips))
        if self.shuffle:
            rng.shuffle(clip_positions)
        buffer: list[int] = []
        for clip_position in clip_positions[self.share[0] :: self.share[1]].tolist():
            coming = self._window_indices(clip_position)
            if not coming:
                continue
            yield coming, None
            buffer += coming
            while len(buffer) > self.shuffle:
                yield [], _draw(buffer, rng if self.shuffle else None)
        while buffer:
            yield [], _draw(buffer, rng if self.shuffle else None)

    def _window_indices(self, clip_position: int) -> list[int]:
        plain = self.windows.window_indices(clip_position)
        if not self.windows.is_mirrored:
            return list(plain)
        half = len(self.windows) // 2
        return [*plain, *(index + half for index in plain)]

    def _decode_windows(self, numbers: list[int]) -> dict[int, F32]:
        """Return windows of one clip, which is decoded as far as they reach, once."""
        windows = self.windows
        clip_position = windows.locate(numbers[0])[0]
        clip = windows.clips[clip_position]
        stop = max(windows.stop_frame(index) for index in numbers)
        windows.corpus.prefetch([(clip, 0, stop)])
        rows = decode_rows(windows.corpus.motion(clip), 0, stop)
        found = {}
        for index in numbers:
            # each by itself: what goes out is given back, and its memory used again
            found[index] = np.empty((windows.rows, windows.width), np.float32)
            windows.write_from_rows(clip_position, rows, index, found[index])
        return found

    def _decode_waiting(self, numbers: set[int]) -> dict[int, F32]:
        """Return the windows that waited when the stream was stopped."""
        found: dict[int, F32] = {}
        by_clip: dict[int, list[int]] = {}
        for index in sorted(numbers):
            by_clip.setdefault(self.windows.locate(index)[0], []).append(index)
        for together in by_clip.values():
            found |= self._decode_windows(together)
        return found


def _draw(buffer: list[int], rng: np.random.Generator | None) -> int:
    if rng is None:
        return buffer.pop(0)
    at = int(rng.integers(len(buffer)))
    buffer[at], buffer[-1] = buffer[-1], buffer[at]
    return buffer.pop()
