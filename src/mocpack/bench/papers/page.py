"""Reproduce a paper into a folder: its measurements, and a summary of them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from mocpack.bench.datasets import describe_missing, find_clips_of, require_clip
from mocpack.bench.papers import SEEDS, Paper
from mocpack.bench.papers.measuring import report_progress
from mocpack.bench.papers.rows import TIMING_HEAD, claims_table, timing_rows
from mocpack.bench.papers.verdicts import KINDS, Line, count_kinds, read_lines, write_results
from mocpack.bench.report.markdown import markdown_table
from mocpack.bench.runner.run import commit_of_code, describe_machine
from mocpack.io.atomic import write_atomically

FINISHED, SUMMARY = "finished.json", "summary.md"


def reproduce(paper: Paper, data: Path | None, folder: Path, seeds: int = SEEDS) -> str:
    """Reproduce a paper into `folder` from the clips in `data`, and return its summary.

    `data` None means the usual places (`datasets`). A missing clip is reported and skipped, unless
    the paper requires it.
    """
    module, started = paper.module(), _processor_minutes()
    for name in module.REQUIRED:
        require_clip(name, data)
    clips = find_clips_of(module.CLIPS, data)
    missing = [name for name in module.CLIPS if name not in clips]
    for name in missing:
        report_progress(f"skipping a missing clip: {describe_missing(name)}")
    folder.mkdir(parents=True, exist_ok=True)
    write_results(module.reproduce(clips, seeds), folder)
    facts: dict[str, object] = {"date": datetime.now(UTC).strftime("%Y-%m-%d")}
    facts |= {"commit": commit_of_code(), "machine": describe_machine()["machine"]}
    facts |= {"minutes": round(_processor_minutes() - started, 1), "seeds": seeds}
    facts |= {"clips": len(clips), "missing": missing}
    (folder / FINISHED).write_text(json.dumps(facts) + "\n", encoding="utf-8")
    counts = [count_verdicts(read_lines(folder))]
    parts = [f"# {paper}", "", markdown_table([f"{kind}:" for kind in KINDS], counts), ""]
    parts += [*claim_parts(paper, folder), markdown_table(TIMING_HEAD, timing_rows(folder)), ""]
    summary = "\n".join([*parts, describe_run(folder), ""])
    write_atomically(summary.encode(), folder / SUMMARY)
    return summary


def claim_parts(paper: Paper, folder: Path) -> list[str]:
    """Return the readings and claims of a paper as Markdown."""
    parts = [*(f"- {note}" for note in paper.module().PAGE_NOTES), ""]
    lines = read_lines(folder)
    return [*parts, claims_table(lines), ""] if lines else parts


def count_verdicts(lines: Sequence[Line]) -> list[int]:
    """Return how many lines have each of `KINDS`."""
    return list(count_kinds(lines).values())


def describe_run(folder: Path) -> str:
    """Return the clips, code and machine that a finished paper was made with."""
    facts = json.loads((folder / FINISHED).read_text(encoding="utf-8"))
    total = facts["clips"] + len(facts["missing"])
    missing = f" (missing: {', '.join(facts['missing'])})" if facts["missing"] else ""
    return (
        f"{facts['date']}, commit {facts['commit'] or 'unknown'}, {facts['clips']} of {total} clips"
        f"{missing}, {facts['seeds']} seeds, {facts['minutes']:g} processor minutes."
    )


def _processor_minutes() -> float:
    """Return the processor time of this process and of its finished workers."""
    times = os.times()
    return (times.user + times.system + times.children_user + times.children_system) / 60
