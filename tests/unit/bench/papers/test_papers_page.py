"""One page of all papers, from the results that their folders keep."""

import csv
import importlib.util
import json
import sys
from types import ModuleType

import pytest

import mocpack
from mocpack.bench.datasets import CHECKOUT
from mocpack.bench.papers import Paper
from mocpack.bench.papers.page import reproduce
from mocpack.bench.papers.verdicts import Results, Timing, compare, judge_claim
from mocpack.errors import UsageError
from mocpack.testing import walk
from naming import names, naming

LINES = [
    compare("Table 1", "size, KB", "walk", "24", literal=24.0, kind="size"),
    compare("Table 1", "size of others, KB", "jog", "6.8", ours=9.0, kind="size", why="clip"),
    judge_claim("Section 5", "n_d", "jog", "grows", "falls", False, why="fewer tables"),
]
TIMINGS = [Timing("Table 2", "decode, ms", "walk", "30", "2")]


def stand_in(number, calls):
    """Return a module that reproduces a paper at once."""
    module = ModuleType(f"mocpack.papers.stand_in_{number}.tables.reproduce")

    def reproduce(clips, seeds):
        calls.append((number, [*clips], seeds))
        if number == "901":
            raise UsageError("no result of 901")
        return Results(LINES, TIMINGS, {"curves": [{"bytes": 9, "mm": 0.5}]})

    module.reproduce = reproduce
    module.CLIPS = ("cmu/walk", "cmu/run")
    module.REQUIRED = ()
    module.PAGE_NOTES = (f"Clips of {number}.",)
    return module


@pytest.fixture(scope="module")
def script():
    path = CHECKOUT / "benchmarks" / "papers_page.py"
    spec = importlib.util.spec_from_file_location("benchmarks_papers_page", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass looks itself up there
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def papers(tmp_path, monkeypatch):
    """Return two papers, the calls of their modules, and a folder with one of their two clips."""
    calls = []
    for number in ("900", "901"):
        room = f"mocpack.papers.stand_in_{number}"
        for name in (room, f"{room}.tables"):
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        module = stand_in(number, calls)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    data = tmp_path / "data"
    (data / "cmu").mkdir(parents=True)
    mocpack.write(walk(0.1), data / "cmu" / "walk.bvh")
    papers = [Paper(key, f"stand_in_{key}", "Nobody", 1900, "None") for key in ("900", "901")]
    return papers, calls, data


@pytest.fixture
def page(script, papers, tmp_path):
    both, _, data = papers
    made = script.reproduce_all(both, data, tmp_path, on_progress=lambda _: None, seeds=2)
    return script.write_page(made, tmp_path)


def test_a_finished_paper_is_not_made_again_and_one_that_failed_is(script, papers, tmp_path):
    both, calls, data = papers
    said = []
    for _ in range(2):
        script.reproduce_all(both, data, tmp_path, on_progress=said.append)
    assert calls == [(number, ["cmu/walk"], 5) for number in ("900", "901", "901")]
    assert any(names(line, "Nobody 1900 1 2") for line in said)


def test_the_page_is_made_from_kept_results_without_measuring(script, papers, page, tmp_path):
    both, calls, data = papers
    text, done = page.read_text(), len(calls)
    page.unlink()
    made = script.reproduce_all(both[:1], data, tmp_path, on_progress=lambda _: None)
    assert len(calls) == done
    assert "- Clips of 900." in script.write_page(made, tmp_path).read_text()
    assert "- Clips of 900." in text


def test_the_page_has_a_row_per_claim_notes_timings_and_counts(page):
    text = page.read_text()
    assert "| Nobody 1900 | 3 | 1 | 0 | 1 | 0 | 0 | 1 | 0 | 0 |" in text
    assert "| Nobody 1900 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |" in text  # the one not made
    assert "2 seeds" in text
    assert "no result of 901" in text
    assert "| Table 1: size, KB | 24 | 24 | – | reproduced |  |" in text
    assert "| Section 5: n_d | grows | falls | – | fails | fewer tables |" in text
    assert "| Stand_In_900 | Table 2: decode, ms | 30 | 2 |" in text


def test_the_page_names_the_clips_that_were_missing(page):
    assert names(page.read_text(), "1 of 2 clips missing: cmu/run")


def test_every_printed_number_is_a_row_of_the_csv(page):
    text = page.with_suffix(".csv").read_text(encoding="utf-8")
    rows = [*csv.DictReader(text.splitlines())]
    assert [row["verdict"] for row in rows] == ["reproduced", "worse", "fails"]
    assert {row["paper"] for row in rows} == {"stand_in_900"}


def test_a_papers_folder_has_its_summary_tables_and_facts(page):
    folder = page.parent / "900"
    text = (folder / "summary.md").read_text()
    assert "| 1 | 0 | 1 | 0 | 0 | 1 | 0 | 0 |" in text
    assert "| Table 2: decode, ms | 30 | 2 |" in text
    assert (folder / "curves.csv").read_text() == "bytes,mm\n9,0.5\n"
    facts = json.loads((folder / "finished.json").read_text())
    assert set(facts) == {"date", "commit", "machine", "minutes", "seeds", "clips", "missing"}


def test_a_single_paper_returns_the_summary_that_it_writes(papers, tmp_path):
    both, _, data = papers
    summary = reproduce(both[0], data, tmp_path / "one")
    assert (tmp_path / "one" / "summary.md").read_text() == summary


def test_a_missing_clip_that_a_paper_requires_is_an_error(papers, tmp_path, monkeypatch):
    both, calls, data = papers
    monkeypatch.setattr(both[0].module(), "REQUIRED", ("cmu/run",))
    with pytest.raises(UsageError, match=naming("cmu/run.bvh")):
        reproduce(both[0], data, tmp_path / "one")
    assert calls == []


def test_papers_that_cannot_be_reproduced_are_named_and_the_exit_code_is_1(
    script, tmp_path, capsys
):
    (tmp_path / "clips").mkdir()
    words = ["--data", str(tmp_path / "clips"), "--out", str(tmp_path / "report")]
    assert script.main(words) == 1
    assert names(capsys.readouterr().err, "Váša Brunnett 2014")
    assert (tmp_path / "report" / "papers.md").exists()
