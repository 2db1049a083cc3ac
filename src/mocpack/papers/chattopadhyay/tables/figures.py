"""Figures 5, 6 and 7 of Chattopadhyay, Bhandarkar and Li (2007): error and size over FDF and n_d.

The columns that FDF keeps are left alone: only so does the error dip to zero where all are kept,
as figure 6 shows; the sizes of Table 2 have them sparsed.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mocpack.arrays import F64
from mocpack.bench.papers.verdicts import Line, judge_claim
from mocpack.bench.report.figures import new_figure
from mocpack.bench.report.markdown import markdown_table
from mocpack.clip import Clip
from mocpack.papers.chattopadhyay.codec.bap_index import BapIndex, BapSparse
from mocpack.papers.chattopadhyay.tables.coding import KB, code_all
from mocpack.rate import raw_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIGURES = BapSparse(variant="literal")  # b = 8 and K = 0.1, as the captions say
SHARES = (0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.87, 0.9, 0.95, 1.0)  # values of f
TREND = 0.5  # rank correlation from which on we speak of a general trend
PRINTED_BEST = (41, 60)
PRINTED_SHARE = 0.87  # f of the jog in section 5, within which the least T·DEF is looked for


@dataclass(frozen=True)
class Surface:
    """What a codec makes of a clip at every point of a grid.

    Attributes
    ----------
    name : str
    original : int
        Bytes of the clip as float32.
    fixed, rows : sequences of int
        Values of FDF and n_d.
    sizes, errors : array, shape (len(fixed), len(rows))
        Bytes as the paper counts them; DEF.
    """

    name: str
    original: int
    fixed: Sequence[int]
    rows: Sequence[int]
    sizes: F64
    errors: F64

    @property
    def best(self) -> tuple[int, int]:
        """Return FDF and n_d of the least T·DEF within `PRINTED_SHARE` of the original."""
        fits = self.sizes <= PRINTED_SHARE * self.original
        at = int(np.argmin(np.where(fits, self.sizes * self.errors, np.inf)))
        return self.fixed[at // len(self.rows)], self.rows[at % len(self.rows)]


def surface(
    name: str, clip: Clip, *, every: tuple[int, int] = (1, 1), codec: BapIndex = FIGURES
) -> Surface:
    """Code a clip with FDF from 1 to all and n_d from 30 to 120, or every so many of them."""
    all_fixed, all_rows, _ = codec.search_grid(clip)
    # all columns kept is the end of the figures, and stands on every grid
    fixed = sorted({*all_fixed[:: every[0]], all_fixed[-1]})
    rows = [*all_rows[:: every[1]]]
    codecs = [replace(codec, FDF=f, n_d=n) for f in fixed for n in rows]
    coded = code_all(codecs, clip, name)
    shape = len(fixed), len(rows)
    sizes = np.array([c.counted for c in coded], float).reshape(shape)
    errors = np.array([c.error for c in coded]).reshape(shape)
    return Surface(name, raw_size(clip), fixed, rows, sizes, errors)


def least_errors(found: Surface) -> list[tuple[float, float, float]]:
    """Figure 6: for each f the least DEF within f of the original, as (f, KB, DEF)."""
    curve = []
    for share in SHARES:
        fitting = found.sizes <= share * found.original
        if not fitting.any():
            continue
        at = np.argmin(np.where(fitting, found.errors, np.inf))
        curve.append((share, float(found.sizes.flat[at]) / KB, float(found.errors.flat[at])))
    return curve


def write_figures(jog: Surface, others: Sequence[Surface], out: Path) -> None:
    """Draw the figures, and write their numbers beside them."""
    figure = new_figure(10, 4)
    _panel(figure.add_subplot(121), jog, jog.errors, "DEF, CMU units")
    _panel(figure.add_subplot(122), jog, jog.sizes / KB, "T, KB", scale="linear")
    figure.savefig(out / "paper-001-figure-5.png", dpi=100)
    figure = new_figure(6, 4)
    axes = figure.add_subplot()
    curve = least_errors(jog)
    axes.plot([kb for _, kb, _ in curve], [error for *_, error in curve], "o-", markersize=3)
    axes.set(xlabel="T, KB", ylabel="DEF, CMU units", title=f"{jog.name}: least DEF within f")
    figure.savefig(out / "paper-001-figure-6.png", dpi=100)
    if others:
        lines_of_three = -(-len(others) // 3)
        figure = new_figure(12, 3 * lines_of_three)
        for place, found in enumerate(others, 1):
            _panel(figure.add_subplot(lines_of_three, 3, place), found, found.errors, "DEF")
        figure.savefig(out / "paper-001-figure-7.png", dpi=80)
    _write_numbers([jog, *others], out / "paper-001-surfaces.csv")
    (out / "paper-001-figures-5-to-7.md").write_text(tables(jog, others), encoding="utf-8")


def tables(jog: Surface, others: Sequence[Surface]) -> str:
    """Return the figures in numbers."""
    rows = _places(jog.rows, 4)
    head = ["FDF:", *(f"n_d {jog.rows[n]}, DEF:" for n in rows)]
    head += [f"n_d {jog.rows[n]}, KB:" for n in rows]
    lines = [
        [jog.fixed[f], *(f"{jog.errors[f, n]:.3g}" for n in rows)]
        + [f"{jog.sizes[f, n] / KB:.2f}" for n in rows]
        for f in _places(jog.fixed, 10)
    ]
    parts = [f"## Figure 5: {jog.name}, DEF and size", "", markdown_table(head, lines), ""]
    curve = [(f"{100 * f:.0f} %", f"{kb:.2f}", f"{e:.3g}") for f, kb, e in least_errors(jog)]
    parts += [f"## Figure 6: {jog.name}, least DEF within a share f of the original", ""]
    parts += [markdown_table(["f:", "KB:", "DEF:"], curve), ""]
    if others:
        parts += ["## Figure 7: DEF of the other motions, mean over n_d", ""]
        parts += [_means_table(others), ""]
    return "\n".join(parts)


def figure_lines(jog: Surface, others: Sequence[Surface]) -> list[Line]:
    """Return one line per claim about the figures."""
    every = (jog, *others)
    lines = [claim_falls(one, "Figures 5 and 7") for one in every]
    for one in every:
        by_fdf, by_rows = _spread(one.errors, 1), _spread(one.errors, 0)
        lines.append(
            judge_claim(
                "Figure 7",
                "DEF depends more on FDF than on n_d",
                one.name,
                "more",
                f"range {by_fdf:.3g} against {by_rows:.3g}",
                by_fdf > by_rows,
            )
        )
    trend = float(np.corrcoef(jog.rows, jog.sizes.mean(axis=0))[0, 1])
    lines.append(
        judge_claim(
            "Section 5.1.1",
            "jog: how T depends on n_d",
            "jog",
            "grows linearly",
            f"correlation {trend:.2f}",
            trend > TREND,
            why="it falls: longer segments need fewer tables",
        )
    )
    lines.append(
        judge_claim(
            "Section 5.2",
            f"jog: FDF and n_d of the least T·DEF within {100 * PRINTED_SHARE:.0f} %",
            "jog",
            "41, 60 of 62 columns",
            f"{jog.best[0]}, {jog.best[1]} of {max(jog.fixed)} columns",
            jog.best == PRINTED_BEST,
            why="other columns, and the surface is rough",
        )
    )
    _, size, error = least_errors(jog)[-1]
    lines.append(
        judge_claim(
            "Figure 6",
            "jog: DEF at the original's size",
            "jog",
            "zero",
            f"{error:.1g} at {size:.1f} KB",
            error < 1e-3,
        )
    )
    return lines


def claim_falls(found: Surface, where: str) -> Line:
    """Return whether DEF falls as FDF grows, by the rank correlation of the two."""
    means = found.errors.mean(axis=1)
    order = np.corrcoef(np.arange(len(means)), np.argsort(np.argsort(means)))[0, 1]
    ours = f"rank correlation {order:.2f}"
    return judge_claim(
        where, "DEF falls as FDF grows", found.name, "falls", ours, bool(order < -TREND)
    )


def _spread(errors: F64, over: int) -> float:
    """Return the range of the mean over one axis: what the other one does."""
    return float(np.ptp(errors.mean(axis=over)))


def _means_table(found: Sequence[Surface]) -> str:
    shares = (0.0, 0.25, 0.5, 0.75, 1.0)
    head = ["motion", "columns:", *(f"FDF {100 * s:.0f} % of them:" for s in shares)]
    head += ["range over n_d, mean:", "least T·DEF at FDF, n_d"]
    rows = []
    for one in found:
        means = one.errors.mean(axis=1)
        at = [round(s * (len(means) - 1)) for s in shares]
        across = float(np.ptp(one.errors, axis=1).mean())
        best = f"{one.best[0]}, {one.best[1]}"
        cells = [f"{means[k]:.3g}" for k in at]
        rows.append([one.name, max(one.fixed), *cells, f"{across:.2g}", best])
    return markdown_table(head, rows)


def _panel(axes: Axes, found: Surface, values: F64, label: str, *, scale: str = "log") -> None:
    shown = np.maximum(values, 1e-3) if scale == "log" else values
    drawn = axes.pcolormesh(found.rows, found.fixed, shown, norm=scale, cmap="viridis")
    axes.figure.colorbar(drawn, ax=axes, label=label)
    axes.set(xlabel="n_d", ylabel="FDF", title=found.name)


def _write_numbers(found: Sequence[Surface], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["motion", "FDF", "n_d", "bytes", "def"])
        for one in found:
            for f, sizes, errors in zip(one.fixed, one.sizes, one.errors, strict=True):
                for n, size, error in zip(one.rows, sizes, errors, strict=True):
                    writer.writerow([one.name, f, n, int(size), f"{error:.6g}"])


def _places(values: Sequence[int], wanted: int) -> list[int]:
    return sorted({round(k) for k in np.linspace(0, len(values) - 1, min(wanted, len(values)))})
