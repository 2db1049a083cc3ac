"""Figures 1, 2 and Table 1 of Mukai (2012), latent nonuniform splines, beside the printed ones."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mocpack import _api
from mocpack.arrays import F64
from mocpack.bench.datasets import describe_missing, find_clips_of
from mocpack.bench.papers.verdicts import (
    NONE,
    Line,
    Timing,
    compare,
    judge_claim,
    note_formula,
    write_results,
)
from mocpack.bench.report.figures import new_figure
from mocpack.bench.report.markdown import markdown_table
from mocpack.bench.runner.timing import seconds_of
from mocpack.clip import AnyClip, Clip, VertexClip
from mocpack.papers.mukai.codec import bspline, latent
from mocpack.papers.mukai.codec.bspline import uniform_knots
from mocpack.papers.mukai.codec.knots import GENERATIONS, evolve, find_knots
from mocpack.papers.mukai.codec.latent_spline import LatentSpline
from mocpack.papers.mukai.codec.pose_rows import SkeletonForm
from mocpack.papers.mukai.tables.particle_swarm import swarm_knots

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
ITERATIONS = {  # section 4.1: inner knots, CMA-ES generations and milliseconds of figure 2
    "(a) step": (12, "19"),
    "(b) two peaks": (12, "19"),
    "(c) cusp": (17, "26"),
    "(d) bump": (12, "19"),
}
MAX_ERROR_RATIO = 1.1  # within which two searches found the same error
OTHER_CLIP = "another clip; the paper's is not public"
PAGE_NOTES = (
    "Clips: the chicken is the paper's. The squirrel is not public and the captures are not named: "
    "a galloping horse, CMU 17_10 and CMU 05_03 stand in.",
    'E_D is computed about each frame\'s centroid; "IKs" is read as the number of control points. '
    "Only so do the chicken's errors with even knots come out.",
    "As printed: CMA-ES from even knots, 100 candidates. Ours now: from greedy insertion.",
)
SHARES = (  # figure 1: title, frames, values, components, control points, percent
    ("chicken", 400, 9090, 86, 50, "11"),
    ("squirrel", 104, 11505, 35, 40, "17"),
    ("dancing", 203, 72, 34, 20, "10"),
)


def reproduce(data: Path | None, out: Path) -> None:
    """Print the tables beside the paper's figures, and write them and the pictures to `out`."""
    out.mkdir(parents=True, exist_ok=True)
    names = list(dict.fromkeys(case.clip for case in CASES))
    found = find_clips_of(names, data)
    missing = [f"Left out: {describe_missing(name)}." for name in names if name not in found]
    for text in missing:
        _tell(text)
    functions, function_lines, timings = functions_table(out)
    clips, clip_lines, shares = clips_table(found)
    text = "\n\n".join([shares_table(shares), functions, clips, *missing])
    print(text)
    write_results([*share_lines(shares), *function_lines, *clip_lines], timings, out)
    (out / "paper_002.md").write_text(text + "\n", encoding="utf-8")


def _tell(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


def shares_table(real: Mapping[str, float]) -> str:
    """Return figure 1: the share of the original that is stored, by formula and of real files."""
    rows = []
    for line, (_, frames, values, components, controls, _) in zip(
        share_lines(real), SHARES, strict=True
    ):
        alone = f"{100 * controls * components / (frames * values):.2f}"
        rows.append([line.what, line.printed, line.literal, alone, line.ours])
    head = ["clip", "paper, %:", "mean, basis and control points at half width, %:"]
    head += ["control points alone, %:", "real file, %:"]
    return "## Figure 1: share of the original that is stored\n\n" + markdown_table(head, rows)


def share_lines(real: Mapping[str, float]) -> list[Line]:
    """Return figure 1: mean, basis and control points at half width, beside the real file's share.

    `real` has the share in percent by title, for clips that were coded.
    """
    lines = []
    for title, frames, values, components, controls, printed in SHARES:
        stored = 50 * (values * (1 + components) + controls * components) / (frames * values)
        share = f"{real[title]:.1f}" if title in real else NONE
        claim = "share of the original that is stored, % (by formula; real file)"
        lines.append(note_formula("Figure 1", claim, title, printed, f"{stored:.1f}", share))
    return lines


def functions_table(out: Path) -> tuple[str, list[Line], list[Timing]]:
    """Fit the four test functions with 100 candidates per generation, and draw figure 2."""
    rows, lines, timings = [], [], []
    figure = new_figure(10, 7)
    for place, (name, (values, inner)) in enumerate(FUNCTIONS.items()):
        _tell(f"figure 2: function {name}")
        points = values[:, np.newaxis].copy()
        found = {m: _fitted(points, inner + 4, m) for m in ("uniform", "cma", "fast")}
        (_, even, _), (_, cma, slow), (_, fast, quick) = found.values()
        generations, milliseconds = ITERATIONS[name]
        after, seconds = _evolve(points, inner + 4, generations)
        final, _ = _evolve(points, inner + 4, GENERATIONS)
        swarm = bspline.fit(swarm_knots(points, inner, 3, seed=0), 3, points)[1]
        lines += _function_lines(name, generations, even, after, final, swarm)
        claim = "CMA-ES of figure 2 in 12 / 12 / 17 / 12 iterations, ms"
        timings.append(Timing("Section 4.1", claim, name, milliseconds, f"{1000 * seconds:.0f}"))
        numbers = [f"{x:.4g}" for x in (even, after, final, cma, fast, swarm)]
        rows.append([name, inner, *numbers, f"{slow / quick:.1f}"])
        axes = figure.add_subplot(2, 2, place + 1)
        axes.plot(X, values, color="#b0b0b0", linewidth=4, label="function")
        for method, color in (("uniform", "#2563a8"), ("cma", "#c0392b")):
            knots, error, _ = found[method]
            controls, _ = bspline.fit(knots, 3, points)
            fine = np.linspace(0, 1, 500)
            curve = bspline.evaluate(knots, 3, fine, controls)[:, 0]
            axes.plot(fine, curve, color=color, linewidth=1.2, label=f"{method}, {error:.3g}")
            at = bspline.inner_knots(knots, 3)
            axes.plot(at, np.full(len(at), values.min()), "|", color=color, markersize=12)
        axes.set_title(name)
        axes.legend(fontsize=7)
    figure.savefig(out / "paper_002_figure_2.png", dpi=110)
    head = ["function", "inner knots:", "even:", "as printed, the paper's iterations:"]
    head += ["as printed, converged:", "CMA-ES, ours:", "fast:", "PSO:", "CMA-ES time / fast:"]
    text = "## Test functions: E_RMS (figure 2)\n\n" + markdown_table(head, rows)
    return text, lines, timings


def _function_lines(
    name: str, generations: int, even: float, after: float, final: float, swarm: float
) -> list[Line]:
    """Return what figure 2 and section 4.1 claim of one function, from E_RMS of each search."""
    return [
        judge_claim(
            "Figure 2",
            "free knots are far better than even ones (half the error)",
            name,
            "far below",
            f"{final / even:.3f} of the error",
            final < 0.5 * even,
        ),
        judge_claim(
            "Section 4.1",
            "12 iterations of CMA-ES converge, 17 for (c)",
            name,
            f"{generations} iterations",
            f"{after / final:.2f} times the converged error",
            after <= MAX_ERROR_RATIO * final,
            why="start and stopping rule of CMA-ES are not printed",
        ),
        judge_claim(
            "Section 4.1",
            "particle swarm optimization finds the same error",
            name,
            "no significant difference",
            f"{swarm / final:.2f} times the error",
            max(swarm / final, final / swarm) <= MAX_ERROR_RATIO,
            why="the two searches end in different local minima",
        ),
    ]


def clips_table(found: Mapping[str, Path]) -> tuple[str, list[Line], dict[str, float]]:
    """Return Table 1, its lines, and the share of the original of each title's last file, in %."""
    rows, lines, shares = [], [], {}
    for case in CASES:
        if case.clip not in found:
            lines += case_lines(case, None, None, None)
            continue
        _tell(f"table 1: {case.title}, {case.control_points} control points")
        row, own, share = _case_row(case, _api.read(found[case.clip]))
        rows.append(row)
        lines += own
        if case.own:
            shares[case.title] = share
    head = ["clip", "frames:", "values:", "components:", "control points:", "even:", "paper:"]
    head += ["CMA-ES from even knots:", "CMA-ES, ours:", "paper:", "free / even:", "paper:"]
    head += ["fast:", "CMA-ES time / fast:", "control points alone, B:", "file, B:"]
    return "## Table 1: E_D in percent\n\n" + markdown_table(head, rows), lines, shares


def case_lines(
    case: Case, even: float | None, literal: float | None, ours: float | None
) -> list[Line]:
    """Return the lines of one column of Table 1; without figures, of a clip that is missing."""
    why = "the paper's stopping rule is not printed" if case.own else OTHER_CLIP
    if even is None:
        why = describe_missing(case.clip)
    printed = case.paper or (NONE, NONE)
    title = "chicken" if case.own else "squirrel, punching, dancing"
    what = f"{case.title}, {case.control_points} control points"
    common: dict[str, Any] = {"kind": "error", "form": ".2f", "why": why, "comparable": case.own}
    return [
        compare("Table 1", f"{title}: E_D with even knots, %", what, printed[0], literal=even,
                **common),
        compare("Table 1", f"{title}: E_D with free knots, %", what, printed[1], literal=literal,
                ours=ours, **common),
    ]  # fmt: skip


def errors_of(clip: AnyClip, components: int, control_points: int, method: str) -> float:
    """Return E_D in percent of one column of Table 1."""
    rows, dropped, points = _latent(clip, components)
    return _percent(_fitted(points, control_points, method)[1], rows, dropped)


def _case_row(case: Case, clip: AnyClip) -> tuple[list[object], list[Line], float]:
    """Return a column of Table 1 as a row, its lines, and the file's share of the original in %."""
    if isinstance(clip, Clip):
        clip = _every_other(clip, case.start, case.frames)
    rows, dropped, points = _latent(clip, case.components)
    controls = min(case.control_points, len(points))
    (_, a, _), (_, b, slow), (_, c, quick) = (
        _fitted(points, controls, method) for method in ("uniform", "cma", "fast")
    )
    d, _ = _evolve(points, controls, GENERATIONS)
    even, cma, fast, literal = (_percent(error, rows, dropped) for error in (a, b, c, d))
    paper = case.paper or (None, None)
    ratio = f"{float(paper[1]) / float(paper[0]):.2f}" if paper[0] and paper[1] else "–"
    codec = LatentSpline(components=points.shape[1], control_points=controls, weights="none")
    sizes = 4 * controls * points.shape[1], len(_api.encode(clip, codec))
    row = [
        *(case.title, len(rows), rows.shape[1], points.shape[1], controls),
        *(f"{even:.2f}", paper[0] or "–", f"{literal:.2f}", f"{cma:.2f}", paper[1] or "–"),
        *(f"{cma / even:.2f}", ratio, f"{fast:.2f}", f"{slow / quick:.1f}", *sizes),
    ]
    return row, case_lines(case, even, literal, cma), 100 * sizes[1] / (4 * rows.size)


def _evolve(points: F64, control_points: int, generations: int) -> tuple[float, float]:
    """Return E_RMS of CMA-ES from even knots, as the paper has it, and seconds of its search."""
    found: list[F64] = []

    def search() -> None:
        start = uniform_knots(control_points, 3)
        found.append(
            evolve(
                points, control_points, 3,
                candidates=100, seed=0, start=start, generations=generations,
            )
        )  # fmt: skip

    seconds = seconds_of(search)
    return bspline.fit(found[0], 3, points)[1], seconds


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
    """Return `frames` frames at half the rate: no clip has the paper's frame count at full rate."""
    at = slice(start, start + 2 * frames, 2)
    turned = clip.rotations[at]
    header = clip.with_header(frame_count=len(turned), frame_time=2 * clip.frame_time)
    return Clip(header, turned, clip.translations[at])
