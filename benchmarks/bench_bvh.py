"""Measure MB of BVH text per second: our number parser, reader and writer, and the bvhio package.

    python benchmarks/bench_bvh.py [FILE.bvh]

The goal on one core is 100 MB of text per second and 10 times the speed of bvhio's `readAsBvh`,
which only parses the text. `pip install --group bench` installs bvhio. Times are CPU time, best of
several runs.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import mocpack
from mocpack import _core
from mocpack.bench.runner.timing import fastest, inflate_speed
from mocpack.io import bvh
from mocpack.samples import JUMP

try:
    import bvhio
except ImportError:
    bvhio = None

SIZE = 2_000_000  # minimum bytes of text


def main() -> None:
    text = Path(sys.argv[1]).read_bytes() if len(sys.argv) > 1 else long_clip(JUMP.read_bytes())
    clip = bvh.read(text)
    print(f"calibration: zlib inflates {inflate_speed():.0f} MB/s here")
    columns = clip.skeleton.channel_count
    print(f"{len(text) / 1e6:.1f} MB of text, {clip.frame_count} frames of {columns} numbers")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.bvh"
        path.write_bytes(text)
        numbers = report("numbers of the text", text, lambda: parse_numbers(text, clip))
        whole = report("mocpack.read", text, lambda: mocpack.read(path))
        report("mocpack.write", text, lambda: mocpack.write(clip, path.with_name("out.bvh")))
        if bvhio is None:
            print("bvhio is not installed: pip install --group bench")
            return
        theirs = report("bvhio.readAsBvh", text, lambda: bvhio.readAsBvh(str(path)), runs=2)
    print(f"numbers: {numbers:.0f} MB/s")
    print(f"mocpack.read is {whole / theirs:.0f} times as fast as bvhio")


def long_clip(text: bytes) -> bytes:
    """Return the clip repeated until its text is long enough to measure."""
    head, _, motion = text.partition(b"Frames:")
    count, time_line, *rows = motion.strip().splitlines()
    times = -(-SIZE // len(text))
    frames = b"Frames: %d" % (int(count) * times)
    return head + b"\n".join([frames, time_line, *rows * times]) + b"\n"


def parse_numbers(text: bytes, clip: mocpack.Clip) -> None:
    values = np.empty(clip.frame_count * clip.skeleton.channel_count)
    start = text.index(b"\n", text.index(b"Frame Time:"))
    count, _ = _core.parse_numbers(text, start, values)
    assert count == len(values)


def report(name: str, text: bytes, work: Callable[[], object], runs: int = 9) -> float:
    speed = len(text) / fastest(work, runs) / 1e6
    print(f"{name:<22} {speed:>8.1f} MB/s")
    return speed


if __name__ == "__main__":
    main()
