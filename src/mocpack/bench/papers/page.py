"""Reproduce papers into folders, and write one page from their results.

Each paper has a folder of its own. A finished folder is kept: the page says when and from which
code it was made. Remove the folder to reproduce the paper again.
"""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mocpack.bench.datasets import describe_missing, find_clips_of, require_clip
from mocpack.bench.papers import Paper
from mocpack.bench.papers.measuring import report_progress
from mocpack.bench.papers.rows import TIMING_HEAD, claims_table, timing_rows
from mocpack.bench.papers.verdicts import (
    KINDS,
    TOLERANCES,
    Line,
    count_kinds,
    read_lines,
    write_results,
)
from mocpack.bench.report.markdown import markdown_table
from mocpack.bench.runner.run import commit_of_code, describe_machine
from mocpack.errors import MocpackError
from mocpack.io.atomic import write_atomically

FINISHED, SUMMARY = "finished.json", "summary.md"
PAGE, ALL_LINES = "papers.md", "papers.csv"
ABOUT_VERDICTS = """\
`make papers` makes this page. *As printed (ours)* is the method as the paper prints it, *ours now*
our best version. The verdict judges the first, or the second where there is no literal version:

- *reproduced*: within the tolerance, or half a unit of the last printed digit;
- *better*, *worse*: outside it. Failed claims, and numbers without a better direction, are *worse*;
- *not comparable*: another clip, or a metric whose constants the paper does not name;
- *not measured*: no clip, no such codec, or a formula instead of a measurement.

A row has the verdict of most of its numbers and counts the others. ×0.9–1.2 is ours divided by the
printed number. [`papers.csv`](papers.csv) has every number.
"""


@dataclass(frozen=True)
class Reproduction:
    """A reproduced paper: its folder, and a note on how it was made, or why it was not."""

    paper: Paper
    folder: Path
    note: str
    failure: str | None = None


def reproduce(paper: Paper, data: Path | None, folder: Path) -> str:
    """Reproduce a paper into `folder` from the clips in `data`, and return its summary.

    `data` None means the usual places (`datasets`). A missing clip is reported and skipped, unless
    the paper requires it.
    """
    module, started = paper.module(), time.monotonic()
    for name in module.REQUIRED:
        require_clip(name, data)
    clips = find_clips_of(module.CLIPS, data)
    missing = [name for name in module.CLIPS if name not in clips]
    for name in missing:
        report_progress(f"skipping a missing clip: {describe_missing(name)}")
    folder.mkdir(parents=True, exist_ok=True)
    write_results(module.reproduce(clips), folder)
    facts: dict[str, Any] = {"date": datetime.now(UTC).strftime("%Y-%m-%d")}
    facts |= {"commit": commit_of_code(), "machine": describe_machine()["machine"]}
    facts |= {"minutes": round((time.monotonic() - started) / 60, 1)}
    facts |= {"clips": len(clips), "missing": missing}
    (folder / FINISHED).write_text(json.dumps(facts) + "\n", encoding="utf-8")
    counts = [_counts(read_lines(folder))]
    parts = [f"# {paper}", "", markdown_table([f"{kind}:" for kind in KINDS], counts), ""]
    parts += [*claim_parts(paper, folder), markdown_table(TIMING_HEAD, timing_rows(folder)), ""]
    summary = "\n".join([*parts, _note(folder), ""])
    write_atomically(summary.encode(), folder / SUMMARY)
    return summary


def reproduce_all(
    papers: Sequence[Paper], data: Path | None, out: Path, *, on_progress: Callable[[str], None]
) -> list[Reproduction]:
    """Reproduce each paper that is not finished in `out`; a failure does not stop the others."""
    made = []
    for place, paper in enumerate(papers, 1):
        folder = out / paper.key
        which = f"{paper.authors} {paper.year} ({place} of {len(papers)})"
        if (folder / FINISHED).exists():
            on_progress(f"{which}: found in {folder}")
        else:
            on_progress(f"{which}: reproducing …")
            try:
                reproduce(paper, data, folder)
            except (MocpackError, OSError) as error:
                # not finished: the next run tries it again
                made.append(Reproduction(paper, folder, f"Not reproduced: {error}", str(error)))
                continue
        made.append(Reproduction(paper, folder, _note(folder)))
    return made


def write_page(made: Sequence[Reproduction], out: Path) -> Path:
    """Write one row per claim to ``papers.md``, one per printed number to ``papers.csv``."""
    _write_all_lines(made, out / ALL_LINES)
    write_atomically(verdicts_page(made).encode(), out / PAGE)
    return out / PAGE


def verdicts_page(made: Sequence[Reproduction]) -> str:
    """Return one row per claim, paper by paper, and the number of lines of each verdict."""
    tolerances = ", ".join(f"{kind} {100 * share:.0f}%" for kind, share in TOLERANCES.items())
    parts = ["# The papers' figures beside ours", "", ABOUT_VERDICTS]
    parts += [f"Tolerances: {tolerances}.", "", summary_table(made), ""]
    for one in made:
        parts += [f"## {one.paper}", "", *claim_parts(one.paper, one.folder), one.note, ""]
    timings = [[one.paper.name.title(), *row] for one in made for row in timing_rows(one.folder)]
    about = f"Ours is processor time on {describe_machine()['machine']}."
    parts += ["## Timings", "", about, "", markdown_table(["paper", *TIMING_HEAD], timings), ""]
    return "\n".join(parts)


def claim_parts(paper: Paper, folder: Path) -> list[str]:
    """Return the readings and claims of a paper as Markdown."""
    parts = [*(f"- {note}" for note in paper.module().PAGE_NOTES), ""]
    lines = read_lines(folder)
    return [*parts, claims_table(lines), ""] if lines else parts


def summary_table(made: Sequence[Reproduction]) -> str:
    """Return how many numbers of each paper have each verdict."""
    rows: list[list[object]] = []
    for one in made:
        lines = read_lines(one.folder)
        rows.append([f"{one.paper.authors} {one.paper.year}", len(lines), *_counts(lines)])
    every = [line for one in made for line in read_lines(one.folder)]
    rows.append(["all", len(every), *_counts(every)])
    return markdown_table(["paper", "numbers:", *(f"{kind}:" for kind in KINDS)], rows)


def _counts(lines: Sequence[Line]) -> list[int]:
    return list(count_kinds(lines).values())


def _write_all_lines(made: Sequence[Reproduction], path: Path) -> None:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["paper", *(field.name for field in fields(Line))])
    for one in made:
        writer.writerows([one.paper.name, *astuple(line)] for line in read_lines(one.folder))
    write_atomically(out.getvalue().encode(), path)


def _note(folder: Path) -> str:
    """Return the clips, code and machine that a finished paper was made with."""
    facts = json.loads((folder / FINISHED).read_text(encoding="utf-8"))
    total = facts["clips"] + len(facts["missing"])
    missing = f" (missing: {', '.join(facts['missing'])})" if facts["missing"] else ""
    return (
        f"{facts['date']}, commit {facts['commit'] or 'unknown'}, {facts['clips']} of {total} clips"
        f"{missing}, {facts['minutes']:g} minutes."
    )
