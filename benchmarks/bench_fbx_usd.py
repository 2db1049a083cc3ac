"""Seconds to read a minute of motion from FBX and USD: 120 frames a second, 60 joints.

    python benchmarks/bench_fbx_usd.py [RUNS]

Both are read in a process that is started for the file, so its start, the import of ufbx or
usd-core and the way back of the poses are counted. "processor" is the time of both processes, the
best of RUNS (5); "clock" is that run's time on the clock, which a busy machine makes longer. Beside
them is how much longer each takes than numpy's archive of the same clip in this run.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable

import numpy as np

from mocpack.bench.runner.timing import inflate_speed
from mocpack.clip import Clip
from mocpack.io import read_bytes, write_bytes
from mocpack.testing.fbx_file import CUBIC, LINEAR, Curve, Model, Take, binary, scene, text

SECONDS, RATE, JOINTS = 60, 120, 60


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(f"calibration: zlib inflates {inflate_speed():.0f} MB/s here")
    files = {f"{name} FBX": data for name, data in fbx_files().items()}
    clip = read_bytes(files["linear FBX"])
    assert isinstance(clip, Clip)
    files = {"npz": write_bytes(clip, ".npz")} | files
    files |= {ending: write_bytes(clip, ending) for ending in (".usdc", ".usda", ".usdz")}
    print(f"{'format':<12}{'MB':>8}{'processor s':>13}{'clock s':>9}{'to npz':>8}")
    base = 0.0
    for name, data in files.items():
        found = min(measured(lambda data=data: read_bytes(data)) for _ in range(runs))
        base = base or found[0]
        told = f"{found[0]:>13.3f}{found[1]:>9.3f}{found[0] / base:>8.1f}"
        print(f"{name:<12}{len(data) / 1e6:>8.1f}{told}")


def fbx_files() -> dict[str, bytes]:
    """Return a chain of bones that all sway, with a key for each frame, as files."""
    rng = np.random.default_rng(0)
    times = np.arange(SECONDS * RATE) / RATE
    models = [
        Model(f"bone{j}", j - 1, properties={"Lcl Translation": (0.0, 3.0, 0.0)})
        for j in range(JOINTS)
    ]
    turns = [(j, axis, rng.uniform(0.5, 3)) for j in range(JOINTS) for axis in range(3)]

    def records(kind: int) -> list:
        layer = {
            (j, "Lcl Rotation", axis): Curve(times, 10 * np.sin(speed * times + axis), kind)
            for j, axis, speed in turns
        }
        layer |= {(0, "Lcl Translation", a): Curve(times, 10 * np.sin(times + a)) for a in range(3)}
        return scene(models, [Take("Sway", [layer])], frame_rate=RATE)

    return {
        "linear": binary(records(LINEAR)),
        "cubic": binary(records(CUBIC)),
        "text": text(records(LINEAR)),
    }


def measured(work: Callable[[], object]) -> tuple[float, float]:
    """Return seconds of the processor, of this process and those it starts, and of the clock."""
    clock, before = time.perf_counter(), _spent()
    work()
    return _spent() - before, time.perf_counter() - clock


def _spent() -> float:
    parts = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in parts)


if __name__ == "__main__":
    main()
