"""Reproduce all papers and write one self-contained page of their tables and figures.

Each paper is reproduced into a folder of its own. A finished folder is kept: the page says when and
from which code it was made. Remove the folder to reproduce the paper again.
"""

from __future__ import annotations

import base64
import csv
import html
import io
import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from string import Template
from typing import Any

from mocpack.bench.papers import Paper
from mocpack.bench.papers.rows import claims_table, timings_table
from mocpack.bench.papers.verdicts import (
    KINDS,
    TOLERANCES,
    Line,
    count_kinds,
    read_lines,
    read_timings,
)
from mocpack.bench.report.assets import asset, own_ids
from mocpack.bench.report.markdown import markdown_table
from mocpack.bench.runner.run import commit_of_code, describe_machine
from mocpack.errors import MocpackError
from mocpack.io.atomic import write_atomically
from mocpack.optional_packages import require

FINISHED = "finished.json"
SUMMARY = "summary.md"
PAGE, ALL_LINES = "verdicts.md", "verdicts.csv"
ABOUT_VERDICTS = """\
`make papers` makes this page. Each row is one table, figure or claim of a paper. *As printed
(ours)* is the method as the paper prints it, *ours now* our best version. The verdict judges the
first, or the second where there is no literal version:

- *reproduced*: within the tolerance, or half a unit of the last printed digit;
- *better*, *worse*: outside it. Numbers without a better direction and failed claims are *worse*;
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
            _reproduce(paper, data, folder)
        made.append(_made(paper, folder))
    return made


def write_page(made: Sequence[Reproduction], out: Path) -> Path:
    """Write the page of all papers from their folders, and return it.

    ``papers.html`` and ``papers.md`` have all tables and pictures. ``verdicts.md`` has one row per
    claim, ``verdicts.csv`` one per printed number.
    """
    write_atomically(_markdown(made).encode(), out / "papers.md")
    write_atomically(verdicts_page(made).encode(), out / PAGE)
    _write_all_lines(made, out / ALL_LINES)
    facts = "".join(
        f"<dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd>" for k, v in describe_machine().items()
    )
    links = "".join(
        f'<li><a href="#p{m.paper.key}">{m.paper.key}</a> {html.escape(str(m.paper))}' for m in made
    )
    page = Template(asset("papers.html")).substitute(
        style=asset("report.css"),
        facts=facts,
        contents=f"<ol class=papers>{links}</ol>{_as_html(summary_table(made))}",
        papers="".join(map(_article, made)),
    )
    path = out / "papers.html"
    write_atomically(page.encode(), path)
    return path


def verdicts_page(made: Sequence[Reproduction]) -> str:
    """Return one row per claim, paper by paper, and the number of lines of each verdict."""
    tolerances = ", ".join(f"{kind} {100 * share:.0f}%" for kind, share in TOLERANCES.items())
    parts = ["# The papers' figures beside ours", "", ABOUT_VERDICTS]
    parts += [f"Tolerances: {tolerances}.", "", summary_table(made), ""]
    for one in made:
        parts += [f"## {one.paper}", "", *paper_parts(one.paper, one.folder), one.note, ""]
    return "\n".join(parts)


def write_summary(paper: Paper, folder: Path) -> Path:
    """Write the claims and timings of one reproduced paper to its folder, and return the file."""
    counts = [_counts(read_lines(folder))]
    parts = [f"# {paper}", "", markdown_table([f"{kind}:" for kind in KINDS], counts), ""]
    path = folder / SUMMARY
    write_atomically("\n".join([*parts, *paper_parts(paper, folder)]).encode(), path)
    return path


def paper_parts(paper: Paper, folder: Path) -> list[str]:
    """Return the readings, claims and timings of a paper as Markdown."""
    notes: Sequence[str] = getattr(paper.module(), "PAGE_NOTES", ())
    parts = [f"- {note}" for note in notes]
    parts += [""] if parts else []
    lines, timings = read_lines(folder), read_timings(folder)
    parts += [claims_table(lines), ""] if lines else []
    parts += ["Timings, on other hardware:", "", timings_table(timings), ""] if timings else []
    return parts


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


def _reproduce(paper: Paper, data: Path | None, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    facts: dict[str, Any] = {"date": datetime.now(UTC).strftime("%Y-%m-%d")}
    facts |= {"commit": commit_of_code(), "machine": describe_machine()["machine"]}
    try:
        paper.module().reproduce(data, folder)
    except (MocpackError, OSError) as error:
        # not finished: the next run tries it again
        (folder / "failure.txt").write_text(str(error), encoding="utf-8")
        return
    (folder / "failure.txt").unlink(missing_ok=True)
    write_summary(paper, folder)
    facts["minutes"] = round((time.monotonic() - started) / 60, 1)
    (folder / FINISHED).write_text(json.dumps(facts) + "\n", encoding="utf-8")


def _made(paper: Paper, folder: Path) -> Reproduction:
    if (folder / "failure.txt").exists():
        failure = (folder / "failure.txt").read_text(encoding="utf-8")
        return Reproduction(paper, folder, f"Not made: {failure}", failure)
    facts = json.loads((folder / FINISHED).read_text(encoding="utf-8"))
    note = (
        f"Made on {facts['date']} by mocpack {facts['commit'] or 'without a checkout'} "
        f"in {facts['minutes']:g} minutes on {facts['machine']}."
    )
    return Reproduction(paper, folder, note)


def _article(made: Reproduction) -> str:
    paper = made.paper
    tables = "".join(_tables(path) for path in _files(made.folder, ".md"))
    if read_lines(made.folder):
        tables += "<h3>Verdicts</h3>" + _as_html("\n".join(paper_parts(paper, made.folder)))
    figures = "".join(
        f"<figure>{_figure(path)}<figcaption>{html.escape(_words(path))}</figcaption></figure>"
        for path in [*_files(made.folder, ".svg"), *_files(made.folder, ".png")]
    )
    about = paper.module().__doc__ or ""
    return (
        f'<article id="p{paper.key}"><h2>{html.escape(paper.authors)} {paper.year}</h2>'
        f"<p class=title>{html.escape(paper.title)}</p>"
        f"<p>{html.escape(_prose(about))}</p><p class=note>{html.escape(made.note)}</p>"
        f"<div class=tables>{tables}</div><div class=plots>{figures}</div></article>"
    )


def _tables(path: Path) -> str:
    """Return a page of Markdown as HTML, its headings below ours."""
    text = path.read_text(encoding="utf-8")
    if not text.lstrip().startswith("#"):
        text = f"## {_words(path)}\n\n{text}"
    return _as_html(re.sub(r"^#+", "###", text, flags=re.MULTILINE))


def _as_html(text: str) -> str:
    """Return Markdown as HTML, its tables free to scroll."""
    markdown = require("markdown_it", extra="papers", purpose="the page of all papers")
    rendered: str = markdown.MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return rendered.replace("<table>", "<div class=wide><table>").replace(
        "</table>", "</table></div>"
    )


def _figure(path: Path) -> str:
    if path.suffix == ".svg":
        return own_ids(path.read_text(encoding="utf-8"), f"p{path.parent.name}-{path.stem}")
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<img alt="{html.escape(_words(path))}" src="data:image/png;base64,{data}">'


def _markdown(made: Sequence[Reproduction]) -> str:
    parts = ["# The papers, reproduced", "", summary_table(made), ""]
    for one in made:
        parts += [f"# {one.paper}", "", one.note, ""]
        for path in _files(one.folder, ".md"):
            text = path.read_text(encoding="utf-8")
            heading = "" if text.lstrip().startswith("#") else f"## {_words(path)}\n\n"
            parts += [heading + text.strip(), ""]
        if read_lines(one.folder):
            parts += ["## Verdicts", "", *paper_parts(one.paper, one.folder)]
        for path in [*_files(one.folder, ".svg"), *_files(one.folder, ".png")]:
            parts += [f"![{_words(path)}]({one.paper.key}/{path.name})", ""]
    return "\n".join(parts)


def _files(folder: Path, suffix: str) -> list[Path]:
    """Return a folder's tables or pictures; the summary is made from the same lines as the page."""
    return sorted(p for p in folder.iterdir() if p.suffix == suffix and p.name != SUMMARY)


def _words(path: Path) -> str:
    """Return a file's name as a title: ``paper-001-table-2.md`` is "table 2"."""
    stem = re.sub(r"^paper[-_]\d+[-_]?", "", path.stem)
    return re.sub(r"[-_]+", " ", stem).capitalize() or "Figure"


def _prose(docstring: str) -> str:
    """Return the sentences of a module's docstring, without its indented commands."""
    paragraphs = docstring.strip().split("\n\n")
    return " ".join(" ".join(p.split()) for p in paragraphs if not p.startswith("    "))
