"""Figures 7, 8 and tables 1 to 4, 6 of Li, Okuda and Takahashi (2008), beside the printed figures.

The walk is the paper's own (CMU 16_32). Its other three clips are not public; in their place stand
motions of the same kind at the same frame rate: CMU 05_02 (a pirouette, every fifth frame), CMU
124_01 (a baseball pitch, every fourth) and a kick of Bandai Namco's.

Rate is the paper's: the empirical entropy of the integers, in bits a frame and turning joint;
real bytes stand beside it. The paper's order of methods comes out with three levels of the wavelet
and with the key frames' entropy counted by the key; both readings stand beside ours. Lengths are
printed in centimetres (the paper's unit is not known), angles in degrees.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from mocpack import _api, live
from mocpack.bench.datasets import describe_missing, find_clips_of
from mocpack.bench.papers.empirical import column_entropy
from mocpack.bench.report.figures import new_figure
from mocpack.bench.report.markdown import markdown_table
from mocpack.bench.runner.run import describe_machine
from mocpack.bench.runner.timing import fastest
from mocpack.clip import Clip
from mocpack.codecs.kinematic.bodies import Still, find_bodies, find_still
from mocpack.codecs.kinematic.dwt97 import Dwt97
from mocpack.codecs.kinematic.fk_wavelet import FkWavelet
from mocpack.codecs.kinematic.ik_predict import IkPredict
from mocpack.codecs.kinematic.keyframe import Keyframe
from mocpack.codecs.kinematic.last_frame import LastFrame
from mocpack.metrics.pair import SkeletonPair
from mocpack.metrics.position import distances
from mocpack.skeleton import rotation_order

if TYPE_CHECKING:
    from matplotlib.figure import Figure

F64 = npt.NDArray[np.float64]


class CountingCodec(Protocol):
    """A codec that can show the integers it codes."""

    def encode(self, clip: Any) -> bytes: ...
    def decode(self, payload: bytes, header: Any) -> Any: ...
    def symbols(self, clip: Clip) -> npt.NDArray[np.int64]: ...


Make = Callable[[float], CountingCodec]

AS_PRINTED = IkPredict(memory=0.0, rounding=0.5, compensate=False, extrapolate=False)
METHODS: dict[str, tuple[Make, F64]] = {
    "IKBP": (lambda q: IkPredict(step=q), np.geomspace(1e-5, 0.3, 18)),
    "IKBP as printed": (lambda q: replace(AS_PRINTED, step=q), np.geomspace(1e-5, 0.3, 18)),
    "SPBLF": (lambda q: LastFrame(step=q), np.geomspace(1e-5, 1.0, 18)),
    "SPBLF open": (lambda q: LastFrame(step=q, open_loop=True), np.geomspace(1e-5, 1.0, 18)),
    "FKBC": (lambda q: FkWavelet(step=q), np.geomspace(1e-6, 2.0, 18)),
    "FKBC 3 levels": (lambda q: FkWavelet(step=q, levels=3), np.geomspace(1e-6, 10.0, 18)),
    "IBKF": (lambda q: Keyframe(error=q), np.geomspace(1e-5, 1.0, 18)),
    "IBKF a key": (lambda q: Keyframe(error=q), np.geomspace(1e-4, 1.0, 18)),
    "DWT": (lambda q: Dwt97(step=q), np.geomspace(1e-5, 5.0, 18)),
    "DWT 3 levels": (lambda q: Dwt97(step=q, levels=3), np.geomspace(1e-5, 10.0, 18)),
}
LIKE_THE_PAPER = {  # the readings that give the paper's order of methods
    "IKBP": "IKBP",
    "SPBLF": "SPBLF",
    "FKBC": "FKBC 3 levels",
    "IBKF": "IBKF a key",
    "DWT": "DWT 3 levels",
}
VARIANTS = {
    "default": IkPredict(),
    "k = 0": IkPredict(k=0.0),
    "k = 2": IkPredict(k=2.0),
    "memory 0": IkPredict(memory=0.0),
    "nearest rounding": IkPredict(rounding=0.5),
    "bones not aimed": IkPredict(compensate=False),
    "ends not extrapolated, as in the paper": IkPredict(extrapolate=False),
    "no chains": IkPredict(chains="none", joint_scale=1.0),
    "all as printed": AS_PRINTED,
    "all as printed, k = 0": replace(AS_PRINTED, k=0.0),
    "all as printed, k = 2": replace(AS_PRINTED, k=2.0),
    "no twist": IkPredict(twist=False),
    "intra frame each half second": IkPredict(intra=60),
}
PAPER_MILLISECONDS = {
    "IKBP": (1.26, 1.32),
    "SPBLF": (0.96, 1.09),
    "FKBC": (1.12, 1.20),
    "IBKF": (1.08, 1.20),
    "DWT": (1.12, 1.15),
}
TABLES = {1: "walk", 2: "walk", 3: "ballet", 4: "ballet"}  # by number, the motion of each
CHAIN = ("LeftShoulder", "LeftArm", "LeftForeArm", "LeftHand")


@dataclass(frozen=True)
class Motion:
    """A clip: its name in the paper, our clip's, and which frames of it."""

    name: str
    clip: str
    start: int = 0
    stride: int = 1


MOTIONS = (
    Motion("walk", "cmu/16_32", 1),
    Motion("ballet", "cmu/05_02", 1, 5),
    Motion("throw", "cmu/124_01", 1, 4),
    Motion("kick", "bandai/dataset-1_kick_normal_001"),
)


@dataclass(frozen=True, eq=False)
class Point:
    """One codec at one setting: bits a frame and turning joint, errors by joint (m, radians)."""

    entropy: float
    bits: float
    position: F64
    angle: F64


def reproduce(data: Path | None, out: Path) -> None:
    """Print tables and times of the paper; write them, curves and pictures to `out`."""
    found = find_clips_of([motion.clip for motion in MOTIONS], data)
    out.mkdir(parents=True, exist_ok=True)
    clips = {m.name: load(found[m.clip], m) for m in MOTIONS if m.clip in found}
    curves = {
        name: {method: sweep(clip, method) for method in METHODS} for name, clip in clips.items()
    }
    write_curves(curves, out / "paper_004_curves.csv")
    for figure, value, label in (
        ("figure_7", "position", "E_position, cm"),
        ("figure_8", "angle", "E_angle, degrees"),
    ):
        plot(curves, value, label).savefig(out / f"paper_004_{figure}.svg")
    page = [_head(clips), _orders(curves)]
    page += [_table(number, curves, clips) for number, name in TABLES.items() if name in clips]
    page += [*([_times(clips["walk"])] if "walk" in clips else []), _variants(clips)]
    text = "\n".join(page)
    print(text)
    (out / "paper_004.md").write_text(text, encoding="utf-8")


def load(path: Path, motion: Motion) -> Clip:
    """Read a motion at the paper's frame rate."""
    clip = _api.read(path)
    assert isinstance(clip, Clip)
    frames = slice(motion.start, None, motion.stride)
    return Clip.build(
        clip.skeleton,
        clip.rotations[frames],
        clip.translations[frames],
        frame_time=clip.frame_time * motion.stride,
        translated_joints=clip.translated_joints,
        unit=clip.unit,
    )


def sweep(clip: Clip, method: str) -> list[Point]:
    """Measure a method along its knob, from fine to coarse."""
    make, knob = METHODS[method]
    return [measure(clip, make(float(q)), per_key="key" in method) for q in knob]


def measure(clip: Clip, codec: CountingCodec, *, per_key: bool = False) -> Point:
    """Measure one codec on one clip, by its real payload and by the entropy of its integers.

    With `per_key`, entropy is that of one coded row, however few of them there are.
    """
    payload = codec.encode(clip)
    symbols = codec.symbols(clip)
    joints = len(find_bodies(clip.header, find_still(clip)))
    both = SkeletonPair(clip, codec.decode(payload, clip.header))
    samples = clip.frame_count * joints
    rows = clip.frame_count if per_key else len(symbols)
    return Point(
        float(column_entropy(symbols).sum()) * rows / samples,
        8 * len(payload) / samples,
        distances(*both.points).mean(axis=0),
        _angle_errors(both),
    )


def _angle_errors(both: SkeletonPair) -> F64:
    """Return the paper's E_angle of each joint (J,), equation (27), in radians."""
    dofs = both.dofs
    assert dofs is not None
    errors, start = [], 0
    for channels in both.skeleton.channels:
        columns = [start + k for k in rotation_order(channels)[1]]
        errors.append(distances(dofs[0][:, columns], dofs[1][:, columns]).mean())
        start += len(channels)
    return np.array(errors)


def at_entropy(points: list[Point], entropy: float, value: str) -> F64 | None:
    """Return errors by joint at that entropy, between the two settings around it; None outside."""
    ordered = sorted(points, key=lambda p: p.entropy)
    rates = [p.entropy for p in ordered]
    if not rates[0] <= entropy <= rates[-1]:
        return None
    upper = max(1, int(np.searchsorted(rates, entropy)))
    low, high = ordered[upper - 1], ordered[upper]
    t = (entropy - low.entropy) / max(high.entropy - low.entropy, 1e-12)
    a, b = (np.maximum(getattr(p, value), 1e-12) for p in (low, high))
    between: F64 = np.exp((1 - t) * np.log(a) + t * np.log(b))
    return between


def write_curves(curves: dict[str, dict[str, list[Point]]], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["motion", "method", "entropy", "bits", "e_position_cm", "e_angle_deg"])
        for motion, methods in curves.items():
            for method, points in methods.items():
                for p in points:
                    errors = 100 * p.position.mean(), np.degrees(p.angle.mean())
                    row = [p.entropy, p.bits, *errors]
                    writer.writerow([motion, method, *(f"{x:.6g}" for x in row)])


def plot(curves: dict[str, dict[str, list[Point]]], value: str, label: str) -> Figure:
    """Return the four rate-distortion panels of a figure."""
    figure = new_figure(10, 8)
    scale = 100 if value == "position" else np.degrees(1)
    for k, (motion, methods) in enumerate(curves.items()):
        axes = figure.add_subplot(2, 2, k + 1)
        for method, points in methods.items():
            shown = [p for p in points if p.entropy <= 8]
            errors = [scale * getattr(p, value).mean() for p in shown]
            axes.plot([p.entropy for p in shown], errors, ".-", markersize=3, label=method)
        axes.set(title=motion, xlabel="entropy, bits a frame and joint", ylabel=label)
        axes.set(yscale="log")
        axes.grid(alpha=0.3)
    figure.axes[0].legend(fontsize=8)
    return figure


def _head(clips: dict[str, Clip]) -> str:
    machine = "; ".join(f"{k} {v}" for k, v in describe_machine().items())
    lines = ["# Li, Okuda, Takahashi 2008, made again", "", machine, ""]
    for motion in MOTIONS:
        clip = clips.get(motion.name)
        if clip is None:
            lines.append(f"- {motion.name}: left out, {describe_missing(motion.clip)}")
            continue
        rate = f"{clip.frame_count} frames at {clip.frame_rate:.0f} Hz"
        lines.append(f"- {motion.name}: `{motion.clip}`, {rate}, {len(clip.skeleton)} joints")
    return "\n".join([*lines, ""])


def _orders(curves: dict[str, dict[str, list[Point]]]) -> str:
    """Return mean position errors at a few rates: which method leads where."""
    rows = []
    for motion, methods in curves.items():
        for entropy in (0.5, 0.7, 1.4, 2.2, 3.0, 4.1, 6.0):
            cells = [_cell(at_entropy(methods[m], entropy, "position"), 100) for m in METHODS]
            rows.append([motion, entropy, *cells])
    title = "## Figure 7 in numbers: E_position in cm at an entropy"
    return "\n".join([title, "", markdown_table(["motion", "H", *METHODS], rows), ""])


def _cell(errors: F64 | None, scale: float) -> str:
    return "–" if errors is None else f"{scale * errors.mean():.3g}"


def _table(number: int, curves: dict[str, dict[str, list[Point]]], clips: dict[str, Clip]) -> str:
    """Return one of tables 1 to 4: the left arm's joints, ours beside the paper's."""
    motion, value = TABLES[number], ("angle", "position")[number % 2]
    scale, unit = (100.0, "cm") if value == "position" else (np.degrees(1.0), "degrees")
    names = CHAIN if motion == "walk" else CHAIN[1:]
    joints = [clips[motion].skeleton.index(name) for name in names]
    title = f"## Table {number}: {value} error of the left arm, {motion}, {unit}"
    rows = []
    for row in _printed(number):
        entropy = float(row["entropy"])
        found = at_entropy(curves[motion][LIKE_THE_PAPER[row["method"]]], entropy, value)
        ours = ["–"] * len(joints) if found is None else [f"{scale * found[j]:.3g}" for j in joints]
        theirs = [row[f"joint_{k + 1}"].replace("inf", ">100") for k in range(len(joints))]
        pairs = [cell for pair in zip(ours, theirs, strict=True) for cell in pair]
        rows.append([row["method"], f"{entropy:.2f}", *pairs])
    heading = ["method", "H", *(cell for name in names for cell in (name, "paper"))]
    return "\n".join([f"{title} (paper's in its unit)", "", markdown_table(heading, rows), ""])


def _printed(number: int) -> list[dict[str, str]]:
    text = files("mocpack.bench.papers").joinpath("li.csv").read_text(encoding="utf-8")
    return [row for row in csv.DictReader(text.splitlines()) if row["table"] == str(number)]


def _times(clip: Clip) -> str:
    """Return table 6: microseconds a frame, encoding and decoding."""
    title = (
        "## Table 6: microseconds of processor time a frame of the walk (paper: a 3 GHz Pentium 4)"
    )
    rows = []
    codecs = {"IKBP": IkPredict(), "SPBLF": LastFrame(), "FKBC": FkWavelet()}
    for name, codec in (codecs | {"IBKF": Keyframe(), "DWT": Dwt97()}).items():
        payload = codec.encode(clip)
        times = (
            fastest(lambda: codec.encode(clip), 7) / clip.frame_count,  # noqa: B023
            fastest(lambda: codec.decode(payload, clip.header), 7) / clip.frame_count,  # noqa: B023
        )
        rows.append(_time_row(name, times))
    rows.append(_time_row("IKBP, live", live_times(clip)))
    heading = ["method", "encode", "paper", "decode", "paper"]
    return "\n".join([title, "", markdown_table(heading, rows), ""])


def _time_row(name: str, seconds: tuple[float, float]) -> list[str]:
    paper = PAPER_MILLISECONDS[name.partition(",")[0]]
    pairs = zip(seconds, paper, strict=True)
    return [name, *(cell for t, p in pairs for cell in (f"{1e6 * t:.1f}", f"{1000 * p:.0f}"))]


def live_times(clip: Clip, *, still: Still | None = None, burst: int = 20) -> tuple[float, float]:
    """Return the best seconds a frame of `mocpack.live`, over bursts of a few frames."""
    encoder = live.Encoder(clip.header, IkPredict(), still=still)
    decoder = live.Decoder(clip.header, IkPredict(), still=still)
    times = []
    for start in range(0, clip.frame_count - burst, burst):
        frames = [(clip.rotations[t], clip.translations[t]) for t in range(start, start + burst)]
        began = time.process_time()
        packets = [encoder.encode(*frame) for frame in frames]
        middle = time.process_time()
        for packet in packets:
            decoder.decode(packet)
        times.append((middle - began, time.process_time() - middle))
    best = np.min(times, axis=0) / burst
    return float(best[0]), float(best[1])


def _variants(clips: dict[str, Clip]) -> str:
    """Return what each choice in `ik-predict` is worth."""
    title = "## Choices in `ik-predict`, step 1 mm: real bits a frame and joint, E_position in mm"
    rows = []
    for label, codec in VARIANTS.items():
        points = [measure(clip, codec) for clip in clips.values()]
        pairs = [(f"{p.bits:.2f}", f"{1000 * p.position.mean():.2f}") for p in points]
        rows.append([label, *(cell for pair in pairs for cell in pair)])
    heading = ["", *(cell for name in clips for cell in (f"{name} bits", "mm"))]
    return "\n".join([title, "", markdown_table(heading, rows), ""])


if __name__ == "__main__":
    reproduce(None, Path("report"))
