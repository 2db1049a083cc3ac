"""Figures 7 to 9 and tables 1 to 4, 6 of Li, Okuda and Takahashi (2008), beside the printed ones.

The walk is the paper's own (CMU 16_32). Its other three clips are not public; in their place stand
motions of the same kind at the same frame rate: CMU 05_02 (a pirouette, every fifth frame), CMU
124_01 (a baseball pitch, every fourth) and a kick of Bandai Namco's.

Two rates, both empirical entropies in bits a frame and turning joint. H is the paper's, "the
summation of the entropies of the three angles": places of ends and of the root are not counted,
and ends have a step of their own, which is swept by itself. "All" counts every integer; real bits
stand beside it. "IKBP as printed" is the paper's method, "IKBP, ours" what `ik-predict` makes of
it. Lengths are printed in centimetres (the paper's unit is not known), angles in degrees.
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
from mocpack.arrays import F64
from mocpack.bench.datasets import describe_missing, find_clips_of
from mocpack.bench.papers.empirical import column_entropy
from mocpack.bench.papers.verdicts import verdict
from mocpack.bench.report.figures import new_figure
from mocpack.bench.report.markdown import markdown_table
from mocpack.bench.runner.run import describe_machine
from mocpack.bench.runner.timing import fastest
from mocpack.clip import Clip
from mocpack.codecs.kinematic.bodies import Still, find_bodies, find_still
from mocpack.codecs.kinematic.direction_twist import choose_frame, to_angles
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


class CountingCodec(Protocol):
    """A codec that can show the integers it codes."""

    def encode(self, clip: Any) -> bytes: ...
    def decode(self, payload: bytes, header: Any) -> Any: ...
    def symbols(self, clip: Clip) -> npt.NDArray[np.int64]: ...
    def angle_columns(self, clip: Clip) -> npt.NDArray[np.bool_]: ...


Make = Callable[[float], CountingCodec]

AS_PRINTED = IkPredict(memory=0.0, rounding=0.5, compensate=False, extrapolate=False)
# how much finer than bones' directions ends are: they are not counted in the paper's rate
END_STEPS = (1.0, 4.0, 16.0, 64.0)
METHODS: dict[str, tuple[Make, F64]] = {
    "IKBP, ours": (lambda q: IkPredict(step=q), np.geomspace(1e-5, 0.3, 14)),
    "IKBP as printed": (lambda q: replace(AS_PRINTED, step=q), np.geomspace(1e-5, 0.3, 14)),
    "SPBLF": (lambda q: LastFrame(step=q), np.geomspace(1e-5, 1.0, 14)),
    "SPBLF open": (lambda q: LastFrame(step=q, open_loop=True), np.geomspace(1e-5, 1.0, 14)),
    "FKBC": (lambda q: FkWavelet(step=q, first_layer=1.0), np.geomspace(1e-6, 2.0, 14)),
    "IBKF": (lambda q: Keyframe(error=q), np.geomspace(1e-5, 1.0, 14)),
    "DWT": (lambda q: Dwt97(step=q), np.geomspace(1e-5, 5.0, 14)),
}
ROW_OF = {"IKBP": "IKBP as printed"}  # the paper's name of a method, where ours is another
RATES = {"angles": "H, the paper's rate", "entropy": "every integer counted"}
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
COMPARED = ("IKBP as printed", "SPBLF", "FKBC", "IBKF", "DWT")
VISIBLE = 1.12  # H above which the paper sees no difference in the walk
SATURATED = (
    "The paper's angles hardly change with the rate: its shoulder column stands at the same value "
    "for every method and rate, a clamp and not a measurement; ours fall to zero.\n"
)
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
    """One codec at one setting.

    Attributes
    ----------
    angles, entropy, bits : float
        Entropy of the angles alone and of every integer, and real bits, a frame and turning joint.
    position, angle : arrays, shape (J,)
        Errors by joint, in metres; in radians, of Euler angles.
    converted : array, shape (B,)
        Errors by turning joint of the paper's own angles φ, ϕ, ψ, in radians.
    """

    angles: float
    entropy: float
    bits: float
    position: F64
    angle: F64
    converted: F64


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
    for name, clip in clips.items():
        poses(clip, curves[name]["IKBP as printed"]).savefig(out / f"paper_004_figure_9_{name}.svg")
    page = [_head(clips), *(_orders(curves, rate) for rate in RATES), _winners(curves)]
    page += [_table(number, curves, clips) for number, name in TABLES.items() if name in clips]
    page += [_angles_table(curves), _cut_files(clips)]
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
    """Measure a method along its knob, from fine to coarse; as printed, with every step of ends."""
    make, knob = METHODS[method]
    if method != "IKBP as printed":
        return [measure(clip, make(float(q))) for q in knob]
    return [measure(clip, codec) for codec in printed_codecs()]


def printed_codecs() -> list[IkPredict]:
    """Return the paper's method with each step of directions and each finer one of ends."""
    return [
        replace(AS_PRINTED, step=float(q) / ends, joint_scale=ends)
        for ends in END_STEPS
        for q in METHODS["IKBP as printed"][1]
        if q / ends >= 1e-6
    ]


def measure(clip: Clip, codec: CountingCodec) -> Point:
    """Measure one codec on one clip, by its real payload and by the entropy of its integers."""
    payload = codec.encode(clip)
    symbols = codec.symbols(clip)
    back = codec.decode(payload, clip.header)
    both = SkeletonPair(clip, back)
    samples = clip.frame_count * len(find_bodies(clip.header, find_still(clip)))
    by_column = column_entropy(symbols) * len(symbols) / samples
    return Point(
        float(by_column[codec.angle_columns(clip)].sum()),
        float(by_column.sum()),
        8 * len(payload) / samples,
        distances(*both.points).mean(axis=0),
        _angle_errors(both),
        converted_errors(clip, back),
    )


def converted_errors(clip: Clip, back: Clip) -> F64:
    """Return E_angle, equation (27), over φ, ϕ and ψ of each turning joint (B,), in radians.

    The pole of each joint is one that it stays away from; the paper's is z.
    """
    bodies = find_bodies(clip.header, find_still(clip))
    worlds = bodies.world(clip)[1], bodies.world(back)[1]
    frame = choose_frame(worlds[0], bodies.axes)
    apart = np.subtract(*(to_angles(world, frame) for world in worlds))
    apart = apart - 2 * np.pi * np.round(apart / (2 * np.pi))
    return np.asarray(np.linalg.norm(apart, axis=-1).mean(axis=0))


def _angle_errors(both: SkeletonPair) -> F64:
    """Return the error of Euler angles of each joint (J,), in radians."""
    dofs = both.dofs
    assert dofs is not None
    errors, start = [], 0
    for channels in both.skeleton.channels:
        columns = [start + k for k in rotation_order(channels)[1]]
        errors.append(distances(dofs[0][:, columns], dofs[1][:, columns]).mean())
        start += len(channels)
    return np.array(errors)


def at_rate(points: list[Point], at: float, value: str, rate: str = "angles") -> F64 | None:
    """Return errors by joint at a rate, between the two settings around it; None outside.

    Of settings that others beat in both rate and mean error, none counts.
    """
    best = _front(points, value, rate)
    rates = [getattr(p, rate) for p in best]
    if not rates[0] <= at <= rates[-1]:
        return None
    upper = min(max(1, int(np.searchsorted(rates, at))), len(rates) - 1)
    low, high = best[upper - 1], best[upper]
    t = (at - rates[upper - 1]) / max(rates[upper] - rates[upper - 1], 1e-12)
    a, b = (np.maximum(getattr(p, value), 1e-12) for p in (low, high))
    between: F64 = np.exp((1 - t) * np.log(a) + t * np.log(b))
    return between


def _front(points: list[Point], value: str, rate: str) -> list[Point]:
    front: list[Point] = []
    for point in sorted(points, key=lambda p: (getattr(p, rate), getattr(p, value).mean())):
        if not front or getattr(point, value).mean() < getattr(front[-1], value).mean():
            front.append(point)
    return front


def write_curves(curves: dict[str, dict[str, list[Point]]], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        heading = ["motion", "method", "h_angles", "entropy", "bits", "e_position_cm"]
        writer.writerow([*heading, "e_angle_deg", "e_converted_deg"])
        for motion, methods in curves.items():
            for method, points in methods.items():
                for p in points:
                    turned = np.degrees([p.angle.mean(), p.converted.mean()])
                    row = [p.angles, p.entropy, p.bits, 100 * p.position.mean(), *turned]
                    writer.writerow([motion, method, *(f"{x:.6g}" for x in row)])


def plot(curves: dict[str, dict[str, list[Point]]], value: str, label: str) -> Figure:
    """Return the four rate-distortion panels of a figure."""
    figure = new_figure(10, 8)
    scale = 100 if value == "position" else np.degrees(1)
    for k, (motion, methods) in enumerate(curves.items()):
        axes = figure.add_subplot(2, 2, k + 1)
        for method, points in methods.items():
            shown = [p for p in _front(points, value, "angles") if p.angles <= 8]
            errors = [scale * getattr(p, value).mean() for p in shown]
            axes.plot([p.angles for p in shown], errors, ".-", markersize=3, label=method)
        axes.set(title=motion, xlabel="H: entropy of angles, bits a frame and joint", ylabel=label)
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


def poses(clip: Clip, points: list[Point]) -> Figure:
    """Return figure 9: the clip and its decoding by IKBP at about the paper's visible limit."""
    near = min(points, key=lambda p: abs(p.angles - VISIBLE))
    codec = printed_codecs()[[id(p) for p in points].index(id(near))]
    back = codec.decode(codec.encode(clip), clip.header)
    figure = new_figure(11, 4.5)
    frames = np.linspace(0, clip.frame_count - 1, 8).astype(int)
    for row, (title, motion) in enumerate((("original", clip), ("decoded", back))):
        axes = figure.add_subplot(2, 1, row + 1)
        places = motion.positions()[frames]
        places = places - places[:, :1] * [1, 0, 1]
        for k, pose in enumerate(places):
            for j, parent in enumerate(clip.skeleton.parents):
                if parent >= 0:
                    ends = pose[[parent, j]]
                    axes.plot(ends[:, 0] + 1.2 * k, ends[:, 1], color="#2563a8", linewidth=1.5)
        axes.set(aspect="equal", title=f"{title}, H {near.angles:.2f}" if row else title)
        axes.axis("off")
    return figure


def _orders(curves: dict[str, dict[str, list[Point]]], rate: str) -> str:
    """Return mean position errors at a few rates: which method leads where."""
    rows = []
    for motion, methods in curves.items():
        for at in (0.5, 0.7, 1.4, 2.2, 3.0, 4.1, 6.0):
            cells = [_cell(at_rate(methods[m], at, "position", rate), 100) for m in METHODS]
            rows.append([motion, at, *cells])
    title = f"## Figure 7 in numbers: E_position in cm, {RATES[rate]}"
    return "\n".join([title, "", markdown_table(["motion", "rate", *METHODS], rows), ""])


def _winners(curves: dict[str, dict[str, list[Point]]]) -> str:
    """Return which of the paper's methods leads by each way to count, and what the paper says."""
    rows = []
    for motion, methods in curves.items():
        for rate, title in RATES.items():
            leads = []
            for at in (0.7, 1.4, 2.2, 3.0, 4.1):
                found = {m: at_rate(methods[m], at, "position", rate) for m in COMPARED}
                means = {m: float(e.mean()) for m, e in found.items() if e is not None}
                leads.append(min(means, key=means.__getitem__) if means else "–")
            won = leads.count("IKBP as printed")
            said = (
                "same" if won == len(leads) else f"different: IKBP leads at {won} of {len(leads)}"
            )
            rows.append([motion, title, *leads, said])
    head = ["motion", "rate", "0.7", "1.4", "2.2", "3.0", "4.1", "verdict (paper: IKBP everywhere)"]
    title = "## Who leads at a rate, of the paper's methods"
    return "\n".join([title, "", markdown_table(head, rows), ""])


def _angles_table(curves: dict[str, dict[str, list[Point]]]) -> str:
    """Return both angle errors of the paper's own two methods: Euler, and of equation (27)."""
    rows = []
    for motion, methods in curves.items():
        for at in (0.7, 1.4, 2.2, 3.0, 4.1):
            cells = [
                _cell(at_rate(methods[m], at, value), np.degrees(1))
                for m in ("IKBP as printed", "IKBP, ours", "FKBC")
                for value in ("angle", "converted")
            ]
            rows.append([motion, at, *cells])
    head = ["motion", "H"]
    head += [f"{m}, {v}" for m in ("printed", "ours", "FKBC") for v in ("Euler", "φ ϕ ψ")]
    title = "## E_angle in degrees: of Euler angles, and of φ, ϕ, ψ as in equation (27)"
    return "\n".join([title, "", markdown_table(head, rows), ""])


def _cut_files(clips: dict[str, Clip]) -> str:
    """Return how a cut file of `fk-wavelet` compares with one coded at that size."""
    rows = []
    for name, clip in clips.items():
        codec = FkWavelet()
        payload = codec.encode(clip)
        direct = [
            _size_and_error(clip, FkWavelet(step=float(q), first_layer=1.0))
            for q in np.geomspace(0.0015, 0.3, 14)
        ]
        sizes, errors = np.log(np.array(direct[::-1])).T
        cells: list[object] = [name, len(payload), len(codec_single(codec).encode(clip))]
        for share in (0.15, 0.3, 0.5):
            size = int(share * len(payload))
            cut = _mean_error(clip, codec.decode_partial(payload[:size], clip.header))
            whole = float(np.exp(np.interp(np.log(size), sizes, errors)))
            cells += [f"{1000 * cut:.2f}", f"{1000 * whole:.2f}", f"{cut / whole:.2f}"]
        rows.append(cells)
    head = ["motion", "bytes:", "one layer:"]
    head += [
        f"{c} {s} %:" for s in (15, 30, 50) for c in ("cut, mm at", "direct, mm at", "ratio at")
    ]
    return "\n".join(["## Cut files of `fk-wavelet`", "", markdown_table(head, rows), ""])


def codec_single(codec: FkWavelet) -> FkWavelet:
    """Return the codec without layers."""
    return replace(codec, first_layer=1.0)


def _size_and_error(clip: Clip, codec: FkWavelet) -> tuple[int, float]:
    payload = codec.encode(clip)
    return len(payload), _mean_error(clip, codec.decode(payload, clip.header))


def _mean_error(clip: Clip, back: Clip) -> float:
    return float(np.linalg.norm(clip.positions() - back.positions(), axis=-1).mean())


def _cell(errors: F64 | None, scale: float) -> str:
    return "–" if errors is None else f"{scale * errors.mean():.3g}"


def _table(number: int, curves: dict[str, dict[str, list[Point]]], clips: dict[str, Clip]) -> str:
    """Return one of tables 1 to 4: the left arm's joints, ours beside the paper's."""
    motion, value = ("walk", "ballet")[number > 2], ("angle", "position")[number % 2]
    scale, unit = (100.0, "cm") if value == "position" else (np.degrees(1.0), "degrees")
    names = CHAIN if motion == "walk" else CHAIN[1:]
    joints = [clips[motion].skeleton.index(name) for name in names]
    title = f"## Table {number}: {value} error of the left arm, {motion}, {unit}"
    rows = []
    for row in _printed(number):
        entropy = float(row["entropy"])
        method = ROW_OF.get(row["method"], row["method"])
        found = at_rate(curves[motion][method], entropy, value)
        ours = ["–"] * len(joints) if found is None else [f"{scale * found[j]:.3g}" for j in joints]
        theirs = [row[f"joint_{k + 1}"].replace("inf", ">100") for k in range(len(joints))]
        pairs = [cell for pair in zip(ours, theirs, strict=True) for cell in pair]
        mean = None if found is None else float(scale * found[joints].mean())
        rows.append([method, f"{entropy:.2f}", *pairs, _verdict(number, mean, row, len(joints))])
        if method != row["method"]:
            better = at_rate(curves[motion]["IKBP, ours"], entropy, value)
            cells = [] if better is None else [f"{scale * better[j]:.3g}" for j in joints]
            rest = [cell for own in cells or ["–"] * len(joints) for cell in (own, "")]
            rows.append(["IKBP, ours", f"{entropy:.2f}", *rest, "our improved method"])
    heading = ["method", "H", *(cell for name in names for cell in (name, "paper")), "verdict"]
    note = SATURATED if value == "angle" else ""
    table = markdown_table(heading, rows)
    return "\n".join([f"{title} (paper's in its unit)", "", note, table, ""])


def _verdict(number: int, mean: float | None, row: dict[str, str], joints: int) -> str:
    printed = [float(row[f"joint_{k + 1}"]) for k in range(joints)]
    if number % 2 == 0:
        return "different: the printed angles are a clamp"
    if not np.isfinite(printed).all():
        return "same: worse than the scale" if mean and mean > 10 else "better"
    why = "another clip" if number > 2 else "unit and steps are not named"
    return verdict(mean, float(np.mean(printed)), within=0.3, why=why)


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
