"""How long `latent-spline` takes: knots against frames, knots and channels; a pose at any time."""

import time

import numpy as np

import mocpack
from mocpack.bench.runner.timing import inflate_speed
from mocpack.codecs.latent_spline import bspline
from mocpack.codecs.latent_spline.knots import find_knots
from mocpack.samples import JUMP


def curve(frames, channels):
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(frames, channels)) / np.arange(1, channels + 1)
    return np.cumsum(np.cumsum(steps, axis=0), axis=0)


def seconds(points, control_points, method):
    started = time.perf_counter()
    knots = find_knots(points, control_points, 3, method=method, candidates=100, seed=0)
    taken = time.perf_counter() - started
    return taken, bspline.fit(knots, 3, points)[1]


def main():
    print(f"calibration: zlib inflates {inflate_speed():.0f} MB/s")
    print("frames  channels  controls   CMA s   fast s   fast error / CMA error")
    cases = [(500, 35, 50), (250, 35, 50), (1000, 35, 50), (500, 10, 50), (500, 80, 50)]
    for frames, channels, controls in [*cases, (500, 35, 25), (500, 35, 100)]:
        points = curve(frames, channels)
        slow, a = seconds(points, controls, "cma")
        fast, b = seconds(points, controls, "fast")
        print(f"{frames:6} {channels:9} {controls:9} {slow:7.2f} {fast:8.2f} {b / a:24.3f}")
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
