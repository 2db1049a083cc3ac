"""The plots of the bench, as matplotlib figures made from rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mocpack.bench.report.curves import curves
from mocpack.bench.rows import Row, get_number
from mocpack.common.optional_packages import require

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

MARKS = "osD^vP*Xhd"
PALETTE = (
    "#2563a8",
    "#c0392b",
    "#2a8f57",
    "#8e44ad",
    "#d08700",
    "#16808c",
    "#8a5a44",
    "#d6498f",
)
EXACT = 1e-6  # in any unit; smaller errors are rounding
MAX_FOLDS = 300.0  # maximum range of an axis with ticks at 2 and 5


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of that size in inches."""
    figures = require("matplotlib.figure", extra="bench", purpose="plots of the bench")
    figure: Figure = figures.Figure(figsize=(width, height), layout="constrained")
    return figure


def choose_color(codecs: Sequence[str], codec: str) -> str:
    """Return a color for a codec that stays the same in every picture of a report."""
    return PALETTE[list(codecs).index(codec) % len(PALETTE)]


def format_target(target: str | None) -> str:
    """Format a target: ``max_error=5mm`` is "≤ 5 mm".

    >>> format_target("max_error=5mm"), format_target("ratio=20")
    ('≤ 5 mm', '20 : 1')
    """
    name, _, value = (target or "").partition("=")
    value = value.replace("mm", " mm")
    words = {"max_error": "≤ {}", "mean_error": "mean ≤ {}", "ratio": "{} : 1", "size": "{}"}
    return words.get(name, "").format(value)


def use_plain_ticks(axis: Axis, *, logarithmic: bool = False) -> None:
    """Give an axis plain ticks such as 0.5, 20 and 1,000, without powers of ten."""
    tickers = require("matplotlib.ticker", extra="bench", purpose="plots of the bench")
    if logarithmic:
        low, high = axis.get_view_interval()
        subs = (1.0, 2.0, 5.0) if high / low < MAX_FOLDS else (1.0,)
        axis.set_major_locator(tickers.LogLocator(subs=subs))
        axis.set_minor_formatter(tickers.NullFormatter())
    axis.set_major_formatter(tickers.FuncFormatter(lambda value, _: format_tick(value)))


def format_tick(value: float) -> str:
    """Return a number without an exponent.

    >>> format_tick(0.001), format_tick(12.5), format_tick(20000.0)
    ('0.001', '12.5', '20,000')
    """
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return str(np.format_float_positional(value, 4, fractional=False, trim="-"))


def describe_failures(rows: Sequence[Row], codec: str) -> str:
    """Return the number of rows on which a codec failed for a legend, or ""."""
    mine = [r for r in rows if r["codec"] == codec]
    failed = len(mine) - len(_drop_failed(mine))
    return f" (failed {failed} of {len(mine)})" if failed else ""


def plot_rate_distortion(rows: Sequence[Row], metric: str, label: str) -> Figure:
    """Bits per frame against an error, both logarithmic; clips thin, their geometric mean bold.

    A codec without any error has no point on these axes: a dotted line marks its size. Codecs that
    failed everywhere are named without a curve.
    """
    figure = new_figure(7.5, 5)
    axes = figure.add_subplot()
    codecs = _list_codecs(rows)
    drawn = curves(rows, metric)
    for codec in codecs:
        color = choose_color(codecs, codec)
        name = codec + describe_failures(rows, codec)
        for rate, error in [curve for (_, owner), curve in drawn.items() if owner == codec]:
            seen = error > EXACT
            axes.plot(rate[seen], error[seen], color=color, alpha=0.25, linewidth=0.8)
        rates, errors = _mean_points(rows, codec, metric)
        exact = [r["bits_per_frame"] for r in _drop_failed(rows) if r["codec"] == codec]
        if rates or not exact:
            mark = MARKS[codecs.index(codec) % len(MARKS)]
            axes.plot(rates, errors, mark + "-", color=color, markersize=4, label=name)
        else:
            size = float(np.exp(np.mean(np.log(exact))))
            axes.axvline(size, color=color, linestyle=":", label=f"{name}: no error")
    axes.set(xscale="log", yscale="log", xlabel="bits per frame, whole file", ylabel=label)
    for axis in (axes.xaxis, axes.yaxis):
        use_plain_ticks(axis, logarithmic=True)
    axes.grid(alpha=0.3, which="major", linewidth=0.4)
    if codecs:
        axes.legend(fontsize=9)
    return figure


def plot_sizes(rows: Sequence[Row]) -> Figure:
    """Mean bits per frame of each codec at each target, including failures."""
    codecs, good = _list_codecs(rows), _drop_failed(rows)
    bars = []
    for target in dict.fromkeys(r["target"] for r in rows if r.get("target")):
        for codec in codecs:
            mine = [r for r in rows if (r["target"], r["codec"]) == (target, codec)]
            if mine:
                sizes = [r["bits_per_frame"] for r in mine if r in good]
                mean = float(np.mean(sizes)) if sizes else 0.0
                label = f"{mean:,.0f}" * bool(sizes) + describe_failures(mine, codec)
                name = f"{format_target(target)}  {codec}"
                bars.append((name, mean, choose_color(codecs, codec), label.strip()))
    labels, values, colors, words = zip(*bars, strict=True) if bars else ((), (), (), ())
    figure = new_figure(8, 0.9 + 0.28 * max(1, len(bars)))
    axes = figure.add_subplot()
    # a list: matplotlib 3.8.0 takes a tuple of two for one color and its alpha
    drawn = axes.barh(labels, values, color=list(colors))
    axes.bar_label(drawn, words, padding=3, fontsize=9)
    axes.invert_yaxis()
    axes.margins(x=0.25, y=0.01)
    axes.set(xlabel="bits per frame, whole file, mean over clips")
    use_plain_ticks(axes.xaxis)
    axes.tick_params(axis="y", labelsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _list_codecs(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(r["codec"] for r in rows))


def _drop_failed(rows: Sequence[Row]) -> list[Row]:
    return [r for r in rows if r.get("failure") is None]


def _mean_points(rows: Sequence[Row], codec: str, metric: str) -> tuple[list[float], list[float]]:
    """Return the geometric means of rate and error over clips, target by target."""
    mine = [
        r
        for r in _drop_failed(rows)
        if r["codec"] == codec and (get_number(r, metric) or 0) > EXACT
    ]
    points = []
    for target in dict.fromkeys(r["target"] for r in mine):
        at = [r for r in mine if r["target"] == target]
        rate = np.exp(np.mean(np.log([r["bits_per_frame"] for r in at])))
        error = np.exp(np.mean(np.log([get_number(r, metric) or 0 for r in at])))
        points.append((float(rate), float(error)))
    points.sort()
    return [p[0] for p in points], [p[1] for p in points]
