"""Print the initial probabilities of the plain series coder, trained on `cmu-train` only.

    MOCPACK_DATA=… python tools/train_plain_series.py

The training tracks are cut from the clips: positions, angles, heights, and weights that are mostly
0, with 30 to 240 samples at 120, 60 and 30 samples per second, quantized with several steps. Each
track is encoded with its best prediction order. The reference decoder then records the decisions of
each adaptive counter. An initial probability is the fraction of ones among them; the n-th use of a
counter in a track has weight 1/n. Every third track is held out to measure unseen tracks. Copy the
numbers to `core/src/entropy/plain_series.cpp` and `tests/support/reference/plain_series.py`; they
are part of the format.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import mocpack
from mocpack import _core
from mocpack.bench.datasets import collection
from mocpack.common.arrays import F64

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from reference.plain_series import PlainSeriesDecoder, decode_plain_series, start_of

LENGTHS, STRIDES = (30, 45, 60, 120, 240), (1, 2, 4)
TRACKS_PER_CLIP, MAX_FRAMES = 16, 2400
FINEST, COARSEST = -4.0, -2.2  # log10 of bound / value range
UNIT = 32

Context = tuple[object, ...]
Decisions = list[tuple[Context, int]]


class RecordingDecoder(PlainSeriesDecoder):
    """A decoder that records which counters it used and the decoded bits."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.decisions: Decisions = []

    def _mixed(self, where: object, contexts: Sequence[Context]) -> int:
        bit = super()._mixed(where, contexts)
        self.decisions += [(context, bit) for context in contexts]
        return bit

    def _single(self, context: Context) -> int:
        bit = super()._single(context)
        self.decisions.append((context, bit))
        return bit


def main() -> None:
    rng = np.random.default_rng(1)
    series = [coded for path in collection("cmu-train")[::2] for coded in record_tracks(path, rng)]
    seen = [decisions for n, (decisions, _) in enumerate(series) if n % 3]
    print(f"{len(series)} tracks; held-out tracks: {sum(size for _, size in series[::3])} bytes")
    for name, fraction in sorted(measure_probabilities(seen).items()):
        print(f"  {name:24} {max(1, min(UNIT - 1, round(UNIT * fraction))):3} / {UNIT}")


def record_tracks(path: object, rng: np.random.Generator) -> Iterator[tuple[Decisions, int]]:
    """Yield the decisions and the encoded size of each track of a clip."""
    clip = mocpack.read(str(path))[:MAX_FRAMES]
    for values in cut_tracks(clip, rng):
        span = float(np.ptp(values))
        if span < 1e-3:
            continue
        step = 2 * span * 10 ** rng.uniform(FINEST, COARSEST) / np.sqrt(values.shape[1])
        whole = np.rint(values / step).astype(np.int64)
        rows = np.ascontiguousarray(whole - whole[0], np.int32)
        none = np.zeros(rows.shape[1], np.int32)
        codes = [(*_core.plain_series_encode(rows, order, none), order) for order in (0, 1, 2)]
        depths, code, order = min(codes, key=lambda found: len(found[1]))
        decoder = RecordingDecoder(code)
        decode_plain_series(code, len(rows), depths, order, none.tolist(), decoder)
        yield decoder.decisions, len(code)


def cut_tracks(clip: mocpack.Clip, rng: np.random.Generator) -> Iterator[F64]:
    positions, angles = clip.positions(), clip.as_euler("ZYX")
    for _ in range(TRACKS_PER_CLIP):
        joint, kind, axis = rng.integers((len(clip.skeleton), 5, 3))
        stride, length = rng.choice(STRIDES), rng.choice(LENGTHS)
        if len(clip) < length * stride:
            continue
        start = rng.integers(len(clip) - length * stride + 1)
        part = slice(start, start + length * stride, stride)
        column = positions[part, joint][:, [axis]]
        floor = np.quantile(column, rng.uniform(0, 0.8))
        yield (
            positions[part, joint],
            angles[part, joint],
            angles[part, joint][:, [axis]],
            positions[part, joint][:, [1]],
            np.clip(column - floor, 0, None),
        )[kind]


def measure_probabilities(series: Sequence[Decisions]) -> dict[str, float]:
    """Return the fraction of ones for each initial probability."""
    counts: dict[str, list[float]] = defaultdict(lambda: [0.4, 0.4])
    for decisions in series:
        uses: dict[Context, int] = defaultdict(int)
        for context, bit in decisions:
            uses[context] += 1
            counts[start_of(context)][bit] += 1 / uses[context]
    return {name: ones / (zeros + ones) for name, (zeros, ones) in counts.items()}


if __name__ == "__main__":
    main()
