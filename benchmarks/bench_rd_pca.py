"""Measure frames per second of `rd-pca` by clip length, and the size of its head.

    python benchmarks/bench_rd_pca.py [FILE.bvh]
    python benchmarks/bench_rd_pca.py head

`head` prints the sizes of payload and head at several lengths, with trained and with uniform
initial statistics.

The goal on one core with the default configuration is 10,000 frames per second to encode and
100,000 to decode (the paper: 2,600 to 3,000 and 15,000 to 21,000). The clip is 17_08, the paper's
longest that is available. All times are CPU times of one thread, best of several runs.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported, to measure one core

import sys
from pathlib import Path
from unittest import mock

import numpy as np

import mocpack
from mocpack.bench.datasets import require_clip
from mocpack.bench.report.markdown import markdown_table
from mocpack.bench.runner.timing import fastest, inflate_speed
from mocpack.model.clip import Clip
from mocpack.papers.vasa.codec import RdPca, starts

SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)


HEADS = ("02_01", "09_01", "17_08", "17_10", "49_02", "85_12")
LENGTHS = (120, 240, 480, 960)
STARTS = ("COLUMNS", "POSES", "TRAJECTORIES", "FRAMES")


def main() -> None:
    if sys.argv[1:] == ["head"]:
        heads()
    else:
        speed()


def heads() -> None:
    even = {name: np.full_like(getattr(starts, name), 32) for name in STARTS}
    rows = []
    for name in HEADS:
        clip = mocpack.read(require_clip(f"cmu/{name}"))
        assert isinstance(clip, Clip)
        for frames in LENGTHS:
            if frames < clip.frame_count:
                part = clip.frames(1, frames + 1)
                payload, head = with_head(part)
                with mock.patch.multiple(starts, **even):
                    plain, plain_head = with_head(part)
                rows.append(
                    [
                        name,
                        frames,
                        plain,
                        plain_head,
                        payload,
                        head,
                        f"{head / payload:.2f}",
                        f"{payload / plain:.2f}",
                    ]
                )
    head_row = [
        "clip",
        "frames:",
        "even odds, B:",
        "head:",
        "payload, B:",
        "head:",
        "share:",
        "of even odds:",
    ]
    print(markdown_table(head_row, rows))


def with_head(clip: Clip) -> tuple[int, int]:
    """Return the sizes of the payload and of its head."""
    payload = RdPca().encode(clip)
    return len(payload), 4 + int.from_bytes(payload[:4], "little")


def speed() -> None:
    path, clip = chosen_clip()
    print(f"calibration: zlib inflates {inflate_speed():.0f} MB/s here")
    print(f"{path.name}: {clip.frame_count} frames, {clip.skeleton.channel_count} channels")
    print(f"{'frames':>8} {'payload':>9} {'encode f/s':>11} {'decode f/s':>11} {'window ms':>10}")
    codec = RdPca()
    for share in SHARES:
        part = clip.frames(0, max(1, round(share * clip.frame_count)))
        encode, decode, window, size = measure(codec, part)
        print(f"{part.frame_count:8} {size:9} {encode:11.0f} {decode:11.0f} {1000 * window:10.2f}")
    print(f"encode: {encode:.0f} frames/s")
    print(f"decode: {decode:.0f} frames/s")


def measure(codec: RdPca, clip: Clip) -> tuple[float, float, float, int]:
    """Return encoding and decoding speed, seconds to decode a one-second window, and bytes."""
    payload = codec.encode(clip)
    middle = clip.frame_count // 2
    stop = min(middle + 120, clip.frame_count)

    encode = fastest(lambda: codec.encode(clip), 5)
    decode = fastest(lambda: codec.decode(payload, clip.header), 15)
    window = fastest(lambda: codec.open(payload, clip.header).frames(middle, stop), 15)
    return clip.frame_count / encode, clip.frame_count / decode, window, len(payload)


def chosen_clip() -> tuple[Path, Clip]:
    """Return the named clip, or 17_08, without the T-pose that the conversion added."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else require_clip("cmu/17_08")
    clip = mocpack.read(path)
    assert isinstance(clip, Clip)
    return path, clip.frames(1, clip.frame_count)


if __name__ == "__main__":
    main()
