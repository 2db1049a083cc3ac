"""Measure robot motions: bytes against rounding and xz, angles, MuJoCo exports, windows.

    MOCPACK_DATA=… python benchmarks/bench_robots.py [sizes] [efforts] [speed] [amc] [mujoco]
        [windows] [clip …]
    … --other OTHER/src speed amc

Reads `robot/*.csv` and their URDFs of the folder that MOCPACK_DATA names: LAFAN1's motions
retargeted to Unitree's G1 and H1, 30 frames/s (licensed for non-commercial research, so not part of
the repository). `sizes` packs each within 1 mm (link origins, bone ends and 3 cm
shell points), without and with a bound on angles, and beside it the peer `rounded-xz` at the same
largest displacement. `efforts` packs the middle SPEED_FRAMES frames of each within 1 mm, without
and with three bounds on angles, at every effort on one thread, and prints bytes per frame, the
largest error of an angle and processor time. `speed` prints frames per second of the encoder on one
core, by processor time, and payload bytes, at 1 and 5 mm, of the middle SPEED_FRAMES frames of each
clip; with `--other`, also those of another version, in turns. `amc` packs the clips of `asfamc/`
(62 degrees of freedom) with the hinges of their skeletons and without, and by another version of
mocpack, whose `src` folder with its built core `--other` names. `mujoco` compares exported tracking
files with MuJoCo's kinematics. `windows` reads random 2-s windows of positions, one process,
against LeRobotDataset on the same clips (`make test-lerobot` installs it in another environment).
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

import keysine_versions
import mocpack
from mocpack.codecs.keysine import Keysine
from mocpack.common.units import parse_length
from mocpack.io import write_bytes
from mocpack.model import rotations
from mocpack.model.clip import measure_error
from mocpack.robots import QposWindows, robot_motion
from rounded_xz import RoundedXz

HERE = Path(__file__).parent
LEROBOT = HERE.parent / ".venv-lerobot" / "bin" / "python"
BOUND, MAX_ANGLE = "1mm", "0.005rad"
SECONDS, WINDOWS, FPS, ROUNDS = 2, 400, 30, 3
SPEED_FRAMES = 300
SPEED_CHILD = """
import json, sys, time
source, packages, path, robot, bound, effort, frames = sys.argv[1:]
sys.path[:0] = [source, packages]
import mocpack
from mocpack.codecs.keysine import Keysine
clip = mocpack.read(path, robot=robot, fps=30)
start = (clip.frame_count - int(frames)) // 2
clip = clip.frames(start, start + int(frames))
began = time.process_time()
payload = Keysine(max_error=bound, effort=effort, threads=1).encode(clip)
print(json.dumps([time.process_time() - began, len(payload)]))
"""


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__)
    parse.add_argument(
        "words", nargs="*", help="sizes, efforts, speed, amc, mujoco, windows; or clips' names"
    )
    parse.add_argument(
        "--other", type=Path, help="src folder of another version, for speed and amc"
    )
    parse.add_argument("--effort", default="default")
    given = parse.parse_args()
    kinds = [word for word in given.words if word in PARTS] or list(PARTS)
    names = [word for word in given.words if word not in PARTS]
    if "speed" in kinds:
        speed(names, given.effort, given.other)
        kinds.remove("speed")
    if "amc" in kinds:
        amc(names, given.effort, given.other)
        kinds.remove("amc")
    clips = robot_clips(names) if kinds else {}
    if not kinds:
        return
    if not clips:
        print("no robots' clips; MOCPACK_DATA names a folder with robot/*.csv and *.urdf")
        return
    for kind in kinds:
        PARTS[kind](clips, given.effort)


def robot_clips(names: list[str]) -> dict[str, mocpack.Clip]:
    folder = Path(os.environ.get("MOCPACK_DATA", "")) / "robot"
    found = {}
    for path in sorted(folder.glob("*.csv")):
        if names and path.stem not in names:
            continue
        [robot] = folder.glob(f"{path.stem.split('-')[0]}*.urdf")
        found[path.stem] = mocpack.read(path, robot=robot, fps=30)
    return found


def sizes(clips: dict[str, mocpack.Clip], effort: str) -> None:
    """Print bytes per frame and the largest error of an angle, ours and the peer's."""
    warnings.simplefilter("ignore", mocpack.errors.HingeWarning)
    angle = "max_angle" in mocpack.encode.__kwdefaults__
    print(f"bytes per frame of whole files within {BOUND}, effort {effort}, and over rounded-xz's")
    head = f"{'clip':28}{'frames':>7}{'peer':>8}{'ours':>8}{'ratio':>7}{'rad':>9}"
    print(head + (f"{MAX_ANGLE:>9}{'ratio':>7}{'rad':>9}" if angle else ""))
    totals: dict[str, np.ndarray] = {}
    for name, clip in clips.items():
        peer = peer_bytes(clip)
        row, counted = f"{name:28}{clip.frame_count:7}", [clip.frame_count, peer]
        row += f"{peer / clip.frame_count:8.2f}"
        for extra in ({}, {"max_angle": MAX_ANGLE}) if angle else ({},):
            data = mocpack.encode(clip, max_error=BOUND, effort=effort, **extra)
            off = np.abs(mocpack.decode(data).hinge_angles().angles - clip.angles).max()
            row += f"{len(data) / clip.frame_count:8.2f}{len(data) / peer:7.3f}{off:9.4f}"
            counted.append(len(data))
        print(row, flush=True)
        robot = name.split("-")[0]
        totals[robot] = totals.get(robot, np.zeros(len(counted))) + counted
    for robot, total in totals.items():
        print(f"{robot}: {total[2] / total[1]:.3f} of the peer's bytes")
        if angle:
            print(f"{robot}: {total[3] / total[1]:.3f} with a bound on angles")


def efforts(clips: dict[str, mocpack.Clip], _: str) -> None:
    """Print bytes per frame, the largest error of an angle and relative time, for each effort."""
    warnings.simplefilter("ignore", mocpack.errors.HingeWarning)
    parts = []
    for clip in clips.values():
        start = max(0, (clip.frame_count - SPEED_FRAMES) // 2)
        parts.append(clip.frames(start, min(clip.frame_count, start + SPEED_FRAMES)))
    frames = sum(clip.frame_count for clip in parts)
    print(f"{len(parts)} clips, {frames} frames, within {BOUND}, one thread; time over fast alone")
    print(f"{'max angle':>10}{'effort':>9}{'B/frame':>9}{'rad':>9}{'time':>7}", flush=True)
    unit = 0.0
    for angle in (None, "0.02rad", MAX_ANGLE, "0.002rad"):
        for effort in ("fast", "default", "best"):
            began, size, off = time.process_time(), 0, 0.0
            for clip in parts:
                target = {"max_error": BOUND, "max_angle": angle, "effort": effort}
                data = mocpack.encode(clip, "keysine:threads=1", **target)
                size += len(data)
                own = mocpack.decode(data).hinge_angles().angles - clip.angles
                off = max(off, float(np.abs(own).max()))
            seconds = time.process_time() - began
            unit = unit or seconds
            row = f"{angle or 'none':>10}{effort:>9}{size / frames:9.2f}{off:9.4f}"
            print(f"{row}{seconds / unit:7.2f}", flush=True)


def amc(names: list[str], effort: str, other: Path | None) -> None:
    """Print payload bytes of AMC clips with hinges over those without, over another version's."""
    folder = Path(os.environ.get("MOCPACK_DATA", "")) / "asfamc"
    bound = parse_length(BOUND)
    codec = Keysine(max_error=bound, effort=effort)
    print(f"payload bytes of AMC clips within {BOUND}, effort {effort}")
    print(f"{'clip':10}{'frames':>7}{'free':>8}{'hinges':>8}{'ratio':>7}{'other':>8}{'ratio':>7}")
    totals = np.zeros(3)
    for path in sorted(folder.glob("*.amc")):
        if names and path.stem not in names:
            continue
        clip = mocpack.read(path)
        free = replace(clip.header, skeleton=replace(clip.skeleton, hinges=None))
        plain = mocpack.Clip(free, clip.rotations, clip.translations)
        sizes = [len(codec.encode(plain)), len(codec.encode(clip))]
        what = {"kind": "size", "codec": {"max_error": bound, "effort": effort}}
        sizes.append(keysine_versions.run(other, path, 0, what)["size"] if other else 0)
        totals += sizes
        print(f"{path.stem:10}{clip.frame_count:7}" + ratios(*sizes), flush=True)
    print(f"{'all':17}" + ratios(*totals.astype(int)))


def speed(names: list[str], effort: str, other: Path | None) -> None:
    """Print frames per second and payload bytes, and both over the other version's."""
    print(f"encoder on one core, effort {effort}: frames per second, bytes; ratios to the other")
    for bound in ("1mm", "5mm"):
        total = np.zeros((2, 2))  # (other, this), (seconds, bytes)
        for path in sorted((Path(os.environ.get("MOCPACK_DATA", "")) / "robot").glob("*.csv")):
            if names and path.stem not in names:
                continue
            found = [timed(source, path, bound, effort) for source in (other, HERE.parent / "src")]
            total += found
            print(f"{bound:5}{path.stem:28}" + speeds(SPEED_FRAMES, np.array(found)), flush=True)
        print(f"{bound:5}{'all':28}" + speeds(0, total))


def speeds(frames: int, found: np.ndarray) -> str:
    (before, size_before), (seconds, size) = found
    rate = f"{frames / seconds:8.0f}" if frames else " " * 8
    ratio = f"{before / seconds:7.2f}×{size / size_before:7.3f}" if size_before else ""
    return f"{rate}{size:9.0f}{ratio}"


def timed(source: Path | None, path: Path, bound: str, effort: str) -> tuple[float, int]:
    """Return processor seconds and payload bytes of a version; zeros without one."""
    if source is None:
        return 0.0, 0
    [robot] = path.parent.glob(f"{path.stem.split('-')[0]}*.urdf")
    packages = sysconfig.get_paths()["platlib"]
    words = [source, packages, path, robot, bound, effort, SPEED_FRAMES]
    done = subprocess.run(
        [sys.executable, "-S", "-c", SPEED_CHILD, *map(str, words)],
        check=True,
        capture_output=True,
        text=True,
    )
    seconds, size = json.loads(done.stdout)
    return seconds, size


def ratios(free: int, hinged: int, other: int) -> str:
    against = f"{other:8}{hinged / other:7.3f}" if other else ""
    return f"{free:8}{hinged:8}{hinged / max(free, 1):7.3f}" + against


def peer_bytes(clip: mocpack.Clip) -> int:
    """Return the bytes of the peer where its largest displacement is the bound."""
    low, high, bound = 1e-6, 1e-2, parse_length(BOUND)
    for _ in range(16):
        step = float(np.sqrt(low * high))
        kept = measure_error(clip, RoundedXz(step).rounded(clip)).max <= bound
        low, high = (step, high) if kept else (low, step)
    return len(RoundedXz(low).encode(clip))


def mujoco(clips: dict[str, mocpack.Clip], _: str) -> None:
    """Print how far bodies of exported files are from where MuJoCo puts them."""
    import mujoco

    print("exported tracking files against MuJoCo's kinematics: largest distance, largest angle")
    for name, clip in clips.items():
        model = model_of(name)
        for dialect in ("mjlab", "beyondmimic"):
            data = write_bytes(clip, ".npz", dialect)
            with np.load(io.BytesIO(data)) as arrays:
                off, turned = apart(mujoco, model, arrays)
            print(f"{name:28}{dialect:14}{off:10.1e} m{turned:10.1e} rad", flush=True)


def model_of(name: str):
    """Return MuJoCo's model of a robot's URDF, free in the world and without its meshes."""
    import mujoco

    folder = Path(os.environ["MOCPACK_DATA"]) / "robot"
    [path] = folder.glob(f"{name.split('-')[0]}*.urdf")
    text = re.sub(r"<(visual|collision)>.*?</\1>", "", path.read_text(), flags=re.DOTALL)
    root = mocpack.robots.read_robot(path).skeleton.names[0]
    free = (
        '<link name="world"/><joint name="free" type="floating"><parent link="world"/>'
        f'<child link="{root}"/></joint></robot>'
    )
    return mujoco.MjModel.from_xml_string(text.replace("</robot>", free))


def apart(mujoco, model, arrays) -> tuple[float, float]:
    """Return the largest distance and angle between bodies of a file and MuJoCo's, by name."""
    data = mujoco.MjData(model)
    names = [str(name) for name in arrays["joint_names"]]
    places = [int(model.joint(name).qposadr[0]) for name in names]
    bodies = [model.body(str(name)).id for name in arrays["body_names"]]
    found, turns = [], []
    for t in range(len(arrays["joint_pos"])):
        data.qpos[:3], data.qpos[3:7] = arrays["body_pos_w"][t, 0], arrays["body_quat_w"][t, 0]
        data.qpos[places] = arrays["joint_pos"][t]
        mujoco.mj_kinematics(model, data)
        found.append(data.xpos[bodies].copy())
        turns.append(np.roll(data.xquat[bodies], -1, axis=1))
    off = np.linalg.norm(np.array(found) - arrays["body_pos_w"], axis=-1).max()
    own = rotations.normalize(np.roll(arrays["body_quat_w"].astype(float), -1, axis=2))
    return float(off), float(rotations.angle_between(np.array(turns), own).max())


def windows(clips: dict[str, mocpack.Clip], effort: str) -> None:
    """Print random windows per second, ours and LeRobotDataset's, and the bytes of both."""
    print(f"random {SECONDS}-s windows of qpos, one process, {len(clips)} clips, {ROUNDS} rounds")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        motions = packed(clips, effort, folder)
        size = sum(path.stat().st_size for path in folder.glob("*.mocp"))
        for stem, clip in clips.items():
            np.save(folder / f"{stem}.npy", robot_motion(clip).qpos.astype(np.float32))
        found = []
        for _ in range(ROUNDS):  # in turns, so that both meet the same machine
            ours = our_windows(motions)
            print(
                f"  mocpack within {BOUND}   {ours:8.0f} windows/s{size / 1e6:8.2f} MB", flush=True
            )
            if not LEROBOT.exists():
                print("  LeRobotDataset is not installed: make test-lerobot")
                return
            peer = their_windows(folder)
            rate = f"{peer['rate']:8.0f} windows/s{peer['MB']:8.2f} MB"
            print(
                f"  LeRobotDataset {peer['version']:6}{rate}, {ours / peer['rate']:.1f} ×",
                flush=True,
            )
            found.append(ours / peer["rate"])
    print(f"  {sorted(found)[len(found) // 2]:.1f} times as many in the median")


def their_windows(folder: Path) -> dict:
    words = [str(LEROBOT), str(HERE / "lerobot_windows.py"), str(folder), str(FPS), str(WINDOWS)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def packed(clips: dict[str, mocpack.Clip], effort: str, folder: Path) -> list[mocpack.Motion]:
    """Return the clips that have a window, packed into files that are open."""
    warnings.simplefilter("ignore", mocpack.errors.HingeWarning)
    motions = []
    for name, clip in clips.items():
        if clip.frame_count < SECONDS * FPS:
            continue
        path = folder / f"{name}.mocp"
        path.write_bytes(mocpack.encode(clip, max_error=BOUND, effort=effort))
        motions.append(mocpack.open(path))
    return motions


def our_windows(motions: list[mocpack.Motion]) -> float:
    """Return windows per second."""
    rng = np.random.default_rng(0)
    length = SECONDS * FPS
    readers = [QposWindows(motion) for motion in motions]
    chosen = [readers[k] for k in rng.integers(len(readers), size=WINDOWS)]
    picks = [(own, int(rng.integers(own.motion.frame_count - length))) for own in chosen]
    for windows, start in picks[:10]:
        windows.read(start, start + length)
    began = time.process_time()
    for windows, start in picks:
        assert len(windows.read(start, start + length)) == length
    return WINDOWS / (time.process_time() - began)


PARTS = {
    "sizes": sizes,
    "efforts": efforts,
    "speed": speed,
    "amc": amc,
    "mujoco": mujoco,
    "windows": windows,
}

if __name__ == "__main__":
    main()
