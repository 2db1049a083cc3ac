"""Compare printed figures with ours, and check printed statements.

A paper's ``tables.reproduce`` returns one `Line` per printed figure and one `Timing` per printed
time (`Results`). `write_results` keeps them in the paper's folder, ``lines.csv`` and
``timings.csv``. The page of all papers is made from these files.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields
from pathlib import Path
from typing import TypeVar

from mocpack.common.texts import escape_cell

TOLERANCES = {
    "size": 0.10,  # bytes of a deterministic encoder
    "error": 0.10,  # error of a deterministic encoder
    "share": 0.10,  # ratios and percentages
    "count": 0.0,  # numbers that the paper prints exactly
    "search": 0.30,  # counts of a random search
    "unnamed unit": 0.30,  # errors of a paper that names neither unit nor quantizer steps
}
"""Largest relative difference from the printed figure that still counts as reproduced."""

KINDS = (
    "reproduced",
    "better",
    "worse",
    "differs",
    "holds",
    "fails",
    "not comparable",
    "not measured",
)
LINES, TIMINGS = "lines.csv", "timings.csv"
NONE = "–"  # in place of a figure that does not exist
UNKNOWN = "unexplained"
FORMULA = "formula"


@dataclass(frozen=True)
class Line:
    """One printed figure and ours.

    Attributes
    ----------
    where : str
        Table, figure or section of the paper.
    claim : str
        The claim that the figure belongs to. Lines of one claim are one row of the page.
    what : str
        Which figure of the claim: "09_01 at 1.4 cm".
    printed, literal, ours : str
        The paper's figure; ours by the method as the paper prints it; ours by our best version of
        it. `NONE` where there is none. A mean over seeds has its range: ``177[129–227]``.
    verdict : str
        One of `KINDS`. It judges `literal`, or `ours` where there is no literal version.
    reason : str
        Why the figures differ, or why there is no verdict. Empty for *reproduced* and *holds*.
    """

    where: str
    claim: str
    what: str
    printed: str
    literal: str
    ours: str
    verdict: str
    reason: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in KINDS:
            raise ValueError(f"verdict must be one of {', '.join(KINDS)}, got {self.verdict!r}")
        if self.verdict not in ("reproduced", "holds") and not self.reason:
            raise ValueError(f"{self.where}, {self.what}: verdict {self.verdict!r} needs a reason")

    @property
    def judged(self) -> str:
        """Return the figure that the verdict is about."""
        return self.ours if self.literal == NONE else self.literal


@dataclass(frozen=True)
class Timing:
    """A printed time and ours, without a verdict, because the hardware differs."""

    where: str
    claim: str
    what: str
    printed: str
    ours: str


@dataclass(frozen=True)
class Results:
    """All that reproducing a paper gives.

    `tables` are further measurements, by name: rows with the same keys, written as CSV.
    """

    lines: Sequence[Line]
    timings: Sequence[Timing] = ()
    tables: Mapping[str, Sequence[Mapping[str, object]]] = field(default_factory=dict)


def compare(
    where: str,
    claim: str,
    what: str,
    printed: float | str,
    *,
    literal: float | Sequence[float] | None = None,
    ours: float | None = None,
    kind: str,
    less_is_better: bool | None = True,
    form: str = ".3g",
    why: str = UNKNOWN,
    comparable: bool = True,
) -> Line:
    """Return the line of a number.

    Parameters
    ----------
    printed : float or str
        As the paper prints it. The last digit of a text says how exactly.
    literal : float, sequence of float or None
        By the method as printed. Several are results of a random method, one per seed: their mean
        is judged, and a printed number within their range is reproduced.
    ours : float or None
        By our version of the method.
    kind : str
        A key of `TOLERANCES`.
    less_is_better : bool or None
        None where neither direction is better: such numbers *differ*.
    form : str
        Format of `literal` and `ours`.
    why : str
        Why the two differ, in either direction, or why there is nothing to compare.
    comparable : bool
        False where clip or metric are not the paper's.

    >>> compare("Table 1", "size, KB", "jog", "10.9", ours=12.345, kind="size").verdict
    'worse'
    """
    runs = [*literal] if isinstance(literal, Sequence) else []
    mean = sum(runs) / len(runs) if runs else literal
    assert not isinstance(mean, Sequence)
    judged = ours if mean is None else mean
    kind_of = verdict(judged, printed, kind=kind, less_is_better=less_is_better)
    if runs and min(runs) <= float(printed) <= max(runs):
        kind_of = "reproduced"
    if kind_of != "not measured" and not comparable:
        kind_of = "not comparable"
    reason = "" if kind_of == "reproduced" else why
    texts = [NONE if value is None else format(value, form) for value in (mean, ours)]
    texts[0] += write_range(runs, form)
    return Line(where, claim, what, str(printed), texts[0], texts[1], kind_of, reason)


def write_range(runs: Sequence[float], form: str) -> str:
    """Return the range of several results in brackets; nothing if all are written alike.

    >>> write_range([129.0, 227.0], ".0f"), write_range([1.0], ".2f")
    ('[129–227]', '')
    """
    if not runs:
        return ""
    low, high = format(min(runs), form), format(max(runs), form)
    return "" if low == high else f"[{low}–{high}]"


def judge_claim(
    where: str,
    claim: str,
    what: str,
    printed: str,
    found: str,
    holds: bool,
    *,
    why: str = UNKNOWN,
    comparable: bool = True,
) -> Line:
    """Return the line of a statement, which holds or fails; `why` it does not, or has no verdict.

    It is about the method as printed.
    """
    said = "holds" if holds else "fails"
    if not comparable:
        return Line(where, claim, what, printed, f"{said}: {found}", NONE, "not comparable", why)
    return Line(where, claim, what, printed, found, NONE, said, "" if holds else why)


def note_formula(
    where: str, claim: str, what: str, printed: str, by_formula: str, real: str = NONE
) -> Line:
    """Return the line of a computed figure, with the measured one."""
    return Line(where, claim, what, printed, by_formula, real, "not measured", FORMULA)


def verdict(
    ours: float | None,
    printed: float | str,
    *,
    kind: str,
    less_is_better: bool | None = True,
) -> str:
    """Return the verdict on one number, by the same rule in both directions.

    >>> verdict(24.10, "24.1", kind="error"), verdict(9.9, "11.8", kind="error")
    ('reproduced', 'better')
    >>> verdict(33.1, "13.4", kind="error"), verdict(None, "13.4", kind="error")
    ('worse', 'not measured')
    """
    if ours is None:
        return "not measured"
    paper = float(printed)
    if paper == ours or abs(ours - paper) <= max(
        TOLERANCES[kind] * abs(paper), _half_digit(printed)
    ):
        return "reproduced"
    if less_is_better is None:
        return "differs"
    return "better" if (ours < paper) == less_is_better else "worse"


def write_results(results: Results, out: Path) -> None:
    """Write lines, timings and tables to a paper's folder."""
    _write_rows(results.lines, Line, out / LINES)
    _write_rows(results.timings, Timing, out / TIMINGS)
    for name, rows in results.tables.items():
        with (out / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]) if rows else [], lineterminator="\n")
            writer.writeheader()
            writer.writerows({k: escape_cell(v) for k, v in row.items()} for row in rows)


def read_lines(folder: Path) -> list[Line]:
    """Return a paper's lines; none if the paper was not reproduced."""
    return _read_rows(folder / LINES, Line)


def read_timings(folder: Path) -> list[Timing]:
    """Return a paper's timings; none if the paper was not reproduced."""
    return _read_rows(folder / TIMINGS, Timing)


def count_kinds(lines: Iterable[Line]) -> dict[str, int]:
    """Return how many lines have each of `KINDS`."""
    found = Counter(line.verdict for line in lines)
    return {kind: found[kind] for kind in KINDS}


R = TypeVar("R", Line, Timing)


def _write_rows(rows: Sequence[R], row_type: type[R], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([f.name for f in fields(row_type)])
        writer.writerows(map(astuple, rows))


def _read_rows(path: Path, row_type: type[R]) -> list[R]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [row_type(**row) for row in csv.DictReader(file)]


def _half_digit(printed: float | str) -> float:
    """Return half a unit of the last digit of a text; 0 of a number."""
    if not isinstance(printed, str) or not math.isfinite(float(printed)):
        return 0.0
    digits = printed.partition(".")[2]
    return 0.5000001 * 10.0 ** -len(digits)
