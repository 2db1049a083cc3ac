"""Measure the time to read a minute of motion from each format (120 frames/s, 60 joints).

    python benchmarks/bench_formats.py [EXTENSION ...]

Every writable format is written and read back, and FBX is read from a file of linear keys, binary
and text (`.fbx-text`). Times are the best of five runs after a first one: wall time and CPU time of
this process and of the child processes that read FBX and USD, and the ratio of CPU time to that of
npz in the same run. Wall times need an idle machine.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import mocpack
from mocpack.bench.runner.timing import inflate_speed
from mocpack.errors import UnsupportedClipError
from mocpack.io import write_bytes
from mocpack.io.table import FORMATS
from mocpack.model.clip import Clip

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from fbx_file import Curve, Model, PreparedClip, Record, binary, scene, text
from reading import read_bytes

SECONDS, RATE, JOINTS = 60, 120, 60
MOVE, TURN = "Lcl Translation", "Lcl Rotation"  # property names of FBX
MARKERS = (".c3d", ".trc")
SKELETONS = {".amc": ".asf"}
FBX = {".fbx": binary, ".fbx-text": text}


def main() -> None:
    print(f"calibration: zlib inflates {inflate_speed():.0f} MB/s here")
    print(f"{'format':<10}{'MB':>8}{'seconds':>9}{'processor':>11}{'to npz':>8}")
    base = None
    for extension in sys.argv[1:] or _extensions():
        clip = markers() if extension in MARKERS else body()
        try:
            writer = FBX.get(extension)
            data = writer(fbx(clip)) if writer else write_bytes(clip, extension)
        except UnsupportedClipError as error:
            print(f"{extension:<10} {error}")
            continue
        beside = SKELETONS.get(extension)
        given = {} if beside is None else {"skeleton": write_bytes(clip, beside)}
        work = partial(read_bytes, data, name=f"clip{extension}", **given)
        clock, processor = best_of(work, 5)
        base = processor if base is None else base
        times = f"{clock:>9.3f}{processor:>11.3f}{processor / base:>8.1f}"
        print(f"{extension:<10}{len(data) / 1e6:>8.1f}{times}", flush=True)


def best_of(work: Callable[[], object], runs: int) -> tuple[float, float]:
    """Return the minimum wall time and CPU time of some runs, after a warm-up run."""
    work()
    found = []
    for _ in range(runs):
        clock, processor = time.perf_counter(), processor_seconds()
        work()
        found.append((time.perf_counter() - clock, processor_seconds() - processor))
    clocks, processors = zip(*found, strict=True)
    return min(clocks), min(processors)


def processor_seconds() -> float:
    """Return the CPU seconds of this process and its finished children."""
    return sum(os.times()[:4])


def body() -> Clip:
    """Return one minute of a body of swaying chains in which every joint rotates."""
    rng = np.random.default_rng(0)
    parents = [-1, *(max(0, j - 1) if j % 12 else 0 for j in range(1, JOINTS))]
    names = [f"joint{j}" for j in range(JOINTS)]
    offsets = rng.normal(scale=0.1, size=(JOINTS, 3))
    times = np.arange(SECONDS * RATE) / RATE
    phase, speed = rng.uniform(0, 6, (2, JOINTS, 3))
    turns = 0.4 * np.sin(times[:, np.newaxis, np.newaxis] * speed + phase)
    places = np.stack([np.sin(times), 1 + 0 * times, times / 10], axis=1)
    skeleton = mocpack.Skeleton(tuple(names), tuple(parents), offsets)
    return Clip.build(
        skeleton, mocpack.rotations.from_rotvec(turns), places[:, np.newaxis], frame_rate=RATE
    )


def markers() -> Clip:
    """Return the joint positions of that body as markers."""
    places = body().positions()
    skeleton = mocpack.Skeleton.from_point_names([f"marker{j}" for j in range(JOINTS)])
    still = np.tile([0.0, 0.0, 0.0, 1.0], (len(places), JOINTS, 1))
    moving = tuple(range(JOINTS))
    return Clip.build(skeleton, still, places, frame_rate=RATE, translated_joints=moving)


def fbx(clip: Clip) -> list[Record]:
    """Return that body as the records of an FBX, with a key of each angle for each frame."""
    offsets, parents = 100 * clip.skeleton.offsets, clip.skeleton.parents
    models = [
        Model(name, parent, properties={MOVE: tuple(map(float, offset))})
        for name, parent, offset in zip(clip.skeleton.names, parents, offsets, strict=True)
    ]
    angles = np.degrees(clip.as_euler("ZYX"))[..., ::-1]
    curves = {
        (j, TURN, axis): Curve(clip.times, angles[:, j, axis])
        for j in range(JOINTS)
        for axis in range(3)
    }
    return scene(models, [PreparedClip("Sway", [curves])], frame_rate=RATE)


def _extensions() -> list[str]:
    able = [f for f in FORMATS if f.write and f.read and "skeleton" in f.kinds]
    every = {extension for f in able for extension in f.extensions} - {".csv", ".vrma"}
    return [".npz", *sorted(every - {".npz"} | FBX.keys())]


if __name__ == "__main__":
    main()
