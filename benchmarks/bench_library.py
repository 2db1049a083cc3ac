"""Measure libmocpack: its size, the time per pose, and its memory.

    make library && python benchmarks/bench_library.py [CLIP.mocp]

The default clip is one of CMU with 31 joints at 120 frames per second, within 5 mm. `poses.c`
decodes float32 local rotations and translations of all joints on one core; times are CPU time, the
minimum of several rounds. Goals: a stripped shared library of at most 250 kB; at most 1.5 µs per
pose in sequence; at most 1 µs at random times within 10 s, with a warm cache of 1 MB. The same
motion as float32 arrays is measured for comparison.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import mocpack
from mocpack.bench.datasets import CHECKOUT, COMMITTED, load_clip

CLIP = "cmu/49_02"
BOUND = "5mm"
MEMORY = 2  # lines about memory, which come first
INSTALLED = CHECKOUT / "build/library"


def main(given: str | None) -> None:
    if not INSTALLED.exists():
        raise SystemExit(f"{INSTALLED} does not exist; run make library")
    (shared,) = (INSTALLED / "shared/lib").glob("libmocpack.so.*.*.*")
    print(f"libmocpack shared, stripped: {shared.stat().st_size / 1e3:.0f} kB")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(given) if given else packed(Path(folder))
        program = compiled(Path(folder))
        printed = subprocess.run([program, path], capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in printed.splitlines()]
    for name, value in rows[:MEMORY]:
        print(f"{name:40} {float(value) / 1e3:8.1f} kB")
    rows = rows[MEMORY:]
    raw = {name: float(value) for name, value in rows if name.startswith("raw")}
    copied, blended = raw.values()
    for name, value in rows:
        beside = blended if "random" in name else copied
        print(f"{name:40} {float(value) / 1e3:8.3f} µs   {float(value) / beside:7.1f} × raw")


def packed(folder: Path) -> Path:
    path = folder / "clip.mocp"
    path.write_bytes(mocpack.encode(load_clip(CLIP, COMMITTED), max_error=BOUND))
    return path


def compiled(folder: Path) -> Path:
    program, prefix = folder / "poses", INSTALLED / "static"
    options = ["-std=c11", "-O2", "-D_POSIX_C_SOURCE=200809L", f"-I{prefix / 'include'}"]
    source = Path(__file__).with_name("poses.c")
    library = prefix / "lib/libmocpack.a"
    subprocess.run(["cc", *options, source, library, "-lm", "-o", program], check=True)
    return program


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
