"""Seconds to read a minute of motion from each format: 120 frames a second, 60 joints or markers.

    python benchmarks/bench_formats.py [EXTENSION ...]

Every format that is written is read back, in a process that has read one before; BVH and AMC are
there to compare with. Times are of the processor, the best of several runs, and beside them how
much longer each takes than numpy's archive in the same run.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

import mocpack
from mocpack.bench.runner.timing import fastest, inflate_speed
from mocpack.clip import Clip
from mocpack.errors import UnsupportedClipError
from mocpack.io import read_bytes, write_bytes
from mocpack.io.table import FORMATS

SECONDS, RATE, JOINTS = 60, 120, 60
MARKERS = (".c3d", ".trc")
SKELETONS = {".amc": ".asf"}


def main() -> None:
    print(f"calibration: zlib inflates {inflate_speed():.0f} MB/s here")
    print(f"{'format':<8}{'MB':>8}{'seconds':>9}{'to npz':>8}")
    base = None
    for extension in sys.argv[1:] or _extensions():
        clip = markers() if extension in MARKERS else body()
        try:
            data = write_bytes(clip, extension)
        except UnsupportedClipError as error:
            print(f"{extension:<8} {error}")
            continue
        beside = SKELETONS.get(extension)
        given = {} if beside is None else {"skeleton": write_bytes(clip, beside)}
        seconds = fastest(partial(read_bytes, data, name=f"clip{extension}", **given), 3)
        base = seconds if base is None else base
        print(f"{extension:<8}{len(data) / 1e6:>8.1f}{seconds:>9.3f}{seconds / base:>8.1f}")


def body() -> Clip:
    """Return a minute of a body of chains that sway, of which every joint turns all the time."""
    rng = np.random.default_rng(0)
    parents = [-1, *(max(0, j - 1) if j % 12 else 0 for j in range(1, JOINTS))]
    names = [f"joint{j}" for j in range(JOINTS)]
    offsets = rng.normal(scale=0.1, size=(JOINTS, 3))
    time = np.arange(SECONDS * RATE) / RATE
    phase, speed = rng.uniform(0, 6, (2, JOINTS, 3))
    turns = 0.4 * np.sin(time[:, np.newaxis, np.newaxis] * speed + phase)
    places = np.stack([np.sin(time), 1 + 0 * time, time / 10], axis=1)
    skeleton = mocpack.Skeleton(tuple(names), tuple(parents), offsets)
    return Clip.build(
        skeleton, mocpack.rotations.from_rotvec(turns), places[:, np.newaxis], frame_rate=RATE
    )


def markers() -> Clip:
    """Return the places of that body's joints as markers."""
    places = body().positions()
    skeleton = mocpack.Skeleton.points([f"marker{j}" for j in range(JOINTS)])
    still = np.tile([0.0, 0.0, 0.0, 1.0], (len(places), JOINTS, 1))
    moving = tuple(range(JOINTS))
    return Clip.build(skeleton, still, places, frame_rate=RATE, translated_joints=moving)


def _extensions() -> list[str]:
    able = [f for f in FORMATS if f.write and f.read and "skeleton" in f.kinds]
    every = {extension for f in able for extension in f.extensions} - {".csv", ".vrma"}
    return [".npz", *sorted(every - {".npz"})]


if __name__ == "__main__":
    main()
