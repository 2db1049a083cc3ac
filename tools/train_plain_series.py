"""Print what plain series know before they begin, trained on the clips of `cmu-train` alone.

    MOCPACK_DATA=… python tools/train_plain_series.py

Short tracks are taken from the clips: places, angles, heights, and weights that rest at 0, of 30 to
240 samples at 120, 60 and 30 a second, on grids of several steps. Each is coded in its best order
and read by the reference decoder, which tells the choices of each counter. A start is the share of
ones among them, the n-th use of a counter in a track weighing 1/n. Every third track is held out,
to say what starts save on those that they never saw. The numbers go to
`core/src/coding/plain_series.cpp` and `tests/support/reference/plain_series.py` by hand: they are
part of the format.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import mocpack
from mocpack import _core
from mocpack.arrays import F64
from mocpack.bench.datasets import collection

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from reference.plain_series import PlainSeriesDecoder, decode_plain_series, start_of

LENGTHS, STRIDES = (30, 45, 60, 120, 240), (1, 2, 4)
TRACKS, LONGEST = 16, 2400  # of a clip, and frames of it
FINEST, COARSEST = -4.0, -2.2  # log10 of bounds over ranges
UNIT = 32

Context = tuple[object, ...]
Choices = list[tuple[Context, int]]


class Listener(PlainSeriesDecoder):
    """A decoder that keeps which counters it asked, and what came."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.heard: Choices = []

    def _mixed(self, where: object, contexts: Sequence[Context]) -> int:
        bit = super()._mixed(where, contexts)
        self.heard += [(context, bit) for context in contexts]
        return bit

    def _single(self, context: Context) -> int:
        bit = super()._single(context)
        self.heard.append((context, bit))
        return bit


def main() -> None:
    rng = np.random.default_rng(1)
    series = [coded for path in collection("cmu-train")[::2] for coded in taken(path, rng)]
    seen = [choices for n, (choices, _) in enumerate(series) if n % 3]
    print(f"{len(series)} tracks; those held out take {sum(size for _, size in series[::3])} bytes")
    for name, share in sorted(starts(seen).items()):
        print(f"  {name:24} {max(1, min(UNIT - 1, round(UNIT * share))):3} / {UNIT}")


def taken(path: object, rng: np.random.Generator) -> Iterator[tuple[Choices, int]]:
    """Yield choices and size of tracks of a clip."""
    clip = mocpack.read(str(path))[:LONGEST]
    for values in tracks(clip, rng):
        span = float(np.ptp(values))
        if span < 1e-3:
            continue
        step = 2 * span * 10 ** rng.uniform(FINEST, COARSEST) / np.sqrt(values.shape[1])
        whole = np.rint(values / step).astype(np.int64)
        rows = np.ascontiguousarray(whole - whole[0], np.int32)
        none = np.zeros(rows.shape[1], np.int32)
        codes = [(*_core.plain_series_encode(rows, order, none), order) for order in (0, 1, 2)]
        depths, code, order = min(codes, key=lambda found: len(found[1]))
        listener = Listener(code)
        decode_plain_series(code, len(rows), depths, order, none.tolist(), listener)
        yield listener.heard, len(code)


def tracks(clip: mocpack.Clip, rng: np.random.Generator) -> Iterator[F64]:
    places, angles = clip.positions(), clip.as_euler("ZYX")
    for _ in range(TRACKS):
        joint, kind, axis = rng.integers((len(clip.skeleton), 5, 3))
        stride, length = rng.choice(STRIDES), rng.choice(LENGTHS)
        if len(clip) < length * stride:
            continue
        start = rng.integers(len(clip) - length * stride + 1)
        part = slice(start, start + length * stride, stride)
        column = places[part, joint][:, [axis]]
        floor = np.quantile(column, rng.uniform(0, 0.8))
        yield (
            places[part, joint],
            angles[part, joint],
            angles[part, joint][:, [axis]],
            places[part, joint][:, [1]],
            np.clip(column - floor, 0, None),
        )[kind]


def starts(series: Sequence[Choices]) -> dict[str, float]:
    """Return the share of ones of each start."""
    counts: dict[str, list[float]] = defaultdict(lambda: [0.4, 0.4])
    for choices in series:
        uses: dict[Context, int] = defaultdict(int)
        for context, bit in choices:
            uses[context] += 1
            counts[start_of(context)][bit] += 1 / uses[context]
    return {name: ones / (zeros + ones) for name, (zeros, ones) in counts.items()}


if __name__ == "__main__":
    main()
