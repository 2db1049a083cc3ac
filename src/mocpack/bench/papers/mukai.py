"""Mukai 2012, latent nonuniform splines, made again: figure 2 and Table 1."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mocpack import _api
from mocpack.bench.datasets import describe_missing, find_clips_of
from mocpack.bench.report.figures import new_figure
from mocpack.clip import AnyClip, Clip, VertexClip
from mocpack.codecs.latent_spline import bspline, latent
from mocpack.codecs.latent_spline.codec import LatentSpline
from mocpack.codecs.latent_spline.knots import find_knots
from mocpack.codecs.latent_spline.pose_rows import SkeletonForm, VertexForm

F64 = npt.NDArray[np.float64]

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
    """One column of Table 1: the paper's E_D for even and for free knots, where it has one.

    `clip` is the clip's name; of a skeleton's, every other of 2 × `frames` frames from `start`.
    """

    title: str
    clip: str
    components: int
    inner_knots: int
    paper: tuple[float, float] | None
    start: int = 0
    frames: int = 0


CHICKEN, HORSE = "mesh/chickenCrossing", "mesh/horse-gallop"
BOXING, DANCING = "cmu/17_10", "cmu/05_03"
CASES = (
    Case("chicken", CHICKEN, 86, 30, (24.1, 11.8)),
    Case("chicken", CHICKEN, 86, 50, (14.9, 7.3)),
    Case("horse (paper: squirrel)", HORSE, 35, 10, None),
    Case("horse (paper: squirrel)", HORSE, 35, 20, None),
    Case("boxing 17_10 (paper: punching)", BOXING, 35, 30, (18.8, 13.4), 301, 538),
    Case("boxing 17_10 (paper: punching)", BOXING, 35, 50, (11.2, 7.7), 301, 538),
    Case("dancing 05_03 (paper: dancing)", DANCING, 34, 20, (22.8, 12.8), 1, 203),
    Case("dancing 05_03 (paper: dancing)", DANCING, 34, 40, (3.7, 2.6), 1, 203),
)


def reproduce(data: Path | None, out: Path) -> None:
    """Print the tables beside the paper's figures; write them and the pictures to `out`."""
    names = list(dict.fromkeys(case.clip for case in CASES))
    found = find_clips_of(names, data)
    lines = [*functions_table(out), "", *clips_table(found), ""]
    if CHICKEN in found:
        lines += knots_for_the_papers_error(found[CHICKEN])
    lines += [f"Left out: {describe_missing(name)}." for name in names if name not in found]
    text = "\n".join(lines)
    print(text)
    (out / "paper_002.md").write_text(text + "\n", encoding="utf-8")


def functions_table(out: Path) -> list[str]:
    """Fit the four test functions, 100 candidates a generation, and draw figure 2."""
    lines = [
        "## Test functions: E_RMS (figure 2)",
        "| function | inner knots | even | CMA-ES | s | fast | s |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    figure = new_figure(10, 7)
    for place, (name, (values, inner)) in enumerate(FUNCTIONS.items()):
        points = values[:, np.newaxis].copy()
        found = {m: _fitted(points, inner + 4, m) for m in ("uniform", "cma", "fast")}
        (_, even, _), (_, cma, t_cma), (_, fast, t_fast) = found.values()
        lines.append(
            f"| {name} | {inner} | {even:.4g} | {cma:.4g} | {t_cma:.2f} | {fast:.4g} "
            f"| {t_fast:.2f} |"
        )
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
    return lines


def clips_table(found: Mapping[str, Path]) -> list[str]:
    """Table 1: distortion of even and free knots, with sizes counted both ways."""
    lines = [
        "## Table 1: E_D in percent",
        "| clip | frames | values | components | inner knots | even (paper) | CMA-ES (paper) "
        "| ratio (paper) | fast | CMA s | fast s | control points B | file B |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for case in CASES:
        if case.clip in found:
            lines.append(_case_line(case, _api.read(found[case.clip])))
    return lines


def knots_for_the_papers_error(chicken: Path) -> list[str]:
    """Which numbers of even inner knots give the paper's uniform errors on its own chicken."""
    rows, total, found = _latent(_api.read(chicken), 86)
    lines = ["## Even knots that give the paper's errors on the chicken", "| inner knots | E_D |"]
    lines.append("|--:|--:|")
    for inner in (30, 50, 70, 86, 100, 120, 140):
        _, error, _ = _fitted(found, inner + 4, "uniform")
        lines.append(f"| {inner} | {_percent(error, rows, total):.1f} |")
    return lines


def _case_line(case: Case, clip: AnyClip) -> str:
    if isinstance(clip, Clip):
        clip = _every_other(clip, case.start, case.frames)
    rows, total, points = _latent(clip, case.components)
    even = _percent(_fitted(points, case.inner_knots + 4, "uniform")[1], rows, total)
    _, cma_error, cma_time = _fitted(points, case.inner_knots + 4, "cma")
    _, fast_error, fast_time = _fitted(points, case.inner_knots + 4, "fast")
    cma, fast = _percent(cma_error, rows, total), _percent(fast_error, rows, total)
    paper = ("", "", "")
    if case.paper:
        a, b = case.paper
        paper = (f" ({a})", f" ({b})", f" ({b / a:.2f})")
    codec = LatentSpline(
        components=points.shape[1], control_points=case.inner_knots + 4, weights="none"
    )
    handles = 4 * (case.inner_knots + 4) * points.shape[1]
    size = len(_api.encode(clip, codec))
    return (
        f"| {case.title} | {len(rows)} | {rows.shape[1]} | {points.shape[1]} "
        f"| {case.inner_knots} | {even:.1f}{paper[0]} | {cma:.1f}{paper[1]} "
        f"| {cma / even:.2f}{paper[2]} | {fast:.1f} | {cma_time:.1f} | {fast_time:.1f} "
        f"| {handles} | {size} |"
    )


def _latent(clip: AnyClip, components: int) -> tuple[F64, float, F64]:
    """Return rows (N, M), the squared error of the dropped components, and the scores (N, L)."""
    if isinstance(clip, VertexClip):
        rows = VertexForm(clip.header.vertex_count).rows(clip)
    else:
        rows = SkeletonForm.of(clip, "none").rows(clip)
    found = latent.principal_components(rows)
    kept = np.ascontiguousarray(found.scores[:, :components])
    return rows, float(np.sum(found.scores[:, components:] ** 2)), kept


def _percent(error: float, rows: F64, dropped: float) -> float:
    """Return E_D from E_RMS in latent space and what the dropped components lose."""
    spread = float(np.sum((rows - rows.mean(axis=0)) ** 2))
    return 100 * float(np.sqrt((error**2 * len(rows) + dropped) / spread))


def _fitted(points: F64, control_points: int, method: str) -> tuple[F64, float, float]:
    """Return knots, E_RMS and seconds."""
    control_points = min(control_points, len(points))
    started = time.perf_counter()
    knots = find_knots(points, control_points, 3, method=method, candidates=100, seed=0)
    seconds = time.perf_counter() - started
    return knots, bspline.fit(knots, 3, points)[1], seconds


def _every_other(clip: Clip, start: int, frames: int) -> Clip:
    """Return `frames` frames at half the rate: the paper's clips exist at no full rate."""
    at = slice(start, start + 2 * frames, 2)
    turned = clip.rotations[at]
    header = clip.with_header(frame_count=len(turned), frame_time=2 * clip.frame_time)
    return Clip(header, turned, clip.translations[at])


if __name__ == "__main__":
    Path("report").mkdir(exist_ok=True)
    reproduce(None, Path("report"))
