"""Measure MB of AMC text per second: our reader, its frame parser, and a parser in Python.

    python benchmarks/bench_amc.py [FILE.amc SKELETON.asf]

The Python reader is the reference that tests compare the native one with
(`tests/support/reference/amc.py`). Times are CPU time, best of several runs.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mocpack.bench.datasets import CHECKOUT
from mocpack.bench.runner.timing import fastest, inflate_speed
from mocpack.io import amc, asf

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from reference.amc import read_frames

SAMPLE = CHECKOUT / "tests/originals/asfamc/02_03.amc", CHECKOUT / "tests/originals/asfamc/02.asf"
SIZE = 4_000_000  # minimum bytes of text


def main() -> None:
    motion, skeleton = (Path(p) for p in (sys.argv[1:3] if len(sys.argv) > 2 else SAMPLE))
    text, body = long_motion(motion.read_bytes()), skeleton.read_bytes()
    bones = asf.parse(body)
    frames = amc.read(text, skeleton=body).frame_count
    print(f"calibration: zlib inflates {inflate_speed():.0f} MB/s here")
    print(f"{len(text) / 1e6:.1f} MB of text, {frames} frames of {len(bones.bones)} bones")
    megabytes = len(text) / 1e6
    whole = megabytes / fastest(lambda: amc.read(text, skeleton=body), 7)
    start = text.index(b"\n1\n") + 1  # after the keywords
    alone = megabytes / fastest(lambda: amc.read_frames(text, bones, complete=True, start=start), 7)
    python = megabytes / fastest(lambda: read_frames(text, bones, complete=True), 2)
    print(f"whole clip, skeleton and all  {whole:8.1f} MB/s")
    print(f"frames alone, native          {alone:8.1f} MB/s")
    print(f"frames alone, in Python       {python:8.1f} MB/s")
    print(f"native is {alone / python:.0f} times as fast")


def long_motion(text: bytes) -> bytes:
    """Return the motion with its frames repeated until its text is long enough to measure."""
    head, _, body = text.replace(b"\r\n", b"\n").partition(b"\n1\n")
    frames = body.split(b"\n2\n")[0].count(b"\n") + 1
    lines = body.splitlines()
    blocks = [b"\n".join(lines[at : at + frames]) for at in range(0, len(lines), frames + 1)]
    times = -(-SIZE // len(text))
    numbered = (b"%d\n%b\n" % (n, block) for n, block in enumerate(blocks * times, 1))
    return head + b"\n" + b"".join(numbered)


if __name__ == "__main__":
    main()
