"""Batches: an error, a crash or Ctrl-C affects one file, and --resume continues with the rest."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import run_text

import mocpack
from child_processes import start
from mocpack.cli import batch
from mocpack.cli.journal import JOURNAL_NAME
from mocpack.testing import walk
from naming import names

POSIX = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
LINUX = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
RAW = ("--codec", "raw")


def started(folder, *words):
    return start(
        [sys.executable, "-m", "mocpack", *map(str, words)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def ended(process):
    """Wait for a process; return (exit code, standard output, standard error)."""
    out, err = process.communicate(timeout=100)
    return process.returncode, out.decode(), err.decode()


def run(folder, *words):
    """Run a command; return (exit code, standard output, standard error)."""
    done = run_text(*words, folder=folder)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path):
    for i, name in enumerate("abc"):
        mocpack.write(walk(0.3, seed=i), tmp_path / f"{name}.bvh")
    return tmp_path


def made(folder):
    return {p.name: p.read_bytes() for p in (folder / "out").iterdir() if p.name != JOURNAL_NAME}


def rows_of(folder, *words):
    code, out, err = run(folder, "compress", *words, "--json")
    assert "Traceback" not in err
    return code, {row["output"].rpartition("/")[2]: row for row in json.loads(out)}


@POSIX
def test_ctrl_c_stops_a_batch_and_reports_what_was_done(folder):
    os.mkfifo(folder / "pipe.bvh")
    process = started(
        folder, "compress", "a.bvh", "pipe.bvh", "b.bvh", "c.bvh", "-o", "out", *RAW, "-j", 1
    )
    # opens when the worker opens it to read: a is done then, b and c are not begun
    with (folder / "pipe.bvh").open("wb"):
        os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it, to every process
        code, out, err = ended(process)
    assert code == 130
    assert "Traceback" not in err
    assert names(err, "mocpack: 3 4 --resume")
    statuses = {
        line.split()[0]: line.rstrip() for line in out.splitlines()[1:] if line.startswith("out/")
    }
    assert statuses["out/a.mocp"].endswith("done")
    assert "not done" not in statuses["out/a.mocp"]
    for name in ("pipe", "b", "c"):
        assert statuses[f"out/{name}.mocp"].endswith("not done")
    assert made(folder).keys() == {"a.mocp"}


@POSIX
def test_ctrl_c_reports_what_was_decompressed(folder):
    assert rows_of(folder, "a.bvh", "b.bvh", "-o", "out", *RAW)[0] == 0
    os.mkfifo(folder / "out" / "pipe.mocp")
    files = [f"out/{name}.mocp" for name in ("a", "pipe", "b")]
    process = started(folder, "decompress", *files, "-o", "back")
    with (folder / "out" / "pipe.mocp").open("wb"):
        os.killpg(process.pid, signal.SIGINT)
        code, out, err = ended(process)
    assert code == 130
    assert names(err, "mocpack: 2 3")
    assert [line.split(maxsplit=1)[-1].strip() for line in out.splitlines()] == [
        "status",
        "done",
        "not done",
        "not done",
    ]
    assert [p.name for p in (folder / "back").glob("[!.]*")] == ["a.bvh"]


@POSIX
def test_ctrl_c_stops_a_single_file_too(folder):
    os.mkfifo(folder / "pipe.bvh")
    process = started(folder, "compress", "pipe.bvh", *RAW)
    with (folder / "pipe.bvh").open("wb"):
        os.killpg(process.pid, signal.SIGINT)
        code, out, err = ended(process)
    assert (code, out, err.count("\n")) == (130, "", 1)
    assert names(err, "mocpack: pipe.bvh")


@POSIX
def test_an_interrupted_batch_is_resumed_where_it_stopped(folder):
    names = ("a.bvh", "pipe.bvh", "b.bvh", "c.bvh")
    os.mkfifo(folder / "pipe.bvh")
    process = started(folder, "compress", *names, "-o", "out", *RAW)
    with (folder / "pipe.bvh").open("wb"):
        os.killpg(process.pid, signal.SIGKILL)  # as the kernel does when memory ends
        ended(process)
    first = (folder / "out" / "a.mocp").stat().st_mtime_ns
    (folder / "pipe.bvh").unlink()
    mocpack.write(walk(0.3, seed=9), folder / "pipe.bvh")
    code, rows = rows_of(folder, *names, "-o", "out", *RAW, "--resume")
    assert code == 0
    statuses = {name: row["status"] for name, row in rows.items()}
    assert statuses == {"a.mocp": "kept", "pipe.mocp": "done", "b.mocp": "done", "c.mocp": "done"}
    assert (folder / "out" / "a.mocp").stat().st_mtime_ns == first
    assert rows["a.mocp"]["bytes"] == len(made(folder)["a.mocp"])  # kept files have sizes too
    assert all(row["ok"] for row in rows.values())


@LINUX
@POSIX
def test_a_killed_worker_fails_only_its_own_file(folder):
    os.mkfifo(folder / "pipe.bvh")
    process = started(folder, "compress", "a.bvh", "pipe.bvh", "b.bvh", "-o", "out", *RAW)
    with (folder / "pipe.bvh").open("wb"):
        os.kill(worker_of(process), signal.SIGKILL)
        code, out, err = ended(process)
    assert code == 2
    assert err.count("\n") == 1
    assert names(err, "mocpack: pipe.bvh 9 SIGKILL")
    assert made(folder).keys() == {"a.mocp", "b.mocp"}
    (row,) = [line for line in out.splitlines() if line.startswith("out/pipe.mocp")]
    assert row.rstrip().endswith("failed")


def worker_of(process):
    """Return the worker process; multiprocessing also starts a resource tracker."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    commands = {int(c): Path(f"/proc/{c}/cmdline").read_bytes() for c in children}
    (worker,) = [c for c, command in commands.items() if b"spawn_main" in command]
    return worker


def test_a_file_that_fails_has_a_row_and_an_error_message(folder):
    (folder / "bad.bvh").write_bytes(b"HIERARCHY\nROOT x\n")
    code, rows = rows_of(folder, "a.bvh", "bad.bvh", "b.bvh", "-o", "out", *RAW, "-j", "2")
    assert code == 2
    assert [rows[f"{n}.mocp"]["ok"] for n in ("a", "bad", "b")] == [True, False, True]
    assert rows["bad.mocp"]["error"].startswith("bad.bvh: line 2:")
    assert rows["bad.mocp"]["input"] == "bad.bvh"


@LINUX
def test_a_file_that_cannot_be_read_fails_alone_and_resume_tries_it_again(folder):
    (folder / "bad.bvh").symlink_to("/proc/self/mem")  # reading it fails, also for root
    words = ("compress", "a.bvh", "bad.bvh", "-o", "out", *RAW)
    for resume in ((), ("--resume",)):
        code, _, err = run(folder, *words, *resume)
        assert (code, err.count("\n")) == (2, 1)
        assert names(err, "mocpack: bad.bvh error")
        assert made(folder).keys() == {"a.mocp"}


def test_a_missing_folder_is_named_once(folder):
    code, _, err = run(folder, "compress", "nowhere/")
    assert (code, err.count("nowhere"), err.count("\n")) == (2, 1, 1)


def test_an_unexpected_error_is_reported_and_does_not_stop_the_batch():
    def defective(source, output, *, force):
        raise ZeroDivisionError("by nothing")

    outcome = batch.attempt(defective, batch.Job("walk.bvh", ("walk.mocp",)))
    assert (outcome.status, outcome.code) == ("failed", 2)
    assert outcome.error.startswith("walk.bvh: ")
    assert names(outcome.error, "mocpack ZeroDivisionError: by nothing test_batch.py")


def test_resume_compares_checksums_not_names(folder):
    names = ("a.bvh", "b.bvh", "c.bvh", "-o", "out", *RAW, "--resume")
    assert rows_of(folder, *names)[0] == 0
    whole = made(folder)
    damaged = bytearray(whole["a.mocp"])
    damaged[-5] ^= 1
    (folder / "out" / "a.mocp").write_bytes(damaged)
    mocpack.write(walk(0.4, seed=7), folder / "b.bvh")
    code, rows = rows_of(folder, *names)
    assert code == 0
    statuses = {name: row["status"] for name, row in rows.items()}
    assert statuses == {"a.mocp": "done", "b.mocp": "done", "c.mocp": "kept"}
    now = made(folder)
    assert now["a.mocp"] == whole["a.mocp"]
    assert now["b.mocp"] != whole["b.mocp"]


def test_resume_with_other_settings_starts_over(folder):
    names = ("a.bvh", "b.bvh", "-o", "out", "--resume")
    assert rows_of(folder, *names, *RAW)[0] == 0
    _, rows = rows_of(folder, *names, *RAW, "--frames", "1:")
    assert {row["status"] for row in rows.values()} == {"done"}
    assert {row["frames"] for row in rows.values()} == {17}


def test_resume_does_not_overwrite_files_of_other_programs(folder):
    (folder / "out").mkdir()
    (folder / "out" / "b.mocp").write_bytes(b"precious")
    for _ in range(2):  # the first try must not make it ours
        code, rows = rows_of(folder, "a.bvh", "b.bvh", "-o", "out", *RAW, "--resume")
        assert code == 2
        assert names(rows["b.mocp"]["error"], "b.bvh: out/b.mocp -f")
        assert made(folder)["b.mocp"] == b"precious"


def test_resume_reads_a_truncated_journal(folder):
    names = ("a.bvh", "b.bvh", "-o", "out", *RAW, "--resume")
    rows_of(folder, *names)
    journal = folder / "out" / JOURNAL_NAME
    journal.write_bytes(journal.read_bytes()[:-20] + b'\nnull\n[1]\n{"output": 3}\n{"out')
    code, rows = rows_of(folder, *names)
    assert code == 0
    assert {name: row["status"] for name, row in rows.items()} == {
        "a.mocp": "kept",
        "b.mocp": "done",
    }
    assert {row["status"] for row in rows_of(folder, *names)[1].values()} == {"kept"}


def test_resume_removes_temporary_files_of_a_killed_run(folder):
    (folder / "out").mkdir()
    (folder / "out" / JOURNAL_NAME).write_text('{"output": "a.mocp"}\n')
    (folder / "out" / ".a.mocp.x1y2z3_4").write_bytes(b"half")
    (folder / "out" / ".a.mocp.backup").write_bytes(b"another's")
    assert rows_of(folder, "a.bvh", "b.bvh", "-o", "out", *RAW, "--resume")[0] == 0
    assert made(folder).keys() == {"a.mocp", "b.mocp", ".a.mocp.backup"}


def test_a_complete_batch_leaves_no_journal(folder):
    assert rows_of(folder, "a.bvh", "b.bvh", "-o", "out", *RAW)[0] == 0
    assert sorted(p.name for p in (folder / "out").iterdir()) == ["a.mocp", "b.mocp"]


def test_decompress_can_be_resumed_and_checks_both_files_of_an_amc(folder):
    assert rows_of(folder, "a.bvh", "b.bvh", "-o", "out", *RAW)[0] == 0
    words = ("decompress", "out/a.mocp", "out/b.mocp", "-o", "back", "--to", "amc", "--resume")
    assert run(folder, *words)[0] == 0
    kept = (folder / "back" / "a.amc").stat().st_mtime_ns
    (folder / "back" / "b.asf").unlink()
    assert run(folder, *words) == (0, "", "")
    assert (folder / "back" / "a.amc").stat().st_mtime_ns == kept
    assert (folder / "back" / "b.asf").exists()


def test_resume_notices_another_skeleton_of_an_amc(folder):
    mocpack.write(walk(0.2), folder / "walk.amc")
    words = ("walk.amc", "a.bvh", "-o", "out", *RAW, "--resume")
    assert rows_of(folder, *words)[0] == 0
    skeleton = folder / "walk.asf"
    skeleton.write_bytes(skeleton.read_bytes() + b"# changed\n")
    statuses = {name: row["status"] for name, row in rows_of(folder, *words)[1].items()}
    assert statuses == {"walk.mocp": "done", "a.mocp": "kept"}


def test_standard_input_must_be_the_only_input(folder):
    code, _, err = run(folder, "compress", "a.bvh", "-", "-o", "out", *RAW)
    assert code == 2
    assert err.count("\n") == 1
    assert names(err, "mocpack: -")
