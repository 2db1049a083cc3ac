"""Figures 5, 6 and 7 of Chattopadhyay, Bhandarkar and Li (2007): error and size over FDF and n_d.

The columns that FDF keeps are not sparsed. Otherwise the error would not reach zero if all are
kept, as in figure 6. In the sizes of Table 2 they are sparsed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mocpack.bench.papers.verdicts import Line, judge_claim
from mocpack.common.arrays import F64
from mocpack.model.clip import Clip
from mocpack.papers.chattopadhyay.codec.bap_index import BapSparse
from mocpack.papers.chattopadhyay.tables.coding import KB, code_all
from mocpack.rate import raw_size

FIGURES = replace(BapSparse.from_params({"settings": "paper"}), sparse_fixed=False)
SHARES = (0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.87, 0.9, 0.95, 1.0)  # values of f
FIGURES_WHERE = "Figures 5–7"
SHAPE = "DEF falls with FDF, depends less on n_d, ends at zero"
FEWER_TABLES = "longer segments have fewer tables"
ROUGH = "T·DEF is rough, and BVH has other columns"
TREND = 0.5  # minimum rank correlation of a general trend
PRINTED_BEST = (41, 60)
PRINTED_SHARE = 0.87  # f of the jog in section 5, the limit for the smallest T·DEF


@dataclass(frozen=True)
class Surface:
    """Sizes and errors of a clip at every point of a grid.

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


def surface(name: str, clip: Clip, *, every: tuple[int, int] = (1, 1)) -> Surface:
    """Code a clip with FDF from 1 to all and n_d from 30 to 120, in steps of `every`."""
    all_fixed, all_rows, _ = FIGURES.search_grid(clip)
    # every grid ends with all columns kept, as the figures do
    fixed = sorted({*all_fixed[:: every[0]], all_fixed[-1]})
    rows = [*all_rows[:: every[1]]]
    codecs = [replace(FIGURES, FDF=f, n_d=n) for f in fixed for n in rows]
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


def surface_rows(found: Surface) -> list[dict[str, object]]:
    """Return the points of a surface as rows."""
    return [
        {"motion": found.name, "FDF": f, "n_d": n, "bytes": int(size), "DEF": f"{error:.6g}"}
        for f, sizes, errors in zip(found.fixed, found.sizes, found.errors, strict=True)
        for n, size, error in zip(found.rows, sizes, errors, strict=True)
    ]


def figure_lines(jog: Surface, others: Sequence[Surface]) -> list[Line]:
    """Return one line per claim about the figures."""
    every = (jog, *others)
    lines = [claim_falls(one) for one in every]
    for one in every:
        by_fdf, by_rows = _spread(one.errors, 1), _spread(one.errors, 0)
        found = f"range {by_fdf:.3g} over FDF, {by_rows:.3g} over n_d"
        what = f"{one.name}, more on FDF than on n_d"
        lines.append(judge_claim(FIGURES_WHERE, SHAPE, what, "yes", found, by_fdf > by_rows))
    _, size, error = least_errors(jog)[-1]
    found = f"{error:.1g} at {size:.1f} KB"
    lines.append(
        judge_claim(
            FIGURES_WHERE, SHAPE, "jog, zero at the original's size", "yes", found, error < 1e-3
        )
    )
    where, claim = "Section 5", "jog: T over n_d; FDF, n_d of least T·DEF"
    trend = float(np.corrcoef(jog.rows, jog.sizes.mean(axis=0))[0, 1])
    return [
        *lines,
        judge_claim(
            where,
            claim,
            "T over n_d",
            "grows linearly",
            f"correlation {trend:.2f}",
            trend > TREND,
            why=FEWER_TABLES,
        ),
        judge_claim(
            where,
            claim,
            "least T·DEF",
            "41, 60 of 62 columns",
            f"{jog.best[0]}, {jog.best[1]} of {max(jog.fixed)} columns",
            jog.best == PRINTED_BEST,
            why=ROUGH,
        ),
    ]


def claim_falls(found: Surface) -> Line:
    """Return whether DEF falls as FDF grows, by the rank correlation of the two."""
    means = found.errors.mean(axis=1)
    order = np.corrcoef(np.arange(len(means)), np.argsort(np.argsort(means)))[0, 1]
    what, ours = f"{found.name}, falls", f"rank correlation {order:.2f}"
    return judge_claim(FIGURES_WHERE, SHAPE, what, "yes", ours, bool(order < -TREND))


def _spread(errors: F64, over: int) -> float:
    """Return the range of the mean over one axis, which is the effect of the other axis."""
    return float(np.ptp(errors.mean(axis=over)))
