"""Progress bars: on a terminal only, for slow work, with the time left."""

import io
import sys
from threading import Event

import pytest
from rich.console import Console

import mocpack
from mocpack import progress as work_progress
from mocpack.cli import progress
from mocpack.cli.app import main
from mocpack.cli.batch import Job, run_batch
from mocpack.testing import walk


class Screen(io.StringIO):
    """A fake terminal; `lit` is set at the first write."""

    def __init__(self):
        super().__init__()
        self.lit = Event()

    def write(self, text):
        self.lit.set()
        return super().write(text)


@pytest.fixture
def terminal(monkeypatch):
    """A fake terminal that receives standard error."""
    written = Screen()
    console = Console(file=written, force_terminal=True, width=120, _environ={"TERM": "xterm"})
    monkeypatch.setattr(progress, "stderr", lambda: console)
    return written


def test_long_work_shows_a_bar_with_the_time_left(terminal):
    def half():
        assert terminal.lit.wait(30)
        work_progress.expect(2)
        with work_progress.stage():
            pass
        return "made"

    assert progress.run_with_progress("packing", half, slow=0.0) == "made"
    assert "packing" in terminal.getvalue()
    assert "50%" in terminal.getvalue()
    assert "left" in terminal.getvalue()


def test_short_work_shows_nothing(terminal):
    assert progress.run_with_progress("packing", lambda: 7) == 7
    assert terminal.getvalue() == ""


def test_work_without_progress_reports_shows_the_elapsed_time(terminal):
    progress.run_with_progress("packing", lambda: terminal.lit.wait(30), slow=0.0)
    assert "packing" in terminal.getvalue()
    assert "left" not in terminal.getvalue()


def test_exceptions_of_the_work_are_raised():
    def fail():
        raise mocpack.errors.BoundError("too far")

    with pytest.raises(mocpack.errors.BoundError, match="too far"):
        progress.run_with_progress("packing", fail)


def test_a_single_long_encode_shows_the_time_left(terminal, monkeypatch, tmp_path):
    monkeypatch.setattr(progress.run_with_progress, "__kwdefaults__", {"slow": 0.0})
    source = tmp_path / "walk.bvh"
    mocpack.write(walk(1), source)
    with pytest.raises(SystemExit) as end:
        main(["compress", str(source), "--max-error", "0.3mm", "--effort", "best"])
    assert end.value.code == 0
    assert "compressing" in terminal.getvalue()
    assert " left" in terminal.getvalue()


def two_halves(source, output, *, force):
    work_progress.expect(2)
    for _ in range(2):
        with work_progress.stage():
            pass


def test_a_batch_counts_fractions_of_unfinished_files(terminal, monkeypatch):
    shares = []
    make_progress_bar = progress.make_progress_bar

    def watched_bar():
        bar = make_progress_bar()
        update = bar.update
        bar.update = lambda task, **what: (shares.append(what["completed"]), update(task, **what))
        return bar

    monkeypatch.setattr(sys.modules["mocpack.cli.batch"], "make_progress_bar", watched_bar)
    jobs = [Job(f"{n}.bvh", (f"{n}.mocp",)) for n in "ab"]
    outcomes = run_batch(two_halves, jobs, workers=2, title="packing")
    assert {one.status for one in outcomes} <= {"done", "failed"}
    assert 0.5 in shares
    assert shares[-1] == 2
