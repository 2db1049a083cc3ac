"""Draw the papers' figures with our curves, and with the printed points where the text has them.

    python benchmarks/papers_figures.py report docs/pictures/papers

Reads what `make papers` keeps in the papers' folders, and writes one picture per figure. Figure 5
of Li is drawn from the clip.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import numpy.typing as npt

from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.bench.papers.measuring import interpolate_log
from mocpack.bench.papers.verdicts import read_lines

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
WIDTH, HEIGHT = 330, 250  # of a panel
LEFT, RIGHT, TOP, BOTTOM = 52, 10, 26, 38  # around its axes
PRINTED = 3.5  # radius of a printed point
LEGEND = 15, 210  # height of a line of the legend, width of a name
Row = Mapping[str, str]
XY = tuple[float, float]


@dataclass(frozen=True)
class Curve:
    """A line through points, or dots with a radius.

    Curves of a name have one color, and dots "NAME, printed" have that of NAME.
    """

    name: str
    points: Sequence[XY]
    dot: float = 0.0


@dataclass(frozen=True)
class Panel:
    """A chart with two axes.

    Attributes
    ----------
    log : str
        Which axes are logarithmic: "", "x", "y" or "xy".
    is_pose : bool
        Whether a unit is as long on both axes.
    """

    title: str
    x: str
    y: str
    curves: Sequence[Curve]
    log: str = "xy"
    marks: Sequence[float] = field(default_factory=tuple)
    """Places on the x axis, such as knots."""
    is_pose: bool = False


def main(words: Sequence[str]) -> int:
    """Draw every figure whose paper is finished; return 1 if a table is missing."""
    report, out = Path(words[0]), Path(words[1])
    out.mkdir(parents=True, exist_ok=True)
    status = 0
    for name, (key, draw) in FIGURES.items():
        if not (report / key / "finished.json").exists():
            continue
        try:
            panels = draw(report / key)
        except FileNotFoundError as error:  # the folder is older than the table
            again = f"remove {report / key} and reproduce the paper again"
            print(f"{name}.svg: {error.filename} is missing; {again}", file=sys.stderr)
            status = 1
            continue
        path = out / f"{name}.svg"
        path.write_text(picture(panels), encoding="utf-8")
        print(f"wrote {path}")
    return status


def picture(panels: Sequence[Panel]) -> str:
    """Return panels side by side, two in a row, as SVG."""
    dots = {c.name: c.dot for panel in panels for c in panel.curves}
    names = list(dots)
    stems = list(dict.fromkeys(_stem(name) for name in names))
    colors = {name: COLORS[stems.index(_stem(name)) % len(COLORS)] for name in names}
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    per_row = max(1, columns * WIDTH // LEGEND[1])
    legend = LEGEND[0] * -(-len(names) // per_row)
    width, height = columns * WIDTH, rows * HEIGHT + legend + 6
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for n, panel in enumerate(panels):
        at = n % columns * WIDTH, n // columns * HEIGHT
        parts += [f'<g transform="translate({at[0]},{at[1]})">', *_panel(panel, colors), "</g>"]
    for n, name in enumerate(names):
        x, y = n % per_row * LEGEND[1] + 12, rows * HEIGHT + n // per_row * LEGEND[0] + 10
        ends = [(x, y), (x + 16, y)]
        is_dot = dots[name] > 0
        parts.append(
            _dots([(x + 8, y)], colors[name], PRINTED) if is_dot else _stroke(ends, colors[name])
        )
        parts.append(f'<text x="{x + 22}" y="{y + 4}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _stem(name: str) -> str:
    return name.removesuffix(", printed")


def _panel(panel: Panel, colors: Mapping[str, str]) -> Iterable[str]:
    points = [p for curve in panel.curves for p in curve.points]
    xs, ys = ([p[k] for p in points] for k in (0, 1))
    if panel.is_pose:
        xs, ys = _same_unit(xs, ys)
    to_x = _scale(xs, LEFT, WIDTH - RIGHT, log="x" in panel.log)
    to_y = _scale(ys, HEIGHT - BOTTOM, TOP, log="y" in panel.log)
    center = f'x="{(LEFT + WIDTH) / 2}"'
    bold = 'text-anchor="middle" font-weight="bold"'
    yield f'<text {center} y="15" {bold}>{escape(panel.title)}</text>'
    bottom = HEIGHT - BOTTOM
    for tick in _ticks(xs, log="x" in panel.log):
        x = to_x(tick)
        yield _stroke([(x, TOP), (x, bottom)], "#dddddd", 0.6)
        yield f'<text x="{x:.1f}" y="{bottom + 14}" text-anchor="middle">{tick:g}</text>'
    for tick in _ticks(ys, log="y" in panel.log):
        y = to_y(tick)
        yield _stroke([(LEFT, y), (WIDTH - RIGHT, y)], "#dddddd", 0.6)
        yield f'<text x="{LEFT - 4}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>'
    for mark in panel.marks:
        yield _stroke([(to_x(mark), bottom - 8), (to_x(mark), bottom)], "#000000", 1.2)
    yield _stroke([(LEFT, TOP), (LEFT, bottom), (WIDTH - RIGHT, bottom)], "#000000", 1)
    yield f'<text {center} y="{HEIGHT - 8}" text-anchor="middle">{escape(panel.x)}</text>'
    upright = f'transform="translate(12,{(TOP + bottom) / 2}) rotate(-90)"'
    yield f'<text {upright} text-anchor="middle">{escape(panel.y)}</text>'
    for curve in panel.curves:
        places = [(to_x(x), to_y(y)) for x, y in curve.points]
        if curve.dot:
            yield _dots(places, colors[curve.name], curve.dot)
        else:
            yield _stroke(places, colors[curve.name])


def _same_unit(xs: Sequence[float], ys: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the ends of two ranges around these, such that a unit is as long on both axes."""
    sides = (xs, WIDTH - RIGHT - LEFT), (ys, HEIGHT - BOTTOM - TOP)
    unit = max((max(values) - min(values)) / length for values, length in sides)
    first, second = (
        [(min(values) + max(values) + sign * unit * length) / 2 for sign in (-1, 1)]
        for values, length in sides
    )
    return first, second


def _stroke(points: Sequence[XY], color: str, width: float = 1.5) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{width}"/>'


def _dots(points: Sequence[XY], color: str, radius: float) -> str:
    path = "".join(f"M{x:.1f},{y:.1f}h0" for x, y in points)
    width = f'stroke-width="{2 * radius}" stroke-linecap="round"'
    return f'<path d="{path}" stroke="{color}" {width}/>'


def _scale(
    values: Sequence[float], first: float, last: float, *, log: bool
) -> Callable[[float], float]:
    """Return the map from values to places between `first` and `last`."""
    form = math.log10 if log else float
    low, high = form(min(values)), form(max(values))
    margin = 0.04 * (high - low) or 1.0
    low, high = low - margin, high + margin
    return lambda value: first + (form(value) - low) / (high - low) * (last - first)


def _ticks(values: Sequence[float], *, log: bool) -> list[float]:
    low, high = min(values), max(values)
    if log:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        factors = (1, 2, 5) if high < 300 * low else (1,)
        found = [f * 10.0**p for p in powers for f in factors]
    else:
        step = 10.0 ** math.floor(math.log10((high - low) / 3 or 1))
        step *= next(f for f in (1, 2, 5, 10) if (high - low) / (f * step) <= 6)
        found = [step * n for n in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return [round(tick, 12) for tick in found if low <= tick <= high]


def _rows(path: Path, **wanted: str) -> list[Row]:
    with path.open(newline="", encoding="utf-8") as file:
        return [r for r in csv.DictReader(file) if all(r[k] == v for k, v in wanted.items())]


def _points(rows: Iterable[Row], x: str, y: str, *, scale: XY = (1.0, 1.0)) -> list[XY]:
    return sorted((scale[0] * float(row[x]), scale[1] * float(row[y])) for row in rows)


def _front(points: Sequence[XY]) -> list[XY]:
    """Return the points that no other beats in both coordinates."""
    best: list[XY] = []
    for x, y in sorted(points):
        if not best or y < best[-1][1]:
            best.append((x, y))
    return best


def beaudoin_table_1(folder: Path) -> list[Panel]:
    """Sizes over eps_x of both clips, with the points of Table 1."""
    titles = {"pca": "PCA", "wavelet": "wavelet", "wavelet-opt": "optimized"}
    panels = []
    for clip, name in (("09_01", "running"), ("49_02", "jumping")):
        curves = []
        for technique, title in titles.items():
            own = _rows(folder / "literal.csv", clip=clip, technique=technique, seed="0")
            points = [p for p in _points(own, "eps_x", "size", scale=(1, 1 / 1024)) if p[0] > 0.02]
            curves.append(Curve(title, [p for p in points if p[0] < 3]))
        for title in titles.values():
            printed = [
                (float(line.what.split(" at ")[1].split()[0]), float(line.printed))
                for line in read_lines(folder)
                if line.where == "Table 1" and line.claim == f"{title}, KB" and clip in line.what
            ]
            curves.append(Curve(f"{title}, printed", printed, dot=PRINTED))
        panels.append(Panel(f"{name} ({clip})", "eps_x, cm", "KB", curves))
    return panels


def beaudoin_figure_2(folder: Path) -> list[Panel]:
    """The mean of eps_x over the clips at equal ratios."""
    rows = _rows(folder / "curves.csv")
    clips = sorted({row["clip"] for row in rows})
    curves = []
    for technique, title in (("pca", "PCA"), ("wavelet", "wavelet"), ("wavelet-opt", "optimized")):
        points = []
        for ratio in np.geomspace(3, 60, 30):
            errors = [
                interpolate_log(
                    float(ratio),
                    _points([r for r in rows if (r["clip"], r["technique"]) == (clip, technique)],
                            "ratio", "eps_x"),
                )
                for clip in clips
            ]  # fmt: skip
            known = [error for error in errors if error is not None]
            if len(known) == len(clips):
                points.append((float(ratio), float(np.mean(known))))
        if points:
            curves.append(Curve(title, points))
    return [Panel("figure 2: 15 clips", "compression ratio", "eps_x, cm", curves)]


def chattopadhyay_jog(folder: Path) -> list[Panel]:
    """Figure 5 as cuts, both surfaces, and figure 6."""
    rows = _rows(folder / "surfaces.csv", motion="jog")

    def cuts(value: str, scale: float) -> list[Curve]:
        of = {n: [row for row in rows if row["n_d"] == n] for n in ("30", "60", "90", "120")}
        return [
            Curve(f"n_d = {n}", _points(some, "FDF", value, scale=(1, scale)))
            for n, some in of.items()
        ]

    by_size = [Curve("least DEF", _front(_points(rows, "bytes", "DEF", scale=(1 / 1024, 1))))]
    by_size.append(Curve("printed: zero at 32 KB", [(32.0, 0.0)], dot=PRINTED))
    return [
        Panel("figure 5: jog", "FDF", "DEF", cuts("DEF", 1), log=""),
        Panel("figure 5: jog", "FDF", "T, KB", cuts("bytes", 1 / 1024), log=""),
        Panel("figure 6: jog", "T, KB", "DEF", by_size, log=""),
    ]


def chattopadhyay_motions(folder: Path) -> list[Panel]:
    """Figure 7 as means over n_d."""
    rows = _rows(folder / "surfaces.csv")
    panels = []
    for motion in dict.fromkeys(row["motion"] for row in rows):
        own = [row for row in rows if row["motion"] == motion]
        fixed = sorted({int(row["FDF"]) for row in own})
        means = [np.mean([float(r["DEF"]) for r in own if r["FDF"] == str(f)]) for f in fixed]
        curve = Curve("mean over n_d", [(f, float(m)) for f, m in zip(fixed, means, strict=True)])
        panels.append(Panel(motion, "FDF", "DEF", [curve], log=""))
    return panels


def mukai_figure_1(folder: Path) -> list[Panel]:
    """The frame that even knots miss most, as it is and with even and free knots."""
    rows = _rows(folder / "poses.csv")
    panels = []
    for clip, frame in dict.fromkeys((row["clip"], row["frame"]) for row in rows):
        for knots in ("even", "free"):
            curves = []
            for kind, name in (("original", "original"), (knots, f"{knots} knots")):
                own = [row for row in rows if (row["clip"], row["knots"]) == (clip, kind)]
                parts = [
                    [(float(row["x"]), float(row["y"])) for row in part]
                    for _, part in groupby(own, key=lambda row: row["part"])
                ]
                if len(parts[0]) == 1:
                    curves.append(Curve(name, [point for part in parts for point in part], 0.7))
                else:
                    curves += [Curve(name, part) for part in parts]
            title = f"{clip.split(' (')[0]}: {knots} knots"
            panels.append(Panel(title, f"frame {frame}", "", curves, log="", is_pose=True))
    return panels


def mukai_figure_2(folder: Path) -> list[Panel]:
    """The test functions with even and free knots; ticks are the free ones."""
    rows, knots = _rows(folder / "functions.csv"), _rows(folder / "knots.csv", knots="free")
    panels = []
    for name in dict.fromkeys(row["function"] for row in rows):
        own = [row for row in rows if row["function"] == name]
        curves = [Curve("function", _points([r for r in own if r["knots"] == "even"], "x", "y"))]
        for kind in ("even", "free"):
            some = [row for row in own if row["knots"] == kind]
            curves.append(Curve(f"{kind} knots", _points(some, "x", "fit")))
        marks = [float(row["knot"]) for row in knots if row["function"] == name]
        panels.append(Panel(name, "x", "y", curves, log="", marks=marks))
    return panels


def vasa_figures_4_and_5(folder: Path) -> list[Panel]:
    """Errors over sizes with parts left out, and the points of Table 1."""
    panels = []
    for number, clip in ((4, "17_10"), (5, "85_12")):
        for metric in ("ME", "SkTED"):
            rows = _rows(folder / "ablation.csv", clip=clip)
            curves = [
                Curve(part, _points([r for r in rows if r["part"] == part], "bytes", metric,
                                    scale=(1e-3, 1)))
                for part in dict.fromkeys(row["part"] for row in rows)
            ]  # fmt: skip
            claim = "ME at the printed size, cm" if metric == "ME" else "SkTED at the printed size"
            printed = [
                (float(line.what.split(" at ")[1].split()[0]), float(line.printed))
                for line in read_lines(folder)
                if line.claim == claim and line.what.startswith(clip)
            ]
            curves.append(Curve("printed", sorted({*printed}), dot=PRINTED))
            unit = "ME, cm" if metric == "ME" else "SkTED"
            panels.append(Panel(f"figure {number}: {clip}", "kB", unit, curves))
    return panels


def vasa_figures_2_and_3(folder: Path) -> list[Panel]:
    """SkTED over the temporal part of STED."""
    rows = _rows(folder / "sted.csv")
    return [
        Panel(
            f"{motion} ({clip})",
            "STED, temporal",
            "SkTED",
            [Curve("distortions", _points(
                [r for r in rows if r["clip"] == clip], "sted_temporal", "skted"), dot=PRINTED
            )],
        )
        for clip, motion in dict.fromkeys((row["clip"], row["motion"]) for row in rows)
    ]  # fmt: skip


def li_figure_5(_: Path) -> list[Panel]:
    """The left arm of the walk a tenth of a second apart: turned link by link, and by its end.

    The prediction is equation (15) with k = 0. The base of the arm is held.
    """
    clip = load_clip("cmu/16_32", COMMITTED).frames(1, 580)
    arm = clip.skeleton.indices(["LeftArm", "LeftForeArm", "LeftHand", "LeftHandIndex1"])
    links = np.diff(clip.positions()[:, arm], axis=1)
    frame = int(np.linalg.norm(links[12:].sum(axis=1) - links[:-12].sum(axis=1), axis=1).argmax())
    before, after = links[frame], links[frame + 12]
    lengths = np.linalg.norm(before, axis=1)
    theta = np.stack(
        [np.arccos(before[:, 2] / lengths), np.arctan2(before[:, 1], before[:, 0])], axis=1
    )
    columns = []
    for (phi, varphi), length in zip(theta, lengths, strict=True):  # equation (20)
        up, out = np.cos(phi), np.sin(phi)
        columns.append([length * up * np.cos(varphi), length * up * np.sin(varphi), -length * out])
        columns.append([-length * out * np.sin(varphi), length * out * np.cos(varphi), 0.0])
    change = np.linalg.pinv(np.transpose(columns)) @ (after - before).sum(axis=0)
    phi, varphi = (theta + change.reshape(-1, 2)).T
    predicted = lengths * [np.sin(phi) * np.cos(varphi), np.sin(phi) * np.sin(varphi), np.cos(phi)]

    def drawn(name: str, shape: npt.ArrayLike) -> Curve:
        places = np.vstack([np.zeros(3), np.cumsum(shape, axis=0)])
        return Curve(name, [(z, y) for _, y, z in places.tolist()])

    turned = [np.vstack([after[:n], before[n:]]) for n in range(1, len(before))]
    ends = drawn(f"frame {frame}", before), drawn(f"frame {frame + 12}", after)
    forward = [drawn(f"{n} of {len(before)} links turned", t) for n, t in enumerate(turned, 1)]
    inverse = drawn("predicted from the end", predicted.T)
    return [
        Panel("(a) forward kinematics", "m", "m", [*ends, *forward], log="", is_pose=True),
        Panel("(b) inverse kinematics", "m", "m", [*ends, inverse], log="", is_pose=True),
    ]


def li_figure(value: str, unit: str) -> Callable[[Path], list[Panel]]:
    """Return the drawing of figure 7 or 8: errors over H, with the means of Table 1 or 2."""
    methods = ("IKBP", "IKBP, k = 0", "SPBLF", "FKBC", "IBKF", "DWT")

    def draw(folder: Path) -> list[Panel]:
        rows = _rows(folder / "curves.csv")
        panels = []
        for motion in dict.fromkeys(row["motion"] for row in rows):
            curves = []
            for method in methods:
                own = [r for r in rows if (r["motion"], r["method"]) == (motion, method)]
                front = _front(_points(own, "h_angles", value))
                inside = [p for p in front if 0.4 <= p[0] <= 5 and p[1] < 100]
                if inside:
                    curves.append(Curve(method, inside))
            if motion == "walk":
                table = "Table 1," if unit == "cm" else "Table 2,"
                printed = [
                    (float(line.what.rsplit(" ", 1)[1]), float(line.printed))
                    for line in read_lines(folder)
                    if line.what.startswith(f"{table} IKBP")
                ]
                curves.append(Curve("IKBP, printed", printed, dot=PRINTED))
            title = f"{motion}: {'position' if unit == 'cm' else 'angle'}"
            panels.append(Panel(title, "H, bits per frame and joint", unit, curves, log="y"))
        return panels

    return draw


FIGURES: dict[str, tuple[str, Callable[[Path], list[Panel]]]] = {
    "beaudoin": ("000", beaudoin_table_1),
    "beaudoin-figure-2": ("000", beaudoin_figure_2),
    "chattopadhyay": ("001", chattopadhyay_jog),
    "chattopadhyay-figure-7": ("001", chattopadhyay_motions),
    "mukai": ("002", mukai_figure_2),
    "mukai-figure-1": ("002", mukai_figure_1),
    "vasa": ("003", vasa_figures_4_and_5),
    "vasa-figures-2-3": ("003", vasa_figures_2_and_3),
    "li-figure-5": ("004", li_figure_5),
    "li": ("004", li_figure("e_position_cm", "cm")),
    "li-figure-8": ("004", li_figure("e_angle_deg", "degrees")),
}
"""By file, the paper's folder and the drawing."""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
