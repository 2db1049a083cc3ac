"""Measure `latent-spline`: knot search with `fast` and `cma`, and decoding at any time.

The goal of `fast` is five times the speed of `cma` at 1.05 times its error. The clips are those of
the repository; times are CPU times of all threads.
"""

import time

import numpy as np

import mocpack
from mocpack.bench.datasets import load_clip
from mocpack.bench.runner.timing import inflate_speed, seconds_of
from mocpack.papers.mukai.codec import bspline, latent
from mocpack.papers.mukai.codec.knots import find_knots
from mocpack.papers.mukai.codec.pose_rows import SkeletonForm
from mocpack.samples import JUMP

CLIPS = (("cmu/16_46", 20), ("cmu/02_01", 30), ("cmu/05_03", 40), ("cmu/49_04", 60))
COMPONENTS = 30


def generated(frames, channels):
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(frames, channels)) / np.arange(1, channels + 1)
    return np.cumsum(np.cumsum(steps, axis=0), axis=0)


def captured(name):
    clip = load_clip(name)
    clip = clip.frames(1, min(clip.frame_count, 401))
    rows = SkeletonForm.of(clip, "kinematic").rows(clip)
    return np.ascontiguousarray(latent.principal_components(rows).scores[:, :COMPONENTS])


def search(points, control_points, method):
    found = []
    seconds = seconds_of(
        lambda: found.append(
            find_knots(points, control_points, 3, method=method, candidates=100, seed=0)
        )
    )
    return seconds, bspline.fit(found[0], 3, points)[1]


def main():
    print(f"calibration: zlib inflates {inflate_speed():.0f} MB/s")
    print("points      frames  channels  controls  CMA time / fast  fast error / CMA error")
    cases = [(name, captured(name), controls) for name, controls in CLIPS]
    cases += [("generated", generated(500, 35), 25), ("generated", generated(500, 35), 50)]
    for name, points, controls in cases:
        slow, a = search(points, controls, "cma")
        fast, b = search(points, controls, "fast")
        frames, channels = points.shape
        print(f"{name:10} {frames:7} {channels:9} {controls:9} {slow / fast:16.1f} {b / a:23.3f}")
    data = mocpack.encode(mocpack.read(JUMP), "latent-spline")
    with mocpack.Motion(data) as motion:
        times = np.random.default_rng(1).uniform(0, 4, 300)
        motion.sample(0.0)
        started = time.perf_counter()
        for t in times:
            motion.sample(t)
        print(f"sample(t): {1e6 * (time.perf_counter() - started) / len(times):.0f} µs a pose")


if __name__ == "__main__":
    main()
