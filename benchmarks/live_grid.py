"""The grid of `bench_live.py grid`: displayed frames and bits by loss, rate and delay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from live_network import Network
from live_run import run_live
from mocpack.bench.report.markdown import markdown_table
from mocpack.bench.report.plots import new_figure
from mocpack.model.clip import Clip

REPORTS = 6  # frames between two reports of a receiver
LOSSES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
BOUNDS = (0.001, 0.002, 0.005, 0.01, 0.02)  # meters; the error determines the rate
DELAYS = (0, 1, 2, 4, 8, 12)  # frames


@dataclass(frozen=True)
class GridRow:
    """One point of error over loss, rate and delay."""

    loss: float
    burst: int
    bound: float
    behind: int
    within: float
    received: float
    median: float
    kbits: float


def live_grid(
    clip: Clip, done: Callable[[], None] = lambda: None, frames: int = 600
) -> list[GridRow]:
    """Return displayed frames by loss × delay and by loss × rate, for single and burst losses."""
    part = clip.frames(0, min(frames, clip.frame_count))
    points = [(0.005, behind) for behind in DELAYS]
    points += [(bound, 4) for bound in BOUNDS if (bound, 4) not in points]
    rows = []
    for burst in (1, 5):
        for loss in LOSSES:
            for bound, behind in points:
                run = run_live(
                    part,
                    Network(seed=3, loss=loss, burst=burst),
                    max_error=bound,
                    behind=behind,
                    report_every=REPORTS,
                )
                seen = run.errors[np.isfinite(run.errors)]
                median = float(np.median(seen)) if len(seen) else np.inf
                rows.append(
                    GridRow(loss, burst, bound, behind, run.within, run.received, median, run.kbits)
                )
                done()
    return rows


def grid_size() -> int:
    """Return the number of runs of `live_grid`."""
    extra = sum((bound, 4) != (0.005, 4) for bound in BOUNDS)
    return 2 * len(LOSSES) * (len(DELAYS) + extra)


def write_grid(rows: Sequence[GridRow], out: Path) -> list[Path]:
    """Write the table and the plot of frames within the bound by loss, delay and rate."""
    made = [out / "live.md", out / "live.png"]
    heading = ["lost", "in runs of", "max_error", "frames late", "within", "received", "kbit/s"]
    cells = [
        [
            f"{100 * r.loss:g} %",
            str(r.burst),
            f"{1000 * r.bound:g} mm",
            str(r.behind),
            f"{100 * r.within:.1f} %",
            f"{100 * r.received:.1f} %",
            f"{r.kbits:.1f}",
        ]
        for r in rows
    ]
    made[0].write_text(markdown_table(heading, cells) + "\n", encoding="utf-8")
    figure = new_figure(10.0, 6.5)
    axes = figure.subplots(2, 2)
    for row, burst in enumerate((1, 5)):
        _by_delay(axes[row][0], [r for r in rows if r.burst == burst], burst)
        _by_rate(axes[row][1], [r for r in rows if r.burst == burst], burst)
    figure.savefig(made[1], dpi=110)
    return made


def _by_delay(axes: Any, rows: Sequence[GridRow], burst: int) -> None:
    for behind in DELAYS:
        line = [r for r in rows if (r.bound, r.behind) == (0.005, behind)]
        axes.plot(
            [100 * r.loss for r in line], [100 * r.within for r in line], label=f"{behind} frames"
        )
    axes.set(xlabel="packets lost, %", ylabel="frames within 5 mm, %")
    axes.set_title(f"shown late by, lost in runs of {burst}", fontsize=10)
    axes.legend(fontsize=8)


def _by_rate(axes: Any, rows: Sequence[GridRow], burst: int) -> None:
    for loss in LOSSES:
        line = [r for r in rows if (r.loss, r.behind) == (loss, 4)]
        line.sort(key=lambda r: r.kbits)
        axes.plot(
            [r.kbits for r in line],
            [1000 * r.median for r in line],
            ".-",
            label=f"{100 * loss:g} %",
        )
    axes.set(xlabel="kbit/s with headers", ylabel="error of the median frame, mm", yscale="log")
    axes.set_title(f"lost, in runs of {burst}; shown 4 frames late", fontsize=10)
    axes.legend(fontsize=8)
