"""Figures 7 to 9 and tables 1 to 6 of Li, Okuda and Takahashi (2008), beside the printed ones."""

from __future__ import annotations

import csv
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mocpack.arrays import F64
from mocpack.bench.datasets import describe_missing, find_clips_of
from mocpack.bench.papers.verdicts import write_results
from mocpack.bench.report.figures import new_figure
from mocpack.bench.report.markdown import markdown_table
from mocpack.bench.runner.run import describe_machine
from mocpack.bench.runner.timing import fastest
from mocpack.clip import Clip
from mocpack.papers.li.codec.bodies import unknown_still
from mocpack.papers.li.codec.dwt97 import Dwt97
from mocpack.papers.li.codec.fk_wavelet import FkWavelet
from mocpack.papers.li.codec.ik_predict import IkPredict
from mocpack.papers.li.codec.keyframe import Keyframe
from mocpack.papers.li.codec.last_frame import LastFrame
from mocpack.papers.li.tables.curves import (
    AS_PRINTED,
    METHODS,
    MOTIONS,
    Curves,
    Point,
    at_rate,
    front,
    ikbp_codecs,
    load,
    measure,
    sweep_all,
)
from mocpack.papers.li.tables.lines import (
    LEADS_AT,
    MILLISECONDS,
    TABLES,
    VISIBLE,
    Extras,
    arm_rows,
    chain_of,
    leaders,
    paper_lines,
    paper_timings,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
CUT_AT = (0.15, 0.3, 0.5)  # of a file
PAGE_NOTES = (
    "Clips: the walk is the paper's (CMU 16_32). The others are not public; CMU 05_02 (every fifth "
    "frame), CMU 124_01 (every fourth) and a Bandai Namco kick stand in.",
    "H is the paper's rate: the entropy of the three angles alone, bits per frame and turning "
    "joint. Chain ends and root are not counted, so their step is swept.",
    "As printed: `ik-predict` with `memory=0, rounding=0.5, compensate=false, extrapolate=false`. "
    "Ours now: its defaults. The paper names no unit: we print cm and degrees, means over the arm.",
)


def reproduce(data: Path | None, out: Path) -> None:
    """Print the paper's tables beside ours, and write them, curves and pictures to `out`."""
    found = find_clips_of([motion.clip for motion in MOTIONS], data)
    out.mkdir(parents=True, exist_ok=True)
    clips = {m.name: load(found[m.clip], m) for m in MOTIONS if m.clip in found}
    curves = sweep_all(clips)
    write_curves(curves, out / "paper_004_curves.csv")
    for figure, value, label in (
        ("figure_7", "position", "E_position, cm"),
        ("figure_8", "angle", "E_angle, degrees"),
    ):
        plot(curves, value, label).savefig(out / f"paper_004_{figure}.svg")
    for name, clip in clips.items():
        poses(clip, curves[name]["IKBP as printed"]).savefig(out / f"paper_004_figure_9_{name}.svg")
    _tell("choices of k and of prediction")
    variants = {label: _measure_variant(codec, clips) for label, codec in VARIANTS.items()}
    _tell("cut files")
    cut = {name: cut_errors(clip) for name, clip in clips.items()}
    _tell("times")
    times = frame_times(clips["walk"]) if "walk" in clips else {}
    page = [_head(clips), *(_orders(curves, rate) for rate in RATES), _winners(curves)]
    page += [_table(number, curves, clips) for number, name in TABLES.items() if name in clips]
    page += [_angles_table(curves), _cut_table(cut)]
    page += [*([_times(times, clips["walk"])] if times else []), _variants_table(variants)]
    extras = Extras(_bits_by_k(variants), cut)
    write_results(paper_lines(curves, clips, extras), paper_timings(times), out)
    text = "\n".join(page)
    print(text)
    (out / "paper_004.md").write_text(text, encoding="utf-8")


def _tell(what: str) -> None:
    print(f"  measuring {what}", file=sys.stderr, flush=True)


def write_curves(curves: Curves, path: Path) -> None:
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


def plot(curves: Curves, value: str, label: str) -> Figure:
    """Return the four rate-distortion panels of a figure."""
    figure = new_figure(10, 8)
    scale = 100 if value == "position" else np.degrees(1)
    for k, (motion, methods) in enumerate(curves.items()):
        axes = figure.add_subplot(2, 2, k + 1)
        for method, points in methods.items():
            shown = [p for p in front(points, value, "angles") if p.angles <= 8]
            errors = [scale * getattr(p, value).mean() for p in shown]
            axes.plot([p.angles for p in shown], errors, ".-", markersize=3, label=method)
        axes.set(
            title=motion, xlabel="H: entropy of angles, bits per frame and joint", ylabel=label
        )
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
    codec = ikbp_codecs()[[id(p) for p in points].index(id(near))]
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


def _orders(curves: Curves, rate: str) -> str:
    """Return mean position errors at a few rates: which method leads where."""
    rows = []
    for motion, methods in curves.items():
        for at in (0.5, 0.7, 1.4, 2.2, 3.0, 4.1, 6.0):
            cells = [_cell(at_rate(methods[m], at, "position", rate), 100) for m in METHODS]
            rows.append([motion, at, *cells])
    title = f"## Figure 7 in numbers: E_position in cm, {RATES[rate]}"
    return "\n".join([title, "", markdown_table(["motion", "rate", *METHODS], rows), ""])


def _winners(curves: Curves) -> str:
    """Return which of the paper's methods leads by each way to count, and what the paper says."""
    rows = []
    for motion in curves:
        for rate, title in RATES.items():
            leads = leaders(curves, motion, rate)
            rows.append([motion, title, *leads])
    head = ["motion", "rate", *map(str, LEADS_AT)]
    title = "## Who leads at a rate, of the paper's methods"
    return "\n".join([title, "", markdown_table(head, rows), ""])


def _angles_table(curves: Curves) -> str:
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


def cut_errors(clip: Clip) -> list[tuple[float, float]]:
    """Return E_position in mm of files cut at `CUT_AT`, and of files coded at those sizes."""
    codec = FkWavelet()
    payload = codec.encode(clip)
    direct = [
        _size_and_error(clip, FkWavelet(step=float(q), first_layer=1.0))
        for q in np.geomspace(0.0015, 0.3, 14)
    ]
    sizes, errors = np.log(np.array(direct[::-1])).T
    found = []
    for share in CUT_AT:
        size = int(share * len(payload))
        cut = _mean_error(clip, codec.decode_partial(payload[:size], clip.header))
        whole = float(np.exp(np.interp(np.log(size), sizes, errors)))
        found.append((1000 * cut, 1000 * whole))
    return found


def _cut_table(cut: dict[str, list[tuple[float, float]]]) -> str:
    rows = [
        [name, *(cell for a, b in pairs for cell in (f"{a:.2f}", f"{b:.2f}", f"{a / b:.2f}"))]
        for name, pairs in cut.items()
    ]
    columns = ("cut, mm at", "direct, mm at", "ratio at")
    head = ["motion", *(f"{c} {100 * s:.0f} %:" for s in CUT_AT for c in columns)]
    return "\n".join(["## Cut files of `fk-wavelet`", "", markdown_table(head, rows), ""])


def _size_and_error(clip: Clip, codec: FkWavelet) -> tuple[int, float]:
    payload = codec.encode(clip)
    return len(payload), _mean_error(clip, codec.decode(payload, clip.header))


def _mean_error(clip: Clip, back: Clip) -> float:
    return float(np.linalg.norm(clip.positions() - back.positions(), axis=-1).mean())


def _cell(errors: F64 | None, scale: float) -> str:
    return "–" if errors is None else f"{scale * errors.mean():.3g}"


def _table(number: int, curves: Curves, clips: dict[str, Clip]) -> str:
    """Return one of tables 1 to 4: the left arm's joints, ours beside the paper's."""
    motion, value = TABLES[number], ("angle", "position")[number % 2]
    unit = "cm" if value == "position" else "degrees"
    names = chain_of(number)
    joints = [clips[motion].skeleton.index(name) for name in names]
    title = f"## Table {number}: {value} error of the left arm, {motion}, {unit}"
    rows = []
    for row in arm_rows(number, curves, clips):
        ours = ["–"] * len(joints) if row.literal is None else [f"{x:.3g}" for x in row.literal]
        theirs = [f"{x:.5g}" if np.isfinite(x) else ">100" for x in row.printed]
        pairs = [cell for pair in zip(ours, theirs, strict=True) for cell in pair]
        rows.append([row.method, f"{row.entropy:.2f}", *pairs])
        if row.ours is not None:
            rest = [cell for own in row.ours for cell in (f"{own:.3g}", "")]
            rows.append(["IKBP, ours", f"{row.entropy:.2f}", *rest])
    heading = ["method", "H", *(cell for name in names for cell in (name, "paper"))]
    table = markdown_table(heading, rows)
    return "\n".join([f"{title} (paper's in its unit)", "", table, ""])


def frame_times(clip: Clip) -> dict[str, tuple[float, float]]:
    """Return seconds of processor time to encode and to decode a frame, of the paper's methods."""
    codecs = {"IKBP": IkPredict(), "SPBLF": LastFrame(), "FKBC": FkWavelet()}
    times = {}
    for name, codec in (codecs | {"IBKF": Keyframe(), "DWT": Dwt97()}).items():
        payload = codec.encode(clip)
        times[name] = (
            fastest(lambda: codec.encode(clip), 7) / clip.frame_count,  # noqa: B023
            fastest(lambda: codec.decode(payload, clip.header), 7) / clip.frame_count,  # noqa: B023
        )
    return times


def _times(times: dict[str, tuple[float, float]], clip: Clip) -> str:
    """Return table 6: microseconds a frame, encoding and decoding."""
    title = (
        "## Table 6: microseconds of processor time a frame of the walk (paper: a 3 GHz Pentium 4)"
    )
    rows = [_time_row(name, seconds) for name, seconds in times.items()]
    rows.append(_time_row("IKBP, frame by frame", live_times(clip)))
    heading = ["method", "encode", "paper", "decode", "paper"]
    return "\n".join([title, "", markdown_table(heading, rows), ""])


def _time_row(name: str, seconds: tuple[float, float]) -> list[str]:
    pairs = zip(seconds, map(float, MILLISECONDS[name.partition(",")[0]]), strict=True)
    return [name, *(cell for t, p in pairs for cell in (f"{1e6 * t:.1f}", f"{1000 * p:.0f}"))]


def live_times(clip: Clip, *, burst: int = 20) -> tuple[float, float]:
    """Return the best seconds a frame where frames come one by one, over bursts of a few."""
    still = unknown_still(clip.header)
    encoder, decoder = (IkPredict().stream(clip.header, still) for _ in range(2))
    first = encoder.intra_row(clip.rotations[0], clip.translations[0])
    encoder.restart(first)
    decoder.restart(first)
    times = []
    for start in range(1, clip.frame_count - burst, burst):
        frames = [(clip.rotations[t], clip.translations[t]) for t in range(start, start + burst)]
        began = time.process_time()
        rows = [encoder.encode_frame(0, *frame) for frame in frames]
        middle = time.process_time()
        for row in rows:
            decoder.decode_frame(row)
            decoder.pose()
        times.append((middle - began, time.process_time() - middle))
    best = np.min(times, axis=0) / burst
    return float(best[0]), float(best[1])


def _measure_variant(codec: IkPredict, clips: dict[str, Clip]) -> dict[str, Point]:
    return {name: measure(clip, codec) for name, clip in clips.items()}


def _variants_table(variants: dict[str, dict[str, Point]]) -> str:
    """Return what each choice in `ik-predict` is worth."""
    title = "## Choices in `ik-predict`, step 1 mm: real bits per frame and joint, E_position in mm"
    rows = []
    for label, points in variants.items():
        pairs = [(f"{p.bits:.2f}", f"{1000 * p.position.mean():.2f}") for p in points.values()]
        rows.append([label, *(cell for pair in pairs for cell in pair)])
    names = next(iter(variants.values()))
    heading = ["", *(cell for name in names for cell in (f"{name} bits", "mm"))]
    return "\n".join([title, "", markdown_table(heading, rows), ""])


def _bits_by_k(variants: dict[str, dict[str, Point]]) -> dict[str, tuple[float, float, float]]:
    """Return real bits of the method as printed with k = 0, 1, 2, by motion."""
    none, one, two = (
        variants[label]
        for label in ("all as printed, k = 0", "all as printed", "all as printed, k = 2")
    )
    return {name: (none[name].bits, one[name].bits, two[name].bits) for name in none}
