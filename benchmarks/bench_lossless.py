"""Measure size and speed of `lossless` on the CMU clips, against `xz -9e` of the BVH text.

    python benchmarks/bench_lossless.py [FOLDER]

The text is the original file in FOLDER or MOCPACK_DATA, or else the output of `mocpack decompress`
for the repository's clip, which has the same numbers with fewer trailing zeros.

Sizes are those of whole files. The run fails if any decoded number differs. Speed is frames per
second of CPU time to decode a payload, best of three; the last line has the speed of zlib's inflate
in the same run, to compare machines.
"""

import lzma
import sys
import zlib
from pathlib import Path

import numpy as np

import mocpack
from mocpack.bench.datasets import collection
from mocpack.bench.runner.timing import fastest
from mocpack.codecs.lossless.codec import Lossless
from mocpack.container import unpack
from mocpack.io import write_bytes

RUNS = 3


def measure(path):
    """Return the bytes of the text, of xz and of our file, the frames, and seconds to decode."""
    clip = mocpack.read(path)
    text = write_bytes(clip, ".bvh") if path.suffix == ".mocp" else path.read_bytes()
    file = mocpack.encode(clip, "lossless")
    back = mocpack.decode(file)
    if not np.array_equal(back.channels.view(np.uint64), clip.channels.view(np.uint64)):
        sys.exit(f"{path.name}: the numbers came back different")
    packed = unpack(file)
    codec = Lossless()
    seconds = fastest(lambda: codec.decode(packed.payload, packed.header), RUNS)
    xz = lzma.compress(text, preset=9 | lzma.PRESET_EXTREME)
    return len(text), len(xz), len(file), clip.frame_count, seconds


def inflate_speed():
    """Return the speed of zlib's inflate, in MB of output per second."""
    data = np.random.default_rng(0).integers(0, 16, 4_000_000, np.uint8).tobytes()
    packed = zlib.compress(data)
    return len(data) / fastest(lambda: zlib.decompress(packed), RUNS) / 1e6


def line(name, text, xz, ours, frames, seconds):
    return (
        f"{name:<12} {text:>10.0f} {xz:>9.0f} {ours:>9.0f} {ours / xz:>7.3f} {text / ours:>6.1f} "
        f"{frames / seconds:>9.0f}"
    )


def main():
    paths = sorted(Path(sys.argv[1]).glob("*.bvh")) if len(sys.argv) > 1 else collection("cmu")
    print(f"{'clip':<12} {'BVH':>10} {'xz -9e':>9} {'lossless':>9} {'of xz':>7} {'x':>6} frames/s")
    rows = []
    for path in paths:
        rows.append(measure(path))
        print(line(path.stem, *rows[-1]), flush=True)
    print(line("sum", *np.sum(rows, axis=0)))
    print(f"zlib inflate {inflate_speed():.0f} MB/s")


if __name__ == "__main__":
    main()
