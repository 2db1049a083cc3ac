"""Measure the motion library of trainers: states, memory, accuracy, loading, size of archives.

    MOCPACK_DATA=… python benchmarks/bench_trainers.py [states] [accuracy] [load] [size] [peers]
        [--clips 10000] [--effort fast] [--workers 0] [--protomotions FOLDER]

Reads the six motions of a Unitree G1 of `robot/` of the folder that MOCPACK_DATA names. `load`,
`size` and `peers` use clips of 300 frames, cut from them at distinct offsets, with a random heading
and smooth noise of 5 mm and 0.01 rad, packed within 1 mm and 0.02 rad; they are made once in the
system's temporary folder. Effort `fast` is quick to pack; `--effort default` is mocpack's own.
`states` computes 8,192 × 5 states of these clips; on a GPU the time is that of CUDA events (median
of 100 calls), which needs torch. `accuracy` compares states with kinematics in double precision.
`load` opens the archive with all cores. `peers` loads 3,000 clips also with the loader of
ProtoMotions, if `--protomotions` names a clone of it.
Each line has the figure and the machine's count of cores; `--device cpu` leaves the GPU out.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
import types
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import mocpack
from mocpack.cores import core_count
from mocpack.model import rotations
from mocpack.model.clip import Clip
from mocpack.robots import robot_motion
from mocpack.trainers import MotionLibrary
from mocpack.trainers.velocities import VELOCITIES

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/support"))
from archives import write_archive

FRAMES, FPS = 300, 30
STATES = 8192 * 5
REPEATS = 100
NOISE_M, NOISE_RAD = 0.005, 0.01
MIN_CLIPS = 64


@cache
def motions() -> list[Clip]:
    """Return the six motions of the G1."""
    folder = Path(os.environ["MOCPACK_DATA"]) / "robot"
    files = sorted(folder.glob("g1-*.csv"))
    robot = folder / "g1_29dof.urdf"
    return [mocpack.read(file, robot=str(robot), fps=FPS) for file in files]


def make_clip(number: int) -> Clip:
    """Return a clip: a part of a motion, with another heading and noise."""
    rng = np.random.default_rng(number)
    source = motions()[number % len(motions())]
    start = int(rng.integers(0, source.frame_count - FRAMES))
    part = source[start : start + FRAMES]
    places, turns = part.source_root()
    angle = rng.uniform(0, 2 * np.pi)
    yaw = np.array([0, 0, np.sin(angle / 2), np.cos(angle / 2)])
    hinges = part.skeleton.hinges
    time_s = np.arange(FRAMES)[:, np.newaxis] / FPS
    width = 3 + len(hinges)
    waves = np.sin(time_s * rng.uniform(1, 6, width) + rng.uniform(0, 6, width))
    angles = part.hinge_angles().angles + NOISE_RAD * waves[:, 3:]
    return Clip.from_angles(
        part.skeleton,
        np.clip(angles, *hinges.limits.T),
        rotations.rotate(yaw, places) + NOISE_M * waves[:, :3],
        rotations.multiply(yaw, turns),
        up="z",
        frame_rate=FPS,
        metadata=dict(part.metadata),
    )


def pack_clip(number: int, effort: str) -> bytes:
    return mocpack.encode(make_clip(number), max_error="1mm", max_angle="0.02rad", effort=effort)


def make_archive(count: int, workers: int, effort: str = "fast") -> Path:
    """Return the archive of that many clips, which is made once."""
    path = Path(tempfile.gettempdir()) / f"mocpack-bench-trainers-{count}-{effort}.mocps"
    if path.exists():
        return path
    motions()
    started = time.perf_counter()
    with get_context("fork").Pool(workers or core_count()) as pool:
        packed = pool.imap(partial(pack_clip, effort=effort), range(count), chunksize=4)
        clips = {f"clip{number:06d}": data for number, data in enumerate(packed)}
    made = write_archive(path.with_suffix(".part"), clips)
    made.rename(path)
    say("packing with make_clip", f"{count} clips", f"{time.perf_counter() - started:.1f} s")
    return path


def say(what: str, where: str, figure: str) -> None:
    print(f"| {what} | {where} | {figure} |", flush=True)


def queries(library: MotionLibrary) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    clips = rng.integers(0, len(library), STATES)
    return clips, rng.random(STATES) * library.lengths[clips]


def bench_states(path: Path, device: str) -> None:
    for dtype in ("float32", "float16"):
        for velocity in VELOCITIES if dtype == "float32" else ("central",):
            library = MotionLibrary(path, device, dtype, velocity=velocity)
            per_frame = library.nbytes / library.frame_counts.sum()
            what = f"{STATES} states, {dtype} ({per_frame:.0f} B per frame), {velocity}"
            if library.device == "cpu":
                say(what, f"CPU, {core_count()} cores", f"{time_on_cpu(library) * 1e3:.1f} ms")
            else:
                kernel, call = time_on_gpu(library)
                say(what, "kernel on the GPU", f"{kernel * 1e3:.1f} µs")
                say(what, "whole call of Python", f"{call * 1e3:.1f} µs")


def time_on_cpu(library: MotionLibrary) -> float:
    clips, times = queries(library)
    out = library.state(clips, times)
    durations = []
    for _ in range(3):
        started = time.perf_counter()
        library.state(clips, times, out=out)
        durations.append(time.perf_counter() - started)
    return statistics.median(durations)


def time_on_gpu(library: MotionLibrary) -> tuple[float, float]:
    """Return the milliseconds of the kernel by CUDA events, and of a call with new tensors."""
    import torch

    clips, times = queries(library)
    clips = torch.as_tensor(clips, device=library.device)
    times = torch.as_tensor(times, device=library.device, dtype=torch.float32)
    out = library.state(clips, times)
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2 * REPEATS)]
    for k in range(REPEATS):
        torch.cuda._sleep(1_000_000)  # so that the launch does not wait for Python
        events[2 * k].record()
        library.state(clips, times, out=out)
        events[2 * k + 1].record()
    torch.cuda.synchronize()
    kernel = [events[2 * k].elapsed_time(events[2 * k + 1]) for k in range(REPEATS)]
    library.state(clips, times)  # torch keeps the memory of its tensors
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(REPEATS):
        library.state(clips, times)
    torch.cuda.synchronize()
    call = (time.perf_counter() - started) / REPEATS * 1e3
    return statistics.median(kernel), call


def bench_accuracy(path: Path, device: str) -> None:
    """Compare states at frames with kinematics in double precision, of the decoded motion."""
    with mocpack.open_corpus(path) as corpus:
        sources = [corpus[clip][:] for clip in range(12)]
    for dtype in ("float32", "float16"):
        library = MotionLibrary(path, device, dtype)
        worst = np.zeros(4)
        for clip, source in enumerate(sources):
            motion = robot_motion(source)
            count = len(motion.angles)
            found = library.frames(np.full(count, clip), np.arange(count))
            state = [a if isinstance(a, np.ndarray) else a.numpy() for a in found]
            (places, turns), (linear, angular) = motion.body_poses, motion.body_velocities
            change = rotations.angle_between(state[1].astype(np.float64), turns)
            own = [state[0] - places, change, state[2] - linear, state[3] - angular]
            worst = np.maximum(worst, [np.abs(one).max() for one in own])
        text = "{:.2g} m, {:.2g} rad, {:.2g} m/s, {:.2g} rad/s".format(*worst)
        say(f"largest difference from doubles, {dtype}", library.device, text)
        say(f"row_error, {dtype}", library.device, ", ".join(f"{e:.2g}" for e in library.row_error))


def bench_load(path: Path, device: str) -> None:
    for dtype in ("float32", "float16"):
        durations = []
        for _ in range(3):
            started = time.perf_counter()
            library = MotionLibrary(path, device, dtype)
            durations.append(time.perf_counter() - started)
        what = f"load {len(library)} clips of {FRAMES} frames, {dtype}"
        words = ", ".join(f"{one:.2f}" for one in durations)
        say(what, f"{core_count()} cores, to {library.device}", f"{words} s")


def bench_size(path: Path, device: str) -> None:
    with mocpack.open_corpus(path) as corpus:
        parts, count = corpus.bytes_by_part, len(corpus)
    say(f"{count} clips packed", "bytes per clip", f"{parts['file'] / count:.0f}")
    index = parts["index"] / count
    say(
        f"100,000 such clips ({index:.0f} B of index each)",
        "GB",
        f"{parts['file'] / count / 1e4:.3f}",
    )


def bench_peers(path: Path, device: str, folder: str, count: int = 3000) -> None:
    """Load motions with ProtoMotions' own loader: files that torch.save wrote."""
    import torch

    library = MotionLibrary(path, device, velocity="protomotions")
    count = min(count, len(library))
    sys.path.insert(0, folder)
    stub_missing(folder)
    from protomotions.components.motion_lib import MotionLib, MotionLibConfig

    with tempfile.TemporaryDirectory() as made:
        for clip in range(count):
            state = library.windows(torch.tensor([clip]), torch.tensor([0]), FRAMES)
            arrays = [torch.as_tensor(torch.from_dlpack(a)).cpu()[0].clone() for a in state]
            places, turns, linear, angular, angles, rates, _ = arrays
            motion = {
                "rigid_body_pos": places,
                "rigid_body_rot": turns,
                "rigid_body_vel": linear,
                "rigid_body_ang_vel": angular,
                "dof_pos": angles,
                "dof_vel": rates,
                "fps": FPS,
            }
            torch.save(motion, f"{made}/{clip:06d}.motion")
        started = time.perf_counter()
        with Path(os.devnull).open("w") as nothing:
            told, sys.stdout = sys.stdout, nothing
            try:
                peer = MotionLib(MotionLibConfig(motion_file=made), device=device)
            finally:
                sys.stdout = told
        seconds = time.perf_counter() - started
        tensors = [peer.gts, peer.grs, peer.gvs, peer.gavs, peer.dps, peer.dvs]
        size = sum(one.numel() * one.element_size() for one in tensors)
        frames = int(peer.motion_num_frames.sum())
        say(f"load {count} motions, ProtoMotions", device, f"{seconds:.2f} s")
        say("ProtoMotions' tensors", "bytes per frame", f"{size / frames:.0f}")


def stub_missing(folder: str) -> None:
    """Stand in for packages that ProtoMotions' loader imports and does not need here."""
    for name in ("easydict", "yaml"):
        try:
            __import__(name)
        except ImportError:
            module = types.ModuleType(name)
            module.EasyDict = dict
            sys.modules[name] = module


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=["states", "accuracy", "load", "size"])
    parser.add_argument("--clips", type=int, default=10_000)
    parser.add_argument("--effort", default="fast")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--protomotions", default="")
    given = parser.parse_args()
    path = make_archive(max(MIN_CLIPS, given.clips), given.workers, given.effort)
    parts = {
        "states": bench_states,
        "accuracy": bench_accuracy,
        "load": bench_load,
        "size": bench_size,
        "peers": partial(bench_peers, folder=given.protomotions),
    }
    print("| what | where | figure |\n|---|---|--:|")
    for part in given.parts:
        if part == "peers" and not given.protomotions:
            continue
        parts[part](path, given.device)


if __name__ == "__main__":
    main()
