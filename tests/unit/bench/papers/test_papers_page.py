"""One page of all papers: from what their folders hold, drawn by a real browser."""

import csv
import json
import re
import struct
import sys
import zlib
from types import ModuleType

import pytest

from mocpack.bench.papers import Paper
from mocpack.bench.papers.page import reproduce_all, write_page
from mocpack.bench.papers.verdicts import Timing, compare, judge_claim, write_results
from mocpack.errors import UsageError
from naming import names

LINES = [
    compare("Table 1", "size, KB", "walk", "24", literal=24.0, kind="size"),
    compare("Table 1", "size of <others>, KB", "jog", "6.8", ours=9.0, kind="size", why="clip"),
    judge_claim("Section 5", "n_d", "jog", "grows", "falls", False, why="fewer tables"),
]
TIMINGS = [Timing("Table 2", "decode, ms", "walk", "30", "2")]


def tiny_png():
    def chunk(kind, body):
        sealed = kind + body
        return struct.pack(">I", len(body)) + sealed + struct.pack(">I", zlib.crc32(sealed))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def stand_in(number, counter):
    """Return a module that reproduces a paper at once."""
    module = ModuleType(
        f"mocpack.papers.stand_in_{number}.tables.reproduce", f"About paper {number}.\n\nMore."
    )

    def reproduce(data, out):
        counter.append(number)
        if number == "901":
            raise UsageError("no clip of 901")
        (out / "paper-900-table-1.md").write_text("| theirs | ours |\n|---|---|\n| 1 | <2> |\n")
        write_results(LINES, TIMINGS, out)
        (out / "figure-7.png").write_bytes(tiny_png())
        svg = '<?xml version="1.0"?><svg viewBox="0 0 1 1" width="9"><path id="a"/></svg>'
        (out / "paper_900_curve.svg").write_text(svg)

    module.reproduce = reproduce
    module.PAGE_NOTES = (f"Clips of {number}.",)
    return module


@pytest.fixture
def page(tmp_path, monkeypatch):
    made = []
    for number in ("900", "901"):
        room = f"mocpack.papers.stand_in_{number}"
        for name in (room, f"{room}.tables"):
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        module = stand_in(number, made)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    lines = []
    for _ in range(2):
        papers = [Paper(key, f"stand_in_{key}", "Nobody", 1900, "None") for key in ("900", "901")]
        found = reproduce_all(papers, tmp_path, tmp_path, on_progress=lines.append)
    return write_page(found, tmp_path), made, lines


def test_a_finished_paper_is_not_made_again_and_one_that_failed_is(page):
    _, made, lines = page
    assert made == ["900", "901", "901"]
    assert any(names(line, "Nobody 1900 1 2") for line in lines)


def test_the_page_holds_tables_figures_and_failures_and_needs_nothing_else(page):
    text = page[0].read_text()
    assert "<td>&lt;2&gt;</td>" in text
    assert "no clip of 901" in text
    assert "About paper 900. More." in text
    assert 'id="p900-paper_900_curve-a"' in text
    assert not re.search(r'(src|href)="(?!#|data:)', text)


def test_it_is_there_as_markdown_too(page):
    text = (page[0].parent / "papers.md").read_text()
    assert "## Table 1\n\n| theirs | ours |" in text
    assert "![Figure 7](900/figure-7.png)" in text


def test_the_page_has_a_row_per_claim_notes_timings_and_counts(page):
    text = (page[0].parent / "verdicts.md").read_text()
    assert "| Nobody 1900 | 3 | 1 | 0 | 2 | 0 | 0 |" in text
    assert "| Nobody 1900 | 0 | 0 | 0 | 0 | 0 | 0 |" in text  # the one that was not made
    assert "- Clips of 900." in text
    assert "| Table 1 | size, KB | 24 | 24 | – | reproduced |  |" in text
    assert "| Section 5 | n_d | grows | – | falls | worse | fewer tables |" in text
    assert "| Table 2 | decode, ms | 30 | 2 |" in text
    assert "size of &lt;others&gt;, KB" in page[0].read_text()


def test_every_printed_number_is_a_row_of_the_csv(page):
    text = (page[0].parent / "verdicts.csv").read_text(encoding="utf-8")
    rows = [*csv.DictReader(text.splitlines())]
    assert [row["verdict"] for row in rows] == ["reproduced", "worse", "worse"]
    assert {row["paper"] for row in rows} == {"stand_in_900"}


def test_a_papers_folder_has_its_summary(page):
    text = (page[0].parent / "900" / "summary.md").read_text()
    assert "| 1 | 0 | 2 | 0 | 0 |" in text
    assert "| Table 2 | decode, ms | 30 | 2 |" in text


def test_a_finished_paper_says_what_made_it(page):
    facts = json.loads((page[0].parent / "900" / "finished.json").read_text())
    assert set(facts) == {"date", "commit", "machine", "minutes"}


def test_the_page_renders_in_a_browser(page, browse, tmp_path):
    assert browse(page[0], "--dump-dom").count("<article") == 2
    picture = tmp_path / "page.png"
    browse(page[0], f"--screenshot={picture}")
    assert picture.stat().st_size > 10_000
