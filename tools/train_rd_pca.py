"""Train the initial probabilities of `rd-pca`, on the clips of `cmu-train` only.

    python tools/train_rd_pca.py [--clips N]

This encodes segments of several lengths of each clip with several λ, counts the binary decisions of
the entropy coder by class and activity, and rewrites `papers/vasa/codec/starts.py`. Every fourth
clip is held out to measure the payload size on unseen clips. New probabilities change the
bitstream, so `bitstream_version` must increase after a release.
"""

from __future__ import annotations

import argparse
from base64 import b85encode
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt

import mocpack
from mocpack import _core
from mocpack.bench.datasets import collection
from mocpack.common.arrays import U8
from mocpack.papers.vasa.codec import RdPca, starts
from mocpack.papers.vasa.codec import payload as bitstream

Array = npt.NDArray[Any]  # of whole numbers

TARGET = Path(starts.__file__)
LAMS = (0.0003, 0.001, 0.003, 0.01)  # meters
LENGTHS = (120, 240, 600)  # frames
ACTIVITIES, UNARY = 12, 14  # sizes of the coder's models, see docs/coding.md
LEVELS, EVEN = 64, 32  # number of probability levels, and the level of 1/2
STEPS = 4.5  # levels per factor of e in the odds
MIN_COUNT = 4  # a model with fewer decisions uses the level of its neighbor
NAMES = ("COLUMNS", "POSES", "TRAJECTORIES", "FRAMES")
HEAD = '''\
"""What every encoder and decoder of `rd-pca` knows of its planes beforehand; part of the format.

Made by `python tools/train_rd_pca.py`. A start for each class of the columns' table (whether a
column moves, its weight, the two parts of its mean), of the poses' (step, sample), of chunks'
(step, sample, coefficient) and of chunks' without temporal PCA (value): see `docs/coding.md`.
"""

from __future__ import annotations

from base64 import b85decode

import numpy as np

from mocpack.common.arrays import U8


def _start(text: str) -> U8:
    return np.frombuffer(b85decode(text), np.uint8)
'''


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", type=int, help="train on this many clips only")
    paths = collection("cmu-train")[: parser.parse_args().clips]
    clips = [mocpack.read(path) for path in paths]
    seen = [clip for n, clip in enumerate(clips) if n % 4]
    before = payload_bytes(clips[::4])
    levels = train_levels(seen)
    TARGET.write_text(HEAD + "".join(format_table(name, levels[name]) for name in NAMES))
    replaced: dict[str, Any] = {**levels}
    with mock.patch.multiple(starts, **replaced):
        print(f"held-out clips: {before} bytes before, {payload_bytes(clips[::4])} after training")


def train_levels(clips: Iterable[mocpack.Clip]) -> dict[str, U8]:
    """Return the initial levels of each table, by name."""
    planes, classes = defaultdict(list), defaultdict(list)
    for clip in clips:
        for codec, stretch in trials(clip):
            for name, plane, kinds in tables(codec, stretch):
                planes[name].append(plane)
                classes[name].append(kinds)
    return {name: choose_levels(planes[name], classes[name]) for name in NAMES}


def choose_levels(planes: list[Array], classes: list[Array]) -> U8:
    """Return the initial level of each adaptive bit of a table, from its counted odds."""
    count = 1 + max(int(np.max(kinds, initial=0)) for kinds in classes)
    seen = np.zeros((_core.planes_start_size(count), 2), np.uint32)
    for plane, kinds in zip(planes, classes, strict=True):
        values = np.ascontiguousarray(plane, np.int32)
        _core.planes_count(values, np.ascontiguousarray(kinds, np.uint16), count, seen)
    zeros, ones = seen.T.astype(np.float64)
    levels = np.round(EVEN + STEPS * np.log((ones + 0.4) / (zeros + 0.4)))
    known = np.where(zeros + ones < MIN_COUNT, 0, np.clip(levels, 1, LEVELS - 1))
    return np.concatenate([fill_rare_levels(own) for own in np.split(known, count)]).astype(
        np.uint8
    )


def fill_rare_levels(levels: Array) -> Array:
    """Give rarely used models of one class the level of the previous model.

    The previous model has the next lower activity for "not zero?", and the next smaller count for
    "more than k?".
    """
    zero, sign, more, length = np.split(levels, [ACTIVITIES, ACTIVITIES + 3, -32])
    more = more.reshape(ACTIVITIES, UNARY)
    for a in range(ACTIVITIES):
        zero[a] = zero[a] or (zero[a - 1] if a else EVEN)
    for k in range(UNARY):
        more[:, k] = np.where(more[:, k] > 0, more[:, k], more[:, k - 1] if k else zero)
    rest = (np.where(part > 0, part, EVEN) for part in (sign, length))
    sign, length = rest
    return np.concatenate([zero, sign, more.ravel(), length])


def trials(clip: mocpack.Clip) -> Iterator[tuple[RdPca, mocpack.Clip]]:
    for frames in LENGTHS:
        stretch = clip.frames(1, min(frames + 1, clip.frame_count))
        for lam in LAMS:
            yield RdPca(lam=lam), stretch
    yield RdPca(lam=LAMS[1], tpca=False), stretch


def tables(codec: RdPca, clip: mocpack.Clip) -> Iterator[tuple[str, Array, Array]]:
    """Yield name, plane and classes of each table that the encoder writes."""
    with mock.patch.object(bitstream, "pack", return_value=b"") as pack:
        codec.encode(clip)
    model, chunks = pack.call_args.args
    poses = bitstream.pose_plane(model)
    yield "COLUMNS", bitstream.column_plane(model), np.array(bitstream.COLUMN_CLASSES)
    yield "POSES", poses, bitstream.pose_classes(poses.shape[1] - 1)
    for chunk in chunks:
        plane = bitstream.chunk_plane(chunk)
        name = "TRAJECTORIES" if model.tpca else "FRAMES"
        yield name, plane, bitstream.chunk_classes(chunk, plane.shape[1])


def payload_bytes(clips: Iterable[mocpack.Clip]) -> int:
    return sum(len(codec.encode(stretch)) for clip in clips for codec, stretch in trials(clip))


def format_table(name: str, start: U8) -> str:
    text = b85encode(start.tobytes()).decode()
    lines = "".join(f'    "{text[a : a + 88]}"\n' for a in range(0, len(text), 88))
    return f"\n\n{name} = _start(\n{lines})\n"


if __name__ == "__main__":
    main()
