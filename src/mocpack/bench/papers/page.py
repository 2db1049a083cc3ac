"""All papers made again, on one page that needs nothing else: tables and figures, theirs and ours.

Each paper is reproduced into a folder of its own. One that is finished stays as it is: the page
says when and from which code it was made, and removing the folder makes it anew.
"""

from __future__ import annotations

import base64
import html
import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from string import Template
from typing import Any

from mocpack.bench.papers import Paper
from mocpack.bench.papers.verdicts import KINDS, Line, count_kinds, lines_table, read_lines
from mocpack.bench.report.assets import asset, own_ids
from mocpack.bench.report.markdown import markdown_table
from mocpack.bench.runner.run import commit_of_code, describe_machine
from mocpack.errors import MocpackError
from mocpack.io.atomic import write_atomically
from mocpack.optional_packages import require

FINISHED = "finished.json"
ABOUT_VERDICTS = """\
Made by `mocpack bench --papers`. *Same* is within 5 % of the printed figure or within half a unit
of its last digit, unless the line says otherwise; *better* and *worse* go by the figure's own sense
(less error, fewer bytes); *different* stands where the two cannot be the same or neither is better,
and says why if that is known. Tables and pictures are in `papers.html` of the folder that the
command makes.
"""


@dataclass(frozen=True)
class Made:
    """A paper made again: its folder, and what is to be said of how it was made, or why not."""

    paper: Paper
    folder: Path
    note: str
    failure: str | None = None


def reproduce_all(
    papers: Sequence[Paper], data: Path | None, out: Path, *, tell: Callable[[str], None]
) -> list[Made]:
    """Reproduce each paper that is not finished in `out` already; one that fails stops no other."""
    made = []
    for place, paper in enumerate(papers, 1):
        folder = out / paper.key
        which = f"{paper.authors} {paper.year} ({place} of {len(papers)})"
        if (folder / FINISHED).exists():
            tell(f"{which}: found in {folder}")
        else:
            tell(f"{which}: making it again …")
            _reproduce(paper, data, folder)
        made.append(_made(paper, folder))
    return made


def write_page(made: Sequence[Made], out: Path) -> Path:
    """Write ``papers.html``, ``papers.md`` and ``verdicts.md`` from what the folders hold.

    The last has one line for each figure that a paper prints, and no tables of ours.
    """
    write_atomically(_markdown(made).encode(), out / "papers.md")
    write_atomically(verdicts_page(made).encode(), out / "verdicts.md")
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


def verdicts_page(made: Sequence[Made]) -> str:
    """Return every printed figure beside ours, paper by paper, and how many are the same."""
    parts = ["# The papers' figures beside ours", "", ABOUT_VERDICTS, summary_table(made), ""]
    for one in made:
        parts += [f"## {one.paper}", "", one.note, ""]
        lines = read_lines(one.folder)
        parts += [lines_table(lines), ""] if lines else []
    return "\n".join(parts)


def summary_table(made: Sequence[Made]) -> str:
    """Return how many figures of each paper have each verdict."""
    rows = []
    for one in made:
        lines = read_lines(one.folder)
        rows.append([f"{one.paper.authors} {one.paper.year}", len(lines), *_counts(lines)])
    return markdown_table(["paper", "figures:", *(f"{kind}:" for kind in KINDS)], rows)


def _counts(lines: Sequence[Line]) -> list[int]:
    return list(count_kinds(lines).values())


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
    facts["minutes"] = round((time.monotonic() - started) / 60, 1)
    (folder / FINISHED).write_text(json.dumps(facts) + "\n", encoding="utf-8")


def _made(paper: Paper, folder: Path) -> Made:
    if (folder / "failure.txt").exists():
        failure = (folder / "failure.txt").read_text(encoding="utf-8")
        return Made(paper, folder, f"Not made: {failure}", failure)
    facts = json.loads((folder / FINISHED).read_text(encoding="utf-8"))
    note = (
        f"Made on {facts['date']} by mocpack {facts['commit'] or 'without a checkout'} "
        f"in {facts['minutes']:g} minutes on {facts['machine']}."
    )
    return Made(paper, folder, note)


def _article(made: Made) -> str:
    paper = made.paper
    tables = "".join(_tables(path) for path in _files(made.folder, ".md"))
    lines = read_lines(made.folder)
    if lines:
        tables += "<h3>Verdicts</h3>" + _as_html(lines_table(lines))
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


def _markdown(made: Sequence[Made]) -> str:
    parts = ["# The papers, made again", "", summary_table(made), ""]
    for one in made:
        parts += [f"# {one.paper}", "", one.note, ""]
        for path in _files(one.folder, ".md"):
            text = path.read_text(encoding="utf-8")
            heading = "" if text.lstrip().startswith("#") else f"## {_words(path)}\n\n"
            parts += [heading + text.strip(), ""]
        lines = read_lines(one.folder)
        parts += ["## Verdicts", "", lines_table(lines), ""] if lines else []
        for path in [*_files(one.folder, ".svg"), *_files(one.folder, ".png")]:
            parts += [f"![{_words(path)}]({one.paper.key}/{path.name})", ""]
    return "\n".join(parts)


def _files(folder: Path, suffix: str) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.suffix == suffix)


def _words(path: Path) -> str:
    """Return a file's name as a title: ``paper-001-table-2.md`` is "table 2"."""
    stem = re.sub(r"^paper[-_]\d+[-_]?", "", path.stem)
    return re.sub(r"[-_]+", " ", stem).capitalize() or "Figure"


def _prose(docstring: str) -> str:
    """Return the sentences of a module's docstring, without its indented commands."""
    paragraphs = docstring.strip().split("\n\n")
    return " ".join(" ".join(p.split()) for p in paragraphs if not p.startswith("    "))
