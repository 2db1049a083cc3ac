"""What a printed figure and ours say together: same, better, worse, or different and why.

Each paper leaves one line for each figure that it prints in ``verdicts.csv`` of its folder
(`write_lines`); the page of all papers is made from those.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from mocpack.bench.report.markdown import markdown_table

WITHIN = 0.05  # of the printed figure, or half a unit of its last digit: the same
FILE = "verdicts.csv"
NONE = "–"  # in place of a figure that is not there
KINDS = ("same", "better", "worse", "different", "not made", "not in the paper")


@dataclass(frozen=True)
class Line:
    """One figure of a paper beside ours.

    Attributes
    ----------
    where, what : str
        Its table or figure, and which line and column of it: "Table 1", "jog, indexed, KB".
    printed, ours : str
        Both figures, or what is claimed and what was found.
    verdict : str
        One of `KINDS`, mostly by `verdict`, and after a colon the reason.
    """

    where: str
    what: str
    printed: str
    ours: str
    verdict: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"a verdict begins with {', '.join(KINDS)}; got {self.verdict!r}")

    @property
    def kind(self) -> str:
        return self.verdict.partition(":")[0]


def compare(
    where: str,
    what: str,
    ours: float | None,
    printed: float | str | None,
    *,
    form: str = ".3g",
    less_is_better: bool | None = True,
    within: float = WITHIN,
    why: str = "",
) -> Line:
    """Return the line of a number, with its `verdict`; `form` is how ours is written.

    >>> compare("Table 1", "jog, KB", 12.345, "10.9")
    Line(where='Table 1', what='jog, KB', printed='10.9', ours='12.3', verdict='worse')
    """
    said = verdict(ours, printed, less_is_better=less_is_better, within=within, why=why)
    theirs = NONE if printed is None else str(printed)
    return Line(where, what, theirs, NONE if ours is None else format(ours, form), said)


def claim(where: str, what: str, printed: str, ours: str, holds: bool, *, why: str = "") -> Line:
    """Return the line of a statement that either holds here or does not."""
    return Line(where, what, printed, ours, "same" if holds else f"different{why and ': '}{why}")


def write_lines(lines: Sequence[Line], out: Path) -> None:
    """Write a paper's lines to its folder."""
    with (out / FILE).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(Line)])
        writer.writerows(map(astuple, lines))


def read_lines(folder: Path) -> list[Line]:
    """Return what `write_lines` wrote; nothing where a paper has left none."""
    path = folder / FILE
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [Line(**row) for row in csv.DictReader(file)]


def lines_table(lines: Sequence[Line]) -> str:
    """Return lines as a table."""
    head = ["where", "what", "printed:", "ours:", "verdict"]
    return markdown_table(head, map(astuple, lines))


def count_kinds(lines: Sequence[Line]) -> dict[str, int]:
    """Return how many lines have each of `KINDS`."""
    found = Counter(line.kind for line in lines)
    return {kind: found[kind] for kind in KINDS}


def verdict(
    ours: float | None,
    printed: float | str | None,
    *,
    less_is_better: bool | None = True,
    within: float = WITHIN,
    why: str = "",
) -> str:
    """Return the verdict on one figure.

    Parameters
    ----------
    ours : float or None
        None where it cannot be had; `why` says why.
    printed : float, str or None
        As the paper prints it: a text's last digit says how exactly. None: the paper has none.
    less_is_better : bool or None
        None where neither direction is better, such as of a count.
    why : str
        The reason to give where the two differ.

    >>> verdict(24.10, "24.1"), verdict(9.9, "11.8")
    ('same', 'better')
    >>> verdict(33.1, "13.4", why="another clip")
    'different: another clip'
    >>> verdict(33.1, "13.4")
    'worse'
    """
    reason = f": {why}" if why else ""
    if printed is None:
        return "not in the paper"
    if ours is None:
        return f"not made{reason}"
    paper = float(printed)
    if abs(ours - paper) <= max(within * abs(paper), _half_a_digit(printed)):
        return "same"
    if less_is_better is not None and (ours < paper) == less_is_better:
        return "better"
    if reason:
        return f"different{reason}"
    return "different" if less_is_better is None else "worse"


def _half_a_digit(printed: float | str) -> float:
    if not isinstance(printed, str):
        return 0.0
    digits = printed.partition(".")[2]
    return 0.5000001 * 10.0 ** -len(digits)
