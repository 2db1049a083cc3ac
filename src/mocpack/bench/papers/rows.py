"""Combine lines into the rows of the page, one per claim."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from mocpack.bench.papers.verdicts import KINDS, NONE, Line, Timing, count_kinds, read_timings
from mocpack.bench.report.markdown import markdown_table

R = TypeVar("R", Line, Timing)

MAX_LISTED = 10  # figures of a cell that are listed; more are given as a range
LISTED_TOGETHER = 5  # figures between two spaces
MAX_STATEMENTS = 4  # statements of a row that are listed; of more, those that hold are counted
LESS_FAVORABLE = (
    *("worse", "fails", "differs", "not comparable", "not measured"),
    *("reproduced", "holds", "better"),
)


TIMING_HEAD = ["what", "printed:", "ours:"]


def claims_table(lines: Sequence[Line]) -> str:
    """Return one row per claim as Markdown."""
    head = ["claim", "printed:", "as printed (ours):", "ours now:", "verdict", "reason"]
    return markdown_table(head, [_claim_row(group) for group in _groups(lines)])


def timing_rows(folder: Path) -> list[list[str]]:
    """Return one row per timing claim of a paper's folder."""
    return [
        [
            _title(group[0]),
            *(_cell([getattr(one, n) for one in group]) for n in ("printed", "ours")),
        ]
        for group in _groups(read_timings(folder))
    ]


def row_verdict(lines: Sequence[Line]) -> str:
    """Return the verdict that most lines of a claim have; of a tie, the less favorable one."""
    counts = count_kinds(lines)
    return max(KINDS, key=lambda kind: (counts[kind], -LESS_FAVORABLE.index(kind)))


def _groups(lines: Sequence[R]) -> list[list[R]]:
    """Return lines of the same claim together, in the order in which claims appear."""
    ordered: dict[tuple[str, str], list[R]] = {}
    for line in lines:
        ordered.setdefault((line.where, line.claim), []).append(line)
    return list(ordered.values())


def _claim_row(lines: Sequence[Line]) -> list[str]:
    said = row_verdict(lines)
    printed = _cell([line.printed for line in lines])
    if all(_number(line.printed) is None for line in lines) and len(lines) > MAX_STATEMENTS:
        holding = sum("holds" in (line.verdict, line.literal[:5]) for line in lines)
        literal, ours = f"holds in {holding} of {len(lines)}", NONE
    else:
        literal = _cell([line.literal for line in lines])
        ours = _cell([line.ours for line in lines])
    return [_title(lines[0]), printed, literal, ours, _verdict(said, lines), _reason(lines)]


def _title(line: Line | Timing) -> str:
    return f"{line.where}: {line.claim}"


def _verdict(said: str, lines: Sequence[Line]) -> str:
    """Return the verdict, with the counts of all where lines differ."""
    counts = {kind: n for kind, n in count_kinds(lines).items() if n}
    if len(counts) == 1:
        return said
    rest = ", ".join(f"{n} {kind}" for kind, n in counts.items() if kind != said)
    return f"{said} ({counts[said]}; {rest})"


def _reason(lines: Sequence[Line]) -> str:
    """Return the reasons and their lines, with the range of our to the printed figures."""
    reasons = Counter(line.reason for line in lines if line.reason)
    reason = "; ".join(
        f"{why} ({count})" if len(reasons) > 1 else why for why, count in reasons.most_common()
    )
    ratios = [r for line in lines if (r := _ratio(line)) is not None]
    if not ratios or not reason:
        return reason
    low, high = f"{min(ratios):.2g}", f"{max(ratios):.2g}"
    return f"×{low}; {reason}" if low == high else f"×{low}–{high}; {reason}"


def _ratio(line: Line) -> float | None:
    """Return ours over the printed figure where the two are compared."""
    if line.verdict in ("not comparable", "not measured"):
        return None
    ours, printed = _number(line.judged), _number(line.printed)
    return None if ours is None or not printed else ours / printed


def _cell(texts: Sequence[str]) -> str:
    """Return figures as a list if they are few, as a range if they are many."""
    if len(set(texts)) == 1:
        return texts[0]
    if len(texts) <= MAX_LISTED and all(len(text.split()) == 1 for text in texts):
        starts = range(0, len(texts), LISTED_TOGETHER)
        return " ".join("/".join(texts[k : k + LISTED_TOGETHER]) for k in starts)
    pairs = [(number, text) for text in texts if (number := _number(text)) is not None]
    if len(pairs) <= MAX_STATEMENTS:
        return "; ".join(dict.fromkeys(texts))
    return f"{min(pairs)[1]} to {max(pairs)[1]}"


def _number(text: str) -> float | None:
    """Return a number, or the mean in front of its range."""
    text = text.partition("[")[0]
    if not re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d+)?", text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None
