"""Reproduce all papers, and write docs/papers.md and docs/papers.csv from their results.

    python benchmarks/papers_page.py [--data FOLDER] [--out report] [--seeds 5]

Each paper has a folder of its own in `--out`. A finished folder is kept: the page says when and
from which code it was made. Remove the folder to reproduce the paper again.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from mocpack.bench.papers import PAPERS, SEEDS, Paper
from mocpack.bench.papers.page import (
    FINISHED,
    claim_parts,
    count_verdicts,
    describe_run,
    reproduce,
)
from mocpack.bench.papers.rows import TIMING_HEAD, timing_rows
from mocpack.bench.papers.verdicts import KINDS, TOLERANCES, Line, read_lines
from mocpack.bench.report.markdown import markdown_table
from mocpack.bench.runner.run import describe_machine
from mocpack.common.optional_packages import require
from mocpack.errors import MocpackError
from mocpack.io.atomic import write_atomically

PAGE, ALL_LINES = "papers.md", "papers.csv"
ABOUT_VERDICTS = """\
`make papers` makes this page. *As printed (ours)* is the method with `settings=paper`, *ours now*
our best version. The verdict judges the first, or the second where there is no literal version.

- *reproduced*: within the tolerance, half a unit of the last digit, or the range of our seeds
- *better*, *worse*, *differs*: outside it; *differs* where neither direction is better
- *holds*, *fails*: a statement
- *not comparable*: another clip, or a metric whose constants the paper does not name
- *not measured*: no clip, no such codec, or a formula instead of a measurement

A row has its most frequent verdict and counts the others. ×0.9–1.2 is ours divided by the
printed number. Random results are means over seeds, with the range in brackets.
[`papers.csv`](papers.csv) has a line per printed number; of Li's 100 rows, the means. Each paper's
README lists every reading that we tried.

Bodies and flow charts are not drawn: Beaudoin 1, 3 and 4, Chattopadhyay 1–4, Váša 1 and 6, Li 1–4,
6 and 9. Mukai prints two figures.
"""
FAIR = """\
## At equal errors

![Mean compression ratio over three errors](pictures/papers/fair.svg)

One method of each paper with `settings=paper`, and `keysine`, on two seconds of 36 CMU clips: mean
ratios of float32 channels to payloads (`python benchmarks/papers_fair.py`). At a mean error of
5 mm, `keysine` reaches 151, `wavelet-opt` 53, `rd-pca` 48, `ik-predict` 21, `latent-spline` 11. At
eps_x 1 cm: 208, 63, 50, 23, 11. At SkTED 0.2: 168, 46, 63, 14, 11. `bap-sparse` reaches 2 to 3
at finer errors. The script says which parameters differ, and where curves end.
"""
FIGURES = {
    "beaudoin": ("Sizes over eps_x: our curves and the points of Table 1.", "figure 2"),
    "chattopadhyay": (
        "DEF over size for the jog (figure 6); the paper prints the point at zero.",
        "figure 7",
    ),
    "mukai": ("The test functions of figure 2 with even and free knots.", "figure 1"),
    "vasa": (
        "ME over size with parts left out (figures 4 and 5); points of Table 1.",
        "figures 2-3",
    ),
    "li": (
        "Position error over H for the walk (figure 7); points of Table 1.",
        "figure 5",
        "figure 8",
    ),
}
"""By paper, what the picture of it on the page shows, and its other pictures."""


@dataclass(frozen=True)
class Reproduction:
    """A reproduced paper: its folder, and a note on how it was made, or why it was not."""

    paper: Paper
    folder: Path
    note: str
    failure: str | None = None


def main(words: Sequence[str]) -> int:
    """Write the page; return 1 if a paper was not reproduced."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with cmu/, asfamc/ and so on")
    parser.add_argument("--out", type=Path, default=Path("report"))
    parser.add_argument("--seeds", type=int, default=SEEDS, help="of everything random")
    given = parser.parse_args(words)
    for package in ("scipy", "cma"):
        require(package, extra="papers", purpose="reproducing a paper")
    given.out.mkdir(parents=True, exist_ok=True)
    made = reproduce_all(
        PAPERS,
        given.data,
        given.out,
        seeds=given.seeds,
        on_progress=lambda text: print(text, file=sys.stderr),
    )
    print(f"wrote {write_page(made, given.out)} and {given.out / ALL_LINES}")
    failed = [one for one in made if one.failure]
    for one in failed:
        name = f"{one.paper.authors} {one.paper.year}"
        print(f"{name} was not reproduced: {one.failure}", file=sys.stderr)
    return 1 if failed else 0


def reproduce_all(
    papers: Sequence[Paper],
    data: Path | None,
    out: Path,
    *,
    on_progress: Callable[[str], None],
    seeds: int = SEEDS,
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
                reproduce(paper, data, folder, seeds)
            except (MocpackError, OSError) as error:
                # not finished: the next run tries it again
                made.append(Reproduction(paper, folder, f"Not reproduced: {error}", str(error)))
                continue
        made.append(Reproduction(paper, folder, describe_run(folder)))
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
        if one.paper.name in FIGURES:
            about, *others = FIGURES[one.paper.name]
            path = f"pictures/papers/{one.paper.name}"
            parts += [f"![{about}]({path}.svg)", ""]
            parts += [f"[{o.capitalize()}]({path}-{o.replace(' ', '-')}.svg)" for o in others]
            parts.append("")
    timings = [[one.paper.name.title(), *row] for one in made for row in timing_rows(one.folder)]
    about = f"Ours is processor time on {describe_machine()['machine']}."
    parts += ["## Timings", "", about, "", markdown_table(["paper", *TIMING_HEAD], timings), ""]
    return "\n".join([*parts, FAIR])


def summary_table(made: Sequence[Reproduction]) -> str:
    """Return how many numbers of each paper have each verdict."""
    rows: list[list[object]] = []
    for one in made:
        lines = read_lines(one.folder)
        rows.append([f"{one.paper.authors} {one.paper.year}", len(lines), *count_verdicts(lines)])
    every = [line for one in made for line in read_lines(one.folder)]
    rows.append(["all", len(every), *count_verdicts(every)])
    return markdown_table(["paper", "lines:", *(f"{kind}:" for kind in KINDS)], rows)


def _write_all_lines(made: Sequence[Reproduction], path: Path) -> None:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["paper", *(field.name for field in fields(Line))])
    for one in made:
        writer.writerows([one.paper.name, *astuple(line)] for line in read_lines(one.folder))
    write_atomically(out.getvalue().encode(), path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
