"""``corpus pack`` and ``cluster``: many jobs, interrupted runs, URLs."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import run_text as run

import mocpack
from child_processes import start
from mocpack.cli.cluster import pack as cluster_pack
from mocpack.errors import UsageError
from mocpack.testing import walk
from naming import names

pytest.importorskip("pyarrow")
HOW = ["--max-error", "5mm", "--effort", "fast"]
# in every process that another has started, a file of this name is the last that is opened
DEADLY = """
import multiprocessing, os, signal, sys

def killed(event, words):
    if event == "open" and str(words[0]).endswith("poison.bvh"):
        if multiprocessing.parent_process() is not None:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(killed)
"""

# a worker that opens the file of this name goes on when the pipe "go" is written
STOPPED = """
import multiprocessing, sys

def stop(event, words):
    if event == "open" and str(words[0]).endswith("stop.bvh"):
        if multiprocessing.parent_process() is not None:
            open("stopped", "w").close()
            open("go").close()

sys.addaudithook(stop)
"""

# the process that the command starts in ends at its n-th change of the files below its folder
KILLED_AT_CHANGE = """
import multiprocessing, os, signal, sys

left = int(os.environ["KILLED_AT"])

def killed(event, words):
    global left
    writes = event == "open" and isinstance(words[2], int) and words[2] & (os.O_WRONLY | os.O_RDWR)
    if not writes and event not in ("os.mkdir", "os.rename", "os.remove", "os.rmdir"):
        return
    if "__pycache__" in str(words[0]) or str(words[0]).startswith("/dev"):
        return
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(killed)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of takes, and the archive that one run wrote from it."""
    place = tmp_path_factory.mktemp("parts")
    (place / "takes/s2").mkdir(parents=True)
    for number in range(3):
        mocpack.write(walk(0.2, seed=number), place / f"takes/s2/take{number}.bvh")
    mocpack.write(walk(0.3), place / "takes/one.bvh")
    made = run("corpus", "pack", "takes", "-o", "all.mocps", *HOW, folder=place)
    assert made.returncode == 0, made.stderr
    return place


def same(folder, name):
    return (folder / name).read_bytes() == (folder / "all.mocps").read_bytes()


def write_plan(folder, name, *, takes="takes"):
    made = run("cluster", "plan", takes, "-o", name, *HOW, folder=folder)
    assert made.returncode == 0, made.stderr
    return made


def test_jobs_pack_shards_of_a_plan_and_join_writes_the_archive(folder):
    assert "4 files" in write_plan(folder, "plan.jsonl").stdout
    words = [folder / "plan.jsonl", "-o", folder / "planned.mocps"]
    elsewhere = folder / "takes/s2"  # a plan means the same from any folder
    second = run("cluster", "pack", *words, "--shard", "2/2", "-j", "2", folder=elsewhere)
    assert names(second.stdout, "2 files 2 parts 0")
    early = run("cluster", "join", *words, folder=elsewhere)
    assert early.returncode == 2
    assert names(early.stderr, "2 4 1, 3")
    status = json.loads(run("cluster", "status", *words, "--json", folder=elsewhere).stdout)
    assert (status[0]["files_done"], status[0]["files"]) == (2, 4)
    told = run("cluster", "status", *words, folder=elsewhere)
    assert names(told.stdout, "2 4")
    assert run("cluster", "pack", *words, "--shard", "1/2", folder=elsewhere).returncode == 0
    again = run("cluster", "pack", *words, folder=elsewhere)  # all shards
    assert names(again.stdout, "4 files 4 parts")
    joined = run("cluster", "join", *words, folder=elsewhere)
    assert joined.returncode == 0, joined.stderr
    assert same(folder, "planned.mocps")
    assert not (folder / "planned.mocps.parts").exists()


def test_wrong_plans_are_errors(folder):
    write_plan(folder, "p.jsonl")
    plan = ["cluster", "plan", "takes", "-o"]
    wrong = run(*plan, "p.jsonl", folder=folder)
    assert names(wrong.stderr, "p.jsonl -f")
    wrong = run(*plan, "plan.txt", folder=folder)
    assert names(wrong.stderr, "plan.txt .jsonl")
    (folder / "none.jsonl").write_text("nonsense\n")
    wrong_plans = [("pack", "none.jsonl", "none.jsonl line 1 JSON"), ("status", "takes", "takes")]
    for command, name, named in [*wrong_plans, ("join", "nowhere.jsonl", "nowhere.jsonl")]:
        wrong = run("cluster", command, name, "-o", "p.mocps", folder=folder)
        assert wrong.returncode == 2
        assert names(wrong.stderr, named)
        assert wrong.stderr.count("\n") == 1
    for command in ("pack", "join"):
        wrong = run("cluster", command, "p.jsonl", "-o", "p.jsonl", "-f", folder=folder)
        assert wrong.returncode == 2
        assert names(wrong.stderr, "p.jsonl input output")
    assert not list(folder.glob("p.mocps*"))


@pytest.mark.parametrize(
    "shard", ["0/2", "3/2", "1/0", "x", "1/2/3", "-1/2", "²/2", "1/9999999999"]
)
def test_shard_must_be_number_and_count(shard):
    with pytest.raises(UsageError, match="NUMBER/COUNT"):
        cluster_pack.run("plan.jsonl", "all.mocps", shard=shard)


def test_corpus_pack_rejects_a_plan_and_names_cluster_pack(folder):
    write_plan(folder, "q.jsonl")
    wrong = run("corpus", "pack", "q.jsonl", "-o", "q.mocps", folder=folder)
    assert wrong.returncode == 2
    assert "mocpack cluster pack q.jsonl" in wrong.stderr
    assert not (folder / "q.mocps").exists()


def test_resume_packs_the_parts_that_are_missing(folder):
    write_plan(folder, "r.jsonl")
    words = ["r.jsonl", "-o", "left.mocps"]
    assert run("cluster", "pack", *words, "--shard", "1/3", folder=folder).returncode == 0
    status = json.loads(run("cluster", "status", *words, "--json", folder=folder).stdout)
    assert status[0]["parts_done"] == 2
    done = run(
        "corpus", "pack", "takes", "-o", "left.mocps", *HOW, "--resume", "-j", "2", folder=folder
    )
    assert done.returncode == 0, done.stderr
    assert same(folder, "left.mocps")


def test_jobs_do_not_overwrite_an_existing_archive(folder):
    (folder / "old.mocps").write_bytes(b"somebody's")
    write_plan(folder, "old.jsonl")
    resume = ["corpus", "pack", "takes", "-o", "old.mocps", *HOW, "--resume"]
    planned = ["old.jsonl", "-o", "old.mocps"]
    assert run("cluster", "status", *planned, folder=folder).returncode == 0
    shard = ["cluster", "pack", *planned, "--shard", "1/2"]
    for words in (shard, ["cluster", "join", *planned], resume):
        refused = run(*words, folder=folder)
        assert refused.returncode == 2
        assert names(refused.stderr, "old.mocps -f")
    # who was allowed to begin may go on
    assert run(*shard, "-f", folder=folder).returncode == 0
    assert run(*resume, folder=folder).returncode == 0
    assert same(folder, "old.mocps")


def test_a_killed_run_resumes_and_leaves_no_parts(folder):
    words = [sys.executable, "-m", "mocpack", "corpus", "pack", "takes", "-o", "killed.mocps", *HOW]
    parts = folder / "killed.mocps.parts"
    process = start([*words, "--engine", "local"], cwd=folder)
    while process.poll() is None and not list(parts.glob("*.part")):
        pass  # until a part exists
    process.kill()
    process.wait()
    temporary = folder / ".killed.mocps.abcdefgh"
    temporary.write_text("left by a process that was killed while it wrote")
    done = run(*words[3:], "--resume", folder=folder)
    assert done.returncode == 0, done.stderr
    assert same(folder, "killed.mocps")
    assert [path.name for path in folder.glob("*killed.mocps?*")] == [".killed.mocps.packed"]


@pytest.mark.parametrize("how", [[], ["--resume"]])
def test_labels_that_do_not_fit_are_refused_before_packing(folder, tmp_path, how):
    (tmp_path / "labels.csv").write_text("clip,mood,mood\none,sad,glad\n")
    words = ["corpus", "pack", folder / "takes", "-o", "x.mocps", "--meta", "labels.csv"]
    refused = run(*words, *how, folder=tmp_path)
    assert refused.returncode == 2
    assert names(refused.stderr, "--meta mood")
    assert refused.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["labels.csv"]


@pytest.fixture
def stopping(folder, tmp_path):
    """A folder in which a worker that packs stop.bvh waits."""
    (tmp_path / "sitecustomize.py").write_text(STOPPED)
    shutil.copy(folder / "takes/one.bvh", tmp_path / "stop.bvh")
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs named pipes")
    os.mkfifo(tmp_path / "go")
    return tmp_path


def start_and_wait(folder, words):
    process = start(
        [sys.executable, "-m", "mocpack", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (folder / "stopped").exists():
        assert process.poll() is None, process.communicate()
    return process


@pytest.mark.parametrize("how", [["--append"], ["--resume"], []])
def test_a_second_command_that_writes_the_same_archive_is_refused(folder, stopping, how):
    shutil.copytree(folder / "takes/s2", stopping / "s2")
    if "--append" in how:
        shutil.copy(folder / "takes/one.bvh", stopping / "old.bvh")
        assert (
            run("corpus", "pack", "old.bvh", "-o", "x.mocps", *HOW, folder=stopping).returncode == 0
        )
    shutil.copy(folder / "all.mocps", stopping / "other.mocps")
    process = start_and_wait(stopping, ["corpus", "pack", "stop.bvh", "-o", "x.mocps", *HOW, *how])
    seconds = [["pack", "s2", *HOW, *how], ["pack", "s2", *HOW], ["merge", "other.mocps"]]
    for second in [*seconds, ["repair", "other.mocps"]]:
        refused = run("corpus", *second, "-o", "x.mocps", folder=stopping)
        assert refused.returncode == 2
        assert names(refused.stderr, "x.mocps")
        assert refused.stderr.count("\n") == 1
    (stopping / "go").open("wb").close()
    _, told = process.communicate(timeout=60)
    assert process.returncode == 0, told
    with mocpack.open_corpus(stopping / "x.mocps") as found:
        assert found.names == (("old",) if "--append" in how else ()) + ("stop",)
    assert not (stopping / ".x.mocps.lock").exists()


def test_an_interrupted_run_prints_the_command_that_continues_it(folder, stopping):
    shutil.copytree(folder / "takes", stopping / "my takes")
    words = ["corpus", "pack", "my takes", "stop.bvh", "-o", "all.mocps", *HOW]
    for how in ([], ["--resume"]):
        process = start_and_wait(stopping, [*words, *how])
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
        assert process.returncode == 130
        assert told.count("\n") == 1
        assert names(told, "--resume")
        (stopping / "stopped").unlink()
    line = told.rstrip("\n")
    assert names(line, "4 5 parts")  # stop is the last by name
    command = shlex.split(line[line.index("mocpack corpus") :])
    assert command == ["mocpack", *words, "--resume"]
    done = run(*command[1:], folder=stopping)
    assert done.returncode == 0, done.stderr
    assert not list(stopping.glob("all.mocps.parts"))


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills processes: needs a POSIX system")
@pytest.mark.parametrize("how", [[], ["--shard-size", "300B"]])
def test_a_run_that_is_killed_at_any_change_of_files_resumes(folder, tmp_path, how):
    # two takes: every change ends a process, and each process takes a third of a second to start
    (tmp_path / "in/s2").mkdir(parents=True)
    for name in ("one.bvh", "s2/take0.bvh"):
        shutil.copy(folder / "takes" / name, tmp_path / "in" / name)
    words = ["corpus", "pack", str(tmp_path / "in"), *HOW, *how, "-o", "out.mocps"]
    (tmp_path / "whole").mkdir()
    assert run(*words, folder=tmp_path / "whole").returncode == 0
    whole = {path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir()}
    assert len(whole) > len(how)  # several shards, if any
    (tmp_path / "sitecustomize.py").write_text(KILLED_AT_CHANGE)
    for change in range(1, 100):
        # each run continues the runs before it
        process = start(
            [sys.executable, "-m", "mocpack", *words, "--resume"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path), "KILLED_AT": str(change)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        if process.wait() != -signal.SIGKILL:
            break
        for path in tmp_path.glob("out*.mocps"):  # complete or missing
            assert path.read_bytes() == whole[path.name]
    assert process.returncode == 0
    assert change > 5
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.mocps")} == whole
    assert not (tmp_path / "out.mocps.parts").exists()
    with (
        mocpack.open_corpus(tmp_path / "out.mocps") as found,
        mocpack.open_corpus(folder / "all.mocps") as expected,
    ):
        assert sorted(found.names) == ["one", "s2/take0"]
        assert all(found.read(name) == expected.read(name) for name in found.names)


@pytest.fixture
def finished(folder, tmp_path):
    """A folder of takes, one of them bad, that --resume has packed."""
    (tmp_path / "in").mkdir()
    for path in (folder / "takes/s2").iterdir():
        (tmp_path / "in" / path.name).write_bytes(path.read_bytes())
    (tmp_path / "in/bad.bvh").write_text("no motion")
    made = run("corpus", "pack", "in", "-o", "all.mocps", *HOW, "--resume", folder=tmp_path)
    assert made.returncode == 2, made.stderr
    return tmp_path


def test_a_complete_archive_is_reported_and_not_rewritten(finished):
    archive = finished / "all.mocps"
    before = archive.stat(), archive.read_bytes()
    words = ["corpus", "pack", "in", "-o", "all.mocps", *HOW]
    again = run(*words, "--resume", "--report", "bad.jsonl", folder=finished)
    assert again.returncode == 2  # one file was refused
    assert "bad.bvh" in again.stderr
    assert names(again.stdout, "all.mocps")
    assert json.loads((finished / "bad.jsonl").read_text())["input"] == "in/bad.bvh"
    facts, bad = json.loads(run(*words, "--engine", "local", "--json", folder=finished).stdout)
    assert facts["kept"]
    assert not bad["ok"]
    write_plan(finished, "plan.jsonl", takes="in")
    planned = ["plan.jsonl", "-o", "all.mocps"]
    late = run("cluster", "pack", *planned, "--shard", "2/2", folder=finished)
    assert late.returncode == 0, late.stderr  # the bad one is the first's
    assert names(late.stdout, "all.mocps")
    joined = run("cluster", "join", *planned, folder=finished)
    assert joined.returncode == 2
    assert names(joined.stdout, "all.mocps")
    status = json.loads(run("cluster", "status", *planned, "--json", folder=finished).stdout)
    assert status[0]["files_done"] == status[0]["files"] == 4
    assert (archive.stat(), archive.read_bytes()) == before
    assert not (finished / "all.mocps.parts").exists()


def test_an_archive_of_other_files_is_not_accepted_as_complete(finished):
    mocpack.write(walk(0.2, seed=9), finished / "in/take1.bvh")
    (finished / "in/bad.bvh").unlink()
    before = (finished / "all.mocps").read_bytes()
    words = ["corpus", "pack", "in", "-o", "all.mocps", *HOW, "--resume"]
    again = run(*words, folder=finished)
    assert again.returncode == 2
    assert names(again.stderr, "all.mocps -f")
    assert (finished / "all.mocps").read_bytes() == before
    assert not (finished / "all.mocps.parts").exists()
    for how, kept in (["-f"], False), ([], True):
        done = run(*words, *how, "--json", folder=finished)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)[0].get("kept", False) is kept


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills processes: needs a POSIX system")
@pytest.mark.parametrize("how", [[], ["--engine", "local", "-j", "2"]])
def test_a_file_that_crashes_its_worker_is_in_the_report(folder, tmp_path, how):
    (tmp_path / "sitecustomize.py").write_text(DEADLY)
    (tmp_path / "in").mkdir()
    for path in (folder / "takes").rglob("*.bvh"):
        (tmp_path / "in" / path.name).write_bytes(path.read_bytes())
    (tmp_path / "in/poison.bvh").write_bytes((folder / "takes/one.bvh").read_bytes())
    words = ["corpus", "pack", "in", "-o", "out.mocps", "--report", "bad.jsonl", *HOW, *how]
    made = run(*words, folder=tmp_path, PYTHONPATH=str(tmp_path))
    assert made.returncode == 2
    (row,) = map(json.loads, (tmp_path / "bad.jsonl").read_text().splitlines())
    assert row["input"] == "in/poison.bvh"
    assert names(row["error"], "9 SIGKILL 3")
    assert row["error"] in made.stderr.replace("\n", " ")
    with mocpack.open_corpus(tmp_path / "out.mocps") as corpus:
        assert corpus.names == ("one", "take0", "take1", "take2")


def test_urls_work_as_inputs_and_output(folder):
    pytest.importorskip("fsspec")
    url = folder.as_uri()
    for how in ([], ["--resume"]):
        name = f"url{len(how)}.mocps"
        made = run(
            "corpus", "pack", f"{url}/takes/", "-o", f"{url}/{name}", *HOW, *how, folder=folder
        )
        assert made.returncode == 0, made.stderr
        assert same(folder, name)
        assert not (folder / f"{name}.parts").exists()
    again = run("corpus", "pack", f"{url}/takes", "-o", f"{url}/url0.mocps", *HOW, folder=folder)
    assert names(again.stderr, "/url0.mocps -f")
    none = run("corpus", "pack", f"{url}/nothing", "-o", "none.mocps", folder=folder)
    assert none.returncode == 2
    assert names(none.stderr, "/nothing")
    some = run(
        "corpus",
        "pack",
        f"{url}/takes/s2/*0.bvh",
        "-o",
        "some.mocps",
        *HOW,
        "--json",
        folder=folder,
    )
    assert json.loads(some.stdout)[0]["clips"] == 1, some.stderr


def test_unknown_engines_are_errors(folder):
    wrong = run("corpus", "pack", "takes", "-o", "x.mocps", "--engine", "spark", folder=folder)
    assert wrong.returncode == 2
    assert names(wrong.stderr, "local ray 'spark'")
    wrong = run("corpus", "pack", "takes", "-o", "x.mocps", "--address", "auto", folder=folder)
    assert names(wrong.stderr, "--address --engine ray")
    for how in (["--resume"], ["--engine", "local"]):
        wrong = run("corpus", "pack", "takes", "-o", "x.mocps", "--append", *how, folder=folder)
        assert wrong.returncode == 2
        assert "--append" in wrong.stderr


def test_missing_ray_is_a_clear_error(folder):
    try:
        import ray  # noqa: F401
    except ModuleNotFoundError:
        wrong = run("corpus", "pack", "takes", "-o", "x.mocps", "--engine", "ray", folder=folder)
        assert wrong.returncode == 2
        assert "pip install 'mocpack[ray]'" in wrong.stderr
        assert wrong.stderr.count("\n") == 1
        assert not Path(folder / "x.mocps").exists()
