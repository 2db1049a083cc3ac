"""Measure the size of take data: markers with gaps, and tracks against float16 and zstd.

    python benchmarks/bench_takes.py tracks
    MOCPACK_DATA=… python benchmarks/bench_takes.py
    MOCPACK_DATA=… python benchmarks/bench_takes.py chunks

`tracks` generates tracks of every kind by length and bound: smooth ones, random walks, white noise,
pulses, steps, and weights that rest at 0. For random values it also prints their entropy at the
bound, the lower limit of any coder. The bounds are the largest error of float16 for these values,
and fractions of their range (2 and 10 milliradians for rotations). Sizes are those of chunk bodies
with names, rates and bounds, relative to `zstd -19` of the float16 values alone. The last lines add
the bytes of names, rates and bounds to the peer.

The rest reads `c3d/markers_analogs.c3d` of the folder that MOCPACK_DATA names: 51 markers, 38
analogs at 20 times their rate (pyomeca's sample, Apache-2.0). Each analog is packed within the
largest error that float16 makes of it, and within a thousandth and a two-hundredth of its range.
Sizes of markers are those of whole files, with skeleton, names and gaps.

`chunks` prints the bytes of each chunk, tag and checksum included, of the first 60 frames of a clip
of each kind within 5 mm (`fast`).
"""

from __future__ import annotations

import lzma
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

import c3d
import mocpack
from mocpack.container.track import pack_track
from mocpack.model.rotations import from_rotvec, normalize
from mocpack.model.take_data import Track

F64 = npt.NDArray[np.float64]
LENGTHS = (30, 120, 600, 3000, 12000)
RATE = 60.0
STRUCTURED = ("smooth", "weights")
PULSES, STEPS = 1 / 40, 1 / 60  # probability per sample
AMPLITUDE = 0.8  # maximum height of pulses; the minimum is 0.2


SHORT_CLIPS = {
    "BVH": "cmu/02_01.bvh",
    "AMC": "asfamc/02_01.amc",
    "glTF": "gltf/CesiumMan.glb",
    "FBX": "fbx/*.fbx",
    "VRM animation": "vrma/*.vrma",
    "C3D": "c3d/*.c3d",
    "AMASS": "amass/*.npz",
    "robot": "robot/g1*.csv",
}
"""A clip of each kind, in the folder that MOCPACK_DATA names."""


def main() -> None:
    if sys.argv[1:] == ["chunks"]:
        chunks(Path(os.environ["MOCPACK_DATA"]))
        return
    tracks()
    if sys.argv[1:] == ["tracks"]:
        return
    folder = os.environ.get("MOCPACK_DATA")
    path = Path(folder or "") / "c3d" / "markers_analogs.c3d"
    if not folder or not path.exists():
        print("no folder of real takes; MOCPACK_DATA names one with c3d/markers_analogs.c3d")
        return
    trial = c3d.read(path)
    markers(trial)
    analogs(trial)


def chunks(folder: Path) -> None:
    """Print the bytes of each chunk of short clips."""
    for kind, pattern in SHORT_CLIPS.items():
        path = min(folder.glob(pattern))
        robot = {"robot": folder / "robot/g1_29dof.urdf"} if kind == "robot" else {}
        clip = mocpack.read(path, **robot)
        data = mocpack.encode(clip[: min(60, len(clip))], "keysine:effort=fast", max_error="5mm")
        sizes = chunk_sizes(data)
        listed = ", ".join(f"{tag} {size}" for tag, size in sizes.items())
        print(f"{kind:14} {len(data):5}: {listed}", flush=True)


def chunk_sizes(file: bytes) -> dict[str, int]:
    """Return the bytes of each chunk of a .mocp file by its tag."""
    sizes: dict[str, int] = {}
    at = 5
    while at < len(file):
        tag, length, digits = file[at : at + 4].decode(), 0, 0
        while digits == 0 or file[at + 3 + digits] > 127:
            length |= (file[at + 4 + digits] & 127) << 7 * digits
            digits += 1
        size = 4 + digits + 4 + length
        sizes[tag] = sizes.get(tag, 0) + size
        at += size
    return sizes


def tracks() -> None:
    """Print sizes of generated tracks relative to float16 with zstd -19, and to their entropy."""
    squeeze = squeezer()
    print("tracks: bytes over those of float16 + zstd -19 (in brackets over the entropy), by bound")
    print("  float16's own error | range / 1000 or 2 mrad | range / 200 or 10 mrad")
    # by whether the values are random
    found: dict[bool, list[tuple[int, int, int]]] = {True: [], False: []}
    for kind in ("scalar", "vec3", "quaternion"):
        for name, make in MOTIONS.items():
            for count in LENGTHS:
                rng = np.random.default_rng(count)
                values = made(kind, make, count, rng)
                peer = len(squeeze(values.astype("<f2").tobytes()))
                cells = []
                for bound in bounds_of(kind, values):
                    size = _size("x", values, RATE, bound, kind)
                    least = entropy(kind, name, count, bound)
                    told = _size("x", np.zeros(count), RATE, bound)
                    found[name not in STRUCTURED].append((size, peer, told))
                    cells.append(
                        f"{size / peer:5.2f}"
                        + (f" [{8 * size / least:4.2f}]" if least else " " * 7)
                    )
                print(f"  {kind:10} {name:8} {count:6} {peer:7}  " + "  ".join(cells))
    for by_chance, sizes in found.items():
        size, peer_size, head = np.array(sizes).T
        alone, told_too = size / peer_size, size / (peer_size + head)
        print(
            f"  {'random' if by_chance else 'structured'}: {len(size)} cells, "
            f"{np.mean(alone <= 0.5):.0%} at most half, largest {alone.max():.2f}; with name, rate "
            f"and bound added to the peer {np.mean(told_too <= 0.5):.0%}, {told_too.max():.2f}"
        )


def smooth(count: int, width: int, rng: np.random.Generator) -> F64:
    time = np.arange(count)[:, None] / RATE
    waves = [a * np.sin(2 * np.pi * f * time + rng.uniform(0, 6, width)) for f, a in WAVES]
    return np.asarray(sum(waves) + 0.002 * rng.standard_normal((count, width)))


def walk(count: int, width: int, rng: np.random.Generator) -> F64:
    return np.asarray(np.cumsum(0.02 * rng.standard_normal((count, width)), axis=0))


def noise(count: int, width: int, rng: np.random.Generator) -> F64:
    return rng.uniform(-1, 1, (count, width))


def pulses(count: int, width: int, rng: np.random.Generator) -> F64:
    there = rng.random((count, width)) < PULSES
    return np.asarray(there * (1 - AMPLITUDE * rng.random((count, width))))


def steps(count: int, width: int, rng: np.random.Generator) -> F64:
    begins = rng.random((count, width)) < STEPS
    begins[0] = True
    last = np.maximum.accumulate(np.where(begins, np.arange(count)[:, None], 0), axis=0)
    return np.take_along_axis(rng.uniform(-1, 1, (count, width)), last, axis=0)


def weights(count: int, width: int, rng: np.random.Generator) -> F64:
    return np.clip(smooth(count, width, rng) - 0.4, 0, 1)


WAVES = ((0.31, 1.0), (0.83, 0.5), (2.1, 0.1))  # hertz, height
MOTIONS = {
    "smooth": smooth,
    "walk": walk,
    "noise": noise,
    "pulses": pulses,
    "steps": steps,
    "weights": weights,
}


def made(
    kind: str,
    make: Callable[[int, int, np.random.Generator], F64],
    count: int,
    rng: np.random.Generator,
) -> F64:
    """Return generated values of a kind; random rotations are uniform."""
    if kind == "scalar":
        return make(count, 1, rng)[:, 0]
    if kind == "vec3":
        return make(count, 3, rng)
    if make is noise:
        return normalize(rng.standard_normal((count, 4)))
    return from_rotvec(make(count, 3, rng))


def bounds_of(kind: str, values: F64) -> list[float]:
    half = values.astype("<f2").astype(np.float64)
    if kind == "quaternion":
        half = normalize(half)
    own = Track(kind, values).error(Track(kind, half))
    largest = 2e-3 if kind == "quaternion" else float(np.ptp(values)) / 1000
    shares = (own, largest, 5 * largest)
    return [float(f"{max(share, 1e-6):.1e}") for share in shares]


def entropy(kind: str, name: str, count: int, bound: float) -> float:
    """Return the entropy in bits of random values, quantized to the bound; 0 if unknown.

    A vector within a ball is rounded in cubes that fit into it, as the tracks do.
    """
    width = 1 if kind == "scalar" else 3
    step = 2 * bound / np.sqrt(width)
    if kind == "quaternion" and name == "noise":
        # the volume of all rotations is 8 pi^2 in units of small rotation vectors
        return count * float(np.log2(8 * np.pi**2 / step**3))
    if name == "noise":
        return width * count * float(np.log2(2 / step))
    if name == "walk":
        spread = 0.02 / step
        return (
            width * count * float(0.5 * np.log2(2 * np.pi * np.e * spread**2))
            if spread > 1
            else 0.0
        )
    if name == "pulses":
        return width * count * (_choice(PULSES) + PULSES * float(np.log2(AMPLITUDE / step)))
    if name == "steps":
        return width * count * (_choice(STEPS) + STEPS * float(np.log2(2 / step)))
    return 0.0


def _choice(share: float) -> float:
    return float(-share * np.log2(share) - (1 - share) * np.log2(1 - share))


def squeezer() -> Callable[[bytes], bytes]:
    try:
        import zstandard
    except ImportError:
        sys.exit("the comparison needs the package zstandard")
    return zstandard.ZstdCompressor(level=19).compress


def markers(trial: c3d.Trial) -> None:
    """Print the size of markers at 1 mm, and of simpler methods."""
    clip = mocpack.Clip.from_points(trial.points, trial.names, frame_rate=trial.rate, unit=1e-3)
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
    """Print the size of each analog channel as a track, relative to float16 with zstd -19."""
    squeeze = squeezer()
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


def _size(name: str, values: F64, rate: float, bound: float, kind: str = "scalar") -> int:
    track = Track(kind, values, 1 / rate, bound=bound)
    return len(pack_track(name, track))


if __name__ == "__main__":
    main()
