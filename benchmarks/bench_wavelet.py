"""Measure the time of the wavelet codecs by number of frames and joints.

    python benchmarks/bench_wavelet.py [channels]

With `channels`, only count the bytes that decoding single channels of 49_02 reads.

Times are CPU times of one core, best of three for decoding, one run for searching. The paper needs
308 to 483 ms per frame to search 49_02. The last line has the speed of zlib's inflate in the same
run, to compare machines.
"""

import sys
import time
import zlib

import numpy as np

from mocpack.bench.datasets import load_clip
from mocpack.bench.runner.timing import fastest
from mocpack.codec import Payload
from mocpack.common.source import BytesSource
from mocpack.papers.beaudoin.codec.selection import analyze
from mocpack.papers.beaudoin.codec.wavelet import Wavelet
from mocpack.papers.beaudoin.codec.wavelet_ik import WaveletIk
from mocpack.papers.beaudoin.codec.wavelet_opt import WaveletOpt
from mocpack.testing.motions import chain

FRAMES = (256, 512, 1024, 2048, 4096)
JOINTS = (8, 16, 32, 64, 128)
EXACT_UP_TO = 64  # joints; beyond, the paper's search takes minutes


def search_time(clip, search, ratio=20.0):
    """Return milliseconds per frame, and iterations, of one search."""
    codec = WaveletOpt(ratio=ratio, search=search)
    found = analyze(clip, rotation="euler", update="4-4")
    start = time.process_time()
    outcome = codec.choose(clip, found)
    return 1000 * (time.process_time() - start) / clip.frame_count, outcome.iterations


def decode_time(codec, clip):
    """Return microseconds per frame."""
    payload = codec.encode(clip)
    return 1e6 * fastest(lambda: codec.decode(payload, clip.header)) / clip.frame_count


def cmu(name):
    clip = load_clip(f"cmu/{name}")
    return clip.frames(1, clip.frame_count)


def search_line(label, clip, searches):
    cells = []
    for search in searches:
        ms, iterations = search_time(clip, search)
        cells.append(f"{ms:9.3f} {iterations:6d}")
    print(f"{label:<14} {'   '.join(cells)}", flush=True)


class CountedSource(BytesSource):
    """Bytes in memory that count those that were read."""

    touched = 0

    def read(self, offset, size):
        self.touched += size
        return super().read(offset, size)


def count_channels():
    """Print the bytes that decoding one joint reads, and what leaving out deflate costs."""
    clip = load_clip("cmu/49_02")
    for bits in (16, "auto"):
        plain, deflated = (
            len(Wavelet(ratio=15, bits=bits, deflate=deflate).encode(clip))
            for deflate in (False, True)
        )
        print(f"bits={bits}: {plain} bytes without deflate, {100 * (plain / deflated - 1):+.0f} %")
    codec = Wavelet(ratio=15, bits=16, deflate=False)
    data = codec.encode(clip)
    for joint in ("LeftUpLeg", "RightFoot", "LeftArm", "RightHand"):
        source = CountedSource(data)
        decoder = codec.open(Payload(source, 0, len(data)), clip.header)
        decoder.frames(0, 1, clip.skeleton.indices([joint]))
        print(f"{joint:<10} {source.touched:6d} of {len(data)} bytes", flush=True)


def main():
    if sys.argv[1:] == ["channels"]:
        count_channels()
        return
    print("search, ms per frame and iterations    exact              fast")
    for name in ("09_01", "49_02"):
        search_line(name, cmu(name), ("exact", "fast"))
    boxing = cmu("14_02")
    for frames in FRAMES:
        search_line(f"{frames} frames", boxing.frames(0, frames), ("exact", "fast"))
    for joints in JOINTS:
        clip = chain(joints, 240)
        searches = ("exact", "fast") if joints <= EXACT_UP_TO else ("fast",)
        search_line(f"{joints} joints", clip, searches)
    print("decode, µs a frame       wavelet   without deflate   wavelet-ik   analytic")
    for name in ("09_01", "49_02", "14_02"):
        clip = cmu(name)
        codecs = (Wavelet(), Wavelet(deflate=False), WaveletIk(), WaveletIk(ik="analytic"))
        print(f"{name:<18}" + "".join(f"{decode_time(c, clip):14.1f}" for c in codecs), flush=True)
    data = np.random.default_rng(0).integers(0, 16, 4_000_000, np.uint8).tobytes()
    packed = zlib.compress(data)
    print(f"zlib inflate {len(data) / fastest(lambda: zlib.decompress(packed)) / 1e6:.0f} MB/s")


if __name__ == "__main__":
    main()
