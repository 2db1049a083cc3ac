"""Bars with the time left: on a terminal, for work that takes long, and never in the way."""

import io
import sys
from threading import Event

import pytest
from rich.console import Console

import mocpack
from mocpack import progress as told
from mocpack.cli import progress
from mocpack.cli.app import main
from mocpack.cli.batch import Job, run_batch
from mocpack.testing import walk


class Screen(io.StringIO):
    """What a terminal shows; `lit` is set when it shows the first thing."""

    def __init__(self):
        super().__init__()
        self.lit = Event()

    def write(self, text):
        self.lit.set()
        return super().write(text)


@pytest.fixture
def terminal(monkeypatch):
    """Return what a terminal gets on standard error."""
    written = Screen()
    console = Console(file=written, force_terminal=True, width=120, _environ={"TERM": "xterm"})
    monkeypatch.setattr(progress, "stderr", lambda: console)
    return written


def test_long_work_shows_a_bar_with_the_time_left(terminal):
    def half():
        assert terminal.lit.wait(30)
        told.expect(2)
        with told.stage():
            pass
        return "made"

    assert progress.watched("packing", half, slow=0.0) == "made"
    assert "packing" in terminal.getvalue()
    assert "50%" in terminal.getvalue()
    assert "left" in terminal.getvalue()


def test_short_work_shows_nothing(terminal):
    assert progress.watched("packing", lambda: 7) == 7
    assert terminal.getvalue() == ""


def test_work_that_does_not_say_how_far_it_is_shows_the_time_so_far(terminal):
    progress.watched("packing", lambda: terminal.lit.wait(30), slow=0.0)
    assert "packing" in terminal.getvalue()
    assert "left" not in terminal.getvalue()


def test_what_the_work_raises_is_raised_here():
    def fail():
        raise mocpack.errors.BoundError("too far")

    with pytest.raises(mocpack.errors.BoundError, match="too far"):
        progress.watched("packing", fail)


def test_a_single_long_encode_tells_the_time_left(terminal, monkeypatch, tmp_path):
    monkeypatch.setattr(progress.watched, "__kwdefaults__", {"slow": 0.0})
    source = tmp_path / "walk.bvh"
    mocpack.write(walk(1), source)
    with pytest.raises(SystemExit) as end:
        main(["compress", str(source), "--max-error", "0.3mm", "--effort", "best"])
    assert end.value.code == 0
    assert "compressing" in terminal.getvalue()
    assert " left" in terminal.getvalue()


def two_halves(source, output, *, force):
    told.expect(2)
    for _ in range(2):
        with told.stage():
            pass


def test_a_batch_counts_the_shares_of_files_that_are_not_done(terminal, monkeypatch):
    shares = []
    counted = progress.counted

    def watched_bar():
        bar = counted()
        update = bar.update
        bar.update = lambda task, **what: (shares.append(what["completed"]), update(task, **what))
        return bar

    monkeypatch.setattr(sys.modules["mocpack.cli.batch"], "counted", watched_bar)
    jobs = [Job(f"{n}.bvh", (f"{n}.mocp",)) for n in "ab"]
    outcomes = run_batch(two_halves, jobs, workers=2, title="packing")
    assert {one.fate for one in outcomes} <= {"done", "failed"}
    assert 0.5 in shares
    assert shares[-1] == 2
