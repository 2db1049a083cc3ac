"""Microseconds a frame of `mocpack.live`, encoding and decoding, for 31 joints.

    python benchmarks/bench_live.py [FILE.bvh]

Asked of one core: 20 µs a frame each way (the paper: 1260 and 1320). Best of bursts of 20 frames;
all joints are sent, whether they move or not, then only those that do.
"""

from __future__ import annotations

import sys

import mocpack
from mocpack import live
from mocpack.bench.papers.li import live_times
from mocpack.bench.runner.timing import inflate_speed
from mocpack.codecs.kinematic.ik_predict import IkPredict
from mocpack.samples import JUMP


def main() -> None:
    clip = mocpack.read(sys.argv[1] if len(sys.argv) > 1 else JUMP)
    clip = clip.frames(1, clip.frame_count)
    still = live.still_of(clip)
    print(f"{len(clip.skeleton)} joints, zlib inflates {inflate_speed():.0f} MB/s")
    for label, known in (("all joints", None), ("joints that move", still)):
        encode, decode = live_times(clip, still=known)
        packets = live.Encoder(clip.header, IkPredict(intra=60), still=known)
        frames = zip(clip.rotations, clip.translations, strict=True)
        size = sum(len(packets.encode(*frame)) for frame in frames) / clip.frame_count
        print(
            f"{label:<17} encode {1e6 * encode:5.1f} µs   decode {1e6 * decode:5.1f} µs   "
            f"{size:.1f} bytes a frame at a step of 1 mm"
        )


if __name__ == "__main__":
    main()
