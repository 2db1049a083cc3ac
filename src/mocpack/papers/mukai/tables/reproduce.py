"""Figures 1, 2 and Table 1 of Mukai (2012), latent nonuniform splines, beside the printed figures.

The chicken is the paper's own; its table comes out where each frame's centroid is subtracted and
"IKs", its internal knots, is read as the number of control points. The squirrel is not public and
the two captures are not named: in their place stand a galloping horse (half as many frames, half
as many control points), CMU 17_10 and CMU 05_03.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mocpack import _api
from mocpack.arrays import F64
from mocpack.bench.datasets import describe_missing, find_clips_of
from mocpack.bench.papers.verdicts import Line, claim, compare, write_lines
from mocpack.bench.report.figures import new_figure
from mocpack.bench.report.markdown import markdown_table
from mocpack.bench.runner.timing import seconds_of
from mocpack.clip import AnyClip, Clip, VertexClip
from mocpack.papers.mukai.codec import bspline, latent
from mocpack.papers.mukai.codec.bspline import uniform_knots
from mocpack.papers.mukai.codec.knots import evolve, find_knots
from mocpack.papers.mukai.codec.latent_spline import LatentSpline
from mocpack.papers.mukai.codec.pose_rows import SkeletonForm

X = np.linspace(0.0, 1.0, 101)
# the test functions of Gálvez and Iglesias 2011, and the inner knots the paper gives each
FUNCTIONS: dict[str, tuple[F64, int]] = {
    "(a) step": (90 / (1 + np.exp(-100 * (X - 0.4))), 4),
    "(b) two peaks": (
        np.where(X < 0.6, 1 / (0.01 + (X - 0.3) ** 2), 1 / (0.015 + (X - 0.65) ** 2)),
        4,
    ),
    "(c) cusp": (100 / np.exp(np.abs(10 * X - 5)) + (10 * X - 5) ** 5 / 500, 5),
    "(d) bump": (np.sin(4 * X - 2) + 2 * np.exp(-30 * (4 * X - 2) ** 2), 4),
}


@dataclass(frozen=True)
class Case:
    """One column of Table 1.

    Attributes
    ----------
    clip : str
        The clip's name; of a skeleton's, every other of 2 × `frames` frames from `start`.
    control_points : int
        What the paper's row "IKs" says.
    paper : (str, str) or None
        Its E_D for even and for free knots.
    own : bool
        Whether the clip is the paper's own.
    """

    title: str
    clip: str
    components: int
    control_points: int
    paper: tuple[str, str] | None
    own: bool = False
    start: int = 0
    frames: int = 0


CHICKEN, HORSE = "mesh/chickenCrossing", "mesh/horse-gallop"
BOXING, DANCING = "cmu/17_10", "cmu/05_03"
CASES = (
    Case("chicken", CHICKEN, 86, 30, ("24.1", "11.8"), own=True),
    Case("chicken", CHICKEN, 86, 50, ("14.9", "7.3"), own=True),
    Case("horse (paper: squirrel)", HORSE, 35, 10, ("19.5", "10.1")),
    Case("horse (paper: squirrel)", HORSE, 35, 20, ("10.9", "1.7")),
    Case("boxing 17_10 (paper: punching)", BOXING, 35, 30, ("18.8", "13.4"), False, 301, 538),
    Case("boxing 17_10 (paper: punching)", BOXING, 35, 50, ("11.2", "7.7"), False, 301, 538),
    Case("dancing 05_03 (paper: dancing)", DANCING, 34, 20, ("22.8", "12.8"), False, 1, 203),
    Case("dancing 05_03 (paper: dancing)", DANCING, 34, 40, ("3.7", "2.6"), False, 1, 203),
)
PAPERS_GENERATIONS = 50  # of CMA-ES from even knots: where it stands near the paper's errors
SHARES = (  # figure 1: title, frames, values, components, control points, percent
    ("chicken", 400, 9090, 86, 50, "11"),
    ("squirrel", 104, 11505, 35, 40, "17"),
    ("dancing", 203, 72, 34, 20, "10"),
)


def reproduce(data: Path | None, out: Path) -> None:
    """Print the tables beside the paper's figures; write them and the pictures to `out`."""
    names = list(dict.fromkeys(case.clip for case in CASES))
    found = find_clips_of(names, data)
    functions, function_lines = functions_table(out)
    clips, clip_lines = clips_table(found)
    parts = [shares_table(), functions, clips]
    parts += [f"Left out: {describe_missing(name)}." for name in names if name not in found]
    text = "\n\n".join(parts)
    print(text)
    write_lines([*share_lines(), *function_lines, *clip_lines], out)
    (out / "paper_002.md").write_text(text + "\n", encoding="utf-8")


def shares_table() -> str:
    """Figure 1: how much of the original is stored, all numbers and control points alone."""
    rows = []
    for line, (_, frames, values, components, controls, _) in zip(
        share_lines(), SHARES, strict=True
    ):
        alone = f"{100 * controls * components / (frames * values):.2f}"
        rows.append([line.what, line.printed, line.ours, alone, line.verdict])
    head = ["clip", "paper, %:", "mean, basis and control points at half width, %:"]
    head += ["control points alone, %:", "verdict"]
    return "## Figure 1: share of the original that is stored\n\n" + markdown_table(head, rows)


def share_lines() -> list[Line]:
    """Figure 1: mean, basis and control points at half the width of the original's numbers."""
    lines = []
    for title, frames, values, components, controls, printed in SHARES:
        stored = 50 * (values * (1 + components) + controls * components) / (frames * values)
        how: dict[str, Any] = {"less_is_better": None, "within": 0.03, "form": ".1f"}
        why = "neither reading gives it"
        lines.append(compare("Figure 1", title, stored, printed, why=why, **how))
    return lines


def functions_table(out: Path) -> tuple[str, list[Line]]:
    """Fit the four test functions, 100 candidates a generation, and draw figure 2."""
    rows, lines = [], []
    figure = new_figure(10, 7)
    for place, (name, (values, inner)) in enumerate(FUNCTIONS.items()):
        points = values[:, np.newaxis].copy()
        found = {m: _fitted(points, inner + 4, m) for m in ("uniform", "cma", "fast")}
        (_, even, _), (_, cma, slow), (_, fast, quick) = found.values()
        numbers = [f"{x:.4g}" for x in (even, cma, fast)]
        what = f"{name}, E_RMS with free knots of that with even ones"
        ours = f"{cma / even:.3f}"
        lines.append(claim("Figure 2", what, "far below", ours, cma < 0.5 * even))
        rows.append([name, inner, *numbers, f"{slow / quick:.1f}", lines[-1].verdict])
        axes = figure.add_subplot(2, 2, place + 1)
        axes.plot(X, values, color="#b0b0b0", linewidth=4, label="function")
        for method, colour in (("uniform", "#2563a8"), ("cma", "#c0392b")):
            knots, error, _ = found[method]
            controls, _ = bspline.fit(knots, 3, points)
            fine = np.linspace(0, 1, 500)
            curve = bspline.evaluate(knots, 3, fine, controls)[:, 0]
            axes.plot(fine, curve, color=colour, linewidth=1.2, label=f"{method}, {error:.3g}")
            at = bspline.inner_knots(knots, 3)
            axes.plot(at, np.full(len(at), values.min()), "|", color=colour, markersize=12)
        axes.set_title(name)
        axes.legend(fontsize=7)
    figure.savefig(out / "paper_002_figure_2.png", dpi=110)
    head = [
        "function",
        "inner knots:",
        "even:",
        "CMA-ES:",
        "fast:",
        "CMA-ES time / fast:",
        "verdict",
    ]
    return "## Test functions: E_RMS (figure 2)\n\n" + markdown_table(head, rows), lines


def clips_table(found: Mapping[str, Path]) -> tuple[str, list[Line]]:
    """Table 1: distortion of even and free knots, with sizes counted both ways."""
    rows, lines = [], []
    for case in CASES:
        if case.clip not in found:
            lines += case_lines(case, None, None)
            continue
        row, even_and_free = _case_row(case, _api.read(found[case.clip]))
        rows.append(row)
        lines += even_and_free
    head = ["clip", "frames:", "values:", "components:", "control points:", "even:", "paper:"]
    head += ["verdict", "CMA-ES:", f"from even knots, {PAPERS_GENERATIONS} generations:", "paper:"]
    head += ["verdict", "free / even:", "paper:", "fast:", "CMA-ES time / fast:"]
    head += ["control points alone, B:", "file, B:"]
    return "## Table 1: E_D in percent\n\n" + markdown_table(head, rows), lines


def case_lines(case: Case, even: float | None, free: float | None) -> list[Line]:
    """Return the lines of one column of Table 1; without figures, of a clip that is not here."""
    why = "" if case.own else "another clip, the paper's is not public"
    if even is None:
        why = describe_missing(case.clip)
    printed = case.paper or (None, None)
    what = f"{case.title}, {case.control_points} control points, E_D in % with"
    both = (f"{what} even knots", even, printed[0]), (f"{what} free knots", free, printed[1])
    lines = []
    for place, (name, ours, theirs) in enumerate(both):
        # of another clip nothing is better or worse
        less = True if case.own and place else None
        line = compare("Table 1", name, ours, theirs, form=".2f", less_is_better=less, why=why)
        if ours is not None and not case.own:
            line = replace(line, verdict=f"different: {why}")
        lines.append(line)
    return lines


def errors_of(clip: AnyClip, components: int, control_points: int, method: str) -> float:
    """Return E_D in percent of one column of Table 1."""
    rows, dropped, points = _latent(clip, components)
    return _percent(_fitted(points, control_points, method)[1], rows, dropped)


def _case_row(case: Case, clip: AnyClip) -> tuple[list[object], list[Line]]:
    if isinstance(clip, Clip):
        clip = _every_other(clip, case.start, case.frames)
    rows, dropped, points = _latent(clip, case.components)
    controls = min(case.control_points, len(points))
    (_, a, _), (_, b, slow), (_, c, quick) = (
        _fitted(points, controls, method) for method in ("uniform", "cma", "fast")
    )
    knots = uniform_knots(controls, 3)
    knots = evolve(
        points, controls, 3, candidates=100, seed=0, start=knots, generations=PAPERS_GENERATIONS
    )
    d = bspline.fit(knots, 3, points)[1]
    even, cma, fast, stopped = (_percent(error, rows, dropped) for error in (a, b, c, d))
    paper = case.paper or (None, None)
    ratio = f"{float(paper[1]) / float(paper[0]):.2f}" if paper[0] and paper[1] else "–"
    codec = LatentSpline(components=points.shape[1], control_points=controls, weights="none")
    sizes = 4 * controls * points.shape[1], len(_api.encode(clip, codec))
    lines = case_lines(case, even, cma)
    row = [
        *(case.title, len(rows), rows.shape[1], points.shape[1], controls),
        *(f"{even:.2f}", paper[0] or "–", lines[0].verdict),
        *(f"{cma:.2f}", f"{stopped:.2f}", paper[1] or "–"),
        lines[1].verdict,
        *(f"{cma / even:.2f}", ratio, f"{fast:.2f}", f"{slow / quick:.1f}", *sizes),
    ]
    return row, lines


def _latent(clip: AnyClip, components: int) -> tuple[F64, float, F64]:
    """Return rows (N, M), the squared error of the dropped components, and the scores (N, L)."""
    if isinstance(clip, VertexClip):
        rows = _centred(clip)
    else:
        rows = SkeletonForm.of(clip, "none").rows(clip)
    found = latent.principal_components(rows)
    kept = np.ascontiguousarray(found.scores[:, :components])
    return rows, float(np.sum(found.scores[:, components:] ** 2)), kept


def _percent(error: float, rows: F64, dropped: float) -> float:
    """Return E_D from E_RMS in latent space and what the dropped components lose."""
    spread = float(np.sum((rows - rows.mean(axis=0)) ** 2))
    return 100 * float(np.sqrt((error**2 * len(rows) + dropped) / spread))


def _centred(clip: VertexClip) -> F64:
    """Return rows (N, M) of vertices about each frame's centroid, as the paper's errors count."""
    places = clip.vertices - clip.vertices.mean(axis=1, keepdims=True)
    return np.ascontiguousarray(places.reshape(clip.frame_count, -1))


def _fitted(points: F64, control_points: int, method: str) -> tuple[F64, float, float]:
    """Return knots, E_RMS and seconds of processor time."""
    found: list[F64] = []

    def search() -> None:
        knots = find_knots(points, control_points, 3, method=method, candidates=100, seed=0)
        found.append(knots)

    seconds = seconds_of(search)
    return found[0], bspline.fit(found[0], 3, points)[1], seconds


def _every_other(clip: Clip, start: int, frames: int) -> Clip:
    """Return `frames` frames at half the rate: the paper's clips exist at no full rate."""
    at = slice(start, start + 2 * frames, 2)
    turned = clip.rotations[at]
    header = clip.with_header(frame_count=len(turned), frame_time=2 * clip.frame_time)
    return Clip(header, turned, clip.translations[at])
