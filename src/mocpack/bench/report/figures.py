"""New matplotlib figures, for the extras `bench` and `papers`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mocpack.optional_packages import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches."""
    figures = require("matplotlib.figure", extra="bench", purpose="drawing what was measured")
    figure: Figure = figures.Figure(figsize=(width, height), layout="constrained")
    return figure
