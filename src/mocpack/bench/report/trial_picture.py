"""A picture of a search: every trial over two of its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mocpack.arrays import F64
from mocpack.codec import Goal, Trial
from mocpack.optional_packages import require


def draw_trials(
    trials: Sequence[Trial], best: Trial, axes: tuple[str, str], goal: Goal, path: Path
) -> None:
    """Draw the trials to a file; the color is the error, the best one has a ring."""
    figures = require("matplotlib.figure", extra="plot", purpose="a picture of the trials")
    figure = figures.Figure(figsize=(6.4, 4.4), layout="constrained")
    plot = figure.add_subplot()
    x, y = (_numbers(trials, name) for name in axes)
    errors = np.array([t.error for t in trials])
    points = plot.scatter(x, y, c=errors, s=18, cmap="viridis", norm=_norm(errors))
    figure.colorbar(points, label=goal.metric)
    at = [_numbers([best], name)[0] for name in axes]
    plot.plot(*at, "o", markersize=11, markerfacecolor="none", color="crimson", label="best")
    if "size" in axes and goal.size is not None:
        line = plot.axvline if axes[0] == "size" else plot.axhline
        line(goal.size, color="gray", linewidth=0.8, label="size asked for")
    plot.set_xlabel(_label(axes[0], goal))
    plot.set_ylabel(_label(axes[1], goal))
    plot.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _norm(errors: F64) -> str:
    return "log" if len(errors) and errors.min() > 0 else "linear"


def _label(name: str, goal: Goal) -> str:
    return {"size": "file size, bytes", "error": goal.metric}.get(name, name)


def _numbers(trials: Sequence[Trial], name: str) -> F64:
    """Return one number of each trial: "size", "payload", "error", or a field of its codec."""
    owners = [t if name in ("size", "payload", "error") else t.codec for t in trials]
    return np.array([np.nan if getattr(o, name) is None else getattr(o, name) for o in owners])
