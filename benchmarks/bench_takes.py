"""What takes cost beside their poses: markers with gaps, and tracks against float16 and zstd.

    MOCPACK_DATA=… python benchmarks/bench_takes.py

Reads `c3d/markers_analogs.c3d` of the folder that MOCPACK_DATA names: 51 markers, 38 analogs at 20
times their rate (pyomeca's sample, Apache-2.0). Each analog is packed within the largest error that
float16 makes of it, and within a thousandth and a two-hundredth of its range. Sizes of markers are
those of whole files, with skeleton, names and gaps.
"""

from __future__ import annotations

import lzma
import os
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

import c3d
import mocpack
from mocpack.container.track import pack_track
from mocpack.take import Track

F64 = npt.NDArray[np.float64]


def main() -> None:
    folder = os.environ.get("MOCPACK_DATA")
    path = Path(folder or "") / "c3d" / "markers_analogs.c3d"
    if not folder or not path.exists():
        print("no folder of real takes; MOCPACK_DATA names one with c3d/markers_analogs.c3d")
        return
    trial = c3d.read(path)
    markers(trial)
    analogs(trial)


def markers(trial: c3d.Trial) -> None:
    """Print what the markers take at 1 mm, and what simpler ways do."""
    clip = mocpack.Clip.of_points(trial.points, trial.names, frame_rate=trial.rate, unit=1e-3)
    frames, count = clip.valid.shape
    print(f"{count} markers, {frames} frames, {(~clip.valid).sum()} gaps; within 1 mm:")
    print(f"  float32            {4 * trial.points.size:7} bytes")
    grid = np.rint(clip.positions() / (2e-3 / np.sqrt(3))).astype("<i2")
    steps = np.diff(grid.reshape(frames, -1), axis=0, prepend=0).astype("<i2")
    print(f"  grid, steps, xz    {len(lzma.compress(steps.tobytes(), preset=9)):7} bytes, no gaps")
    for effort in ("fast", "default", "best"):
        data = mocpack.encode(clip, max_error="1mm", effort=effort)
        back = mocpack.decode(data)
        off = np.nanmax(np.linalg.norm(back.points() - trial.points, axis=-1))
        gaps = "exact" if np.array_equal(back.valid, clip.valid) else "WRONG"
        print(f"  keysine {effort:10} {len(data):7} bytes, off by {1e3 * off:.3f} mm, gaps {gaps}")


def analogs(trial: c3d.Trial) -> None:
    """Print what each analog takes as a track, over float16 and zstd -19."""
    try:
        import zstandard
    except ImportError:
        sys.exit("the comparison needs the package zstandard")
    squeeze = zstandard.ZstdCompressor(level=19).compress
    shares = ("float16's error", "range / 1000", "range / 200")
    print(f"analogs, {len(trial.analogs)} samples: bytes over those of float16 + zstd -19, within")
    print(f"  {'':18}{'zstd':>8}" + "".join(f"{share:>18}" for share in shares))
    totals = np.zeros(4)
    for name, values in zip(trial.analog_names, trial.analogs.T, strict=True):
        if not np.ptp(values):
            continue
        half = values.astype("<f2")
        bounds = np.abs(half - values).max(), np.ptp(values) / 1000, np.ptp(values) / 200
        peer = len(squeeze(half.tobytes()))
        sizes = [_size(name, values, trial.analog_rate, float(bound)) for bound in bounds]
        totals += [peer, *sizes]
        print(f"  {name:18}{peer:8}" + "".join(f"{size / peer:18.2f}" for size in sizes))
    print(f"  {'all':18}{totals[0]:8.0f}" + "".join(f"{t / totals[0]:18.2f}" for t in totals[1:]))


def _size(name: str, values: F64, rate: float, bound: float) -> int:
    track = Track("scalar", values, 1 / rate, bound=bound)
    return len(pack_track(name, track))


if __name__ == "__main__":
    main()
