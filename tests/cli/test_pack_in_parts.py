"""``pack`` by many jobs, after a stop, from and to addresses, as a person does it."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import run_text as run

import mocpack
from mocpack.testing import walk

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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of takes, and the archive that one run has made of it."""
    place = tmp_path_factory.mktemp("parts")
    (place / "takes/s2").mkdir(parents=True)
    for number in range(3):
        mocpack.write(walk(0.2, seed=number), place / f"takes/s2/take{number}.bvh")
    mocpack.write(walk(0.3), place / "takes/one.bvh")
    made = run("pack", "takes", "-o", "all.mocps", *HOW, folder=place)
    assert made.returncode == 0, made.stderr
    return place


def same(folder, name):
    return (folder / name).read_bytes() == (folder / "all.mocps").read_bytes()


def test_jobs_work_from_a_plan_and_one_joins_what_they_made(folder):
    made = run("pack", "takes", "-o", "plan.jsonl", "--plan", *HOW, folder=folder)
    assert made.returncode == 0, made.stderr
    assert "4 files" in made.stdout
    words = ["pack", folder / "plan.jsonl", "-o", folder / "planned.mocps"]
    elsewhere = folder / "takes/s2"  # a plan means the same from any folder
    second = run(*words, "--shard", "2/2", "-j", "2", folder=elsewhere)
    assert "2 files in 2 parts, 0 were there already" in second.stdout
    early = run(*words, "--join", folder=elsewhere)
    assert early.returncode == 2
    assert "2 of 4 parts are not packed yet: 1, 3" in early.stderr
    status = json.loads(run(*words, "--status", "--json", folder=elsewhere).stdout)
    assert (status[0]["files_done"], status[0]["files"]) == (2, 4)
    assert "2 of 4 files are packed" in run(*words, "--status", folder=elsewhere).stdout
    assert run(*words, "--shard", "1/2", folder=elsewhere).returncode == 0
    again = run(*words, "--shard", "1/2", folder=elsewhere)
    assert "2 were there already" in again.stdout
    joined = run(*words, "--join", folder=elsewhere)
    assert joined.returncode == 0, joined.stderr
    assert same(folder, "planned.mocps")
    assert not (folder / "planned.mocps.parts").exists()


def test_what_a_plan_says_is_not_said_again(folder):
    run("pack", "takes", "-o", "p.jsonl", "--plan", *HOW, folder=folder)
    wrong = run("pack", "p.jsonl", "-o", "p.mocps", "--max-error", "1mm", folder=folder)
    assert wrong.returncode == 2
    assert "says how its files are packed" in wrong.stderr
    wrong = run("pack", "takes", "-o", "p.jsonl", "--plan", folder=folder)
    assert "exists; -f overwrites it" in wrong.stderr
    wrong = run("pack", "takes", "-o", "plan.txt", "--plan", folder=folder)
    assert "a plan's name ends in .jsonl" in wrong.stderr
    (folder / "none.jsonl").write_text("nonsense\n")
    wrong = run("pack", "none.jsonl", "-o", "p.mocps", folder=folder)
    assert wrong.returncode == 2
    assert "line 1: not JSON" in wrong.stderr


def test_jobs_without_a_plan_read_their_own_files_alone(folder):
    words = ["pack", "takes", "-o", "shards.mocps", *HOW]
    for shard in ("3/3", "1/3"):
        assert run(*words, "--shard", shard, folder=folder).returncode == 0
    kept = (folder / "shards.mocps.parts").glob("hashes-*.json")
    assert sorted(len(json.loads(path.read_text())["hashes"]) for path in kept) == [1, 2]
    # whatever is left, another way
    done = run(*words, "--resume", "-j", "2", folder=folder)
    assert done.returncode == 0, done.stderr
    assert same(folder, "shards.mocps")


def test_an_archive_that_is_there_is_not_overwritten_by_jobs(folder):
    (folder / "old.mocps").write_bytes(b"somebody's")
    words = ["pack", "takes", "-o", "old.mocps", *HOW]
    assert run(*words, "--status", folder=folder).returncode == 0
    for how in (["--shard", "1/2"], ["--resume"]):
        refused = run(*words, *how, folder=folder)
        assert refused.returncode == 2
        assert "exists; -f overwrites it" in refused.stderr
    # who was allowed to begin may go on
    assert run(*words, "-f", "--shard", "1/2", folder=folder).returncode == 0
    assert run(*words, "--resume", folder=folder).returncode == 0
    assert same(folder, "old.mocps")


def test_a_run_that_was_killed_goes_on_and_leaves_nothing_behind(folder):
    words = [sys.executable, "-m", "mocpack", "pack", "takes", "-o", "killed.mocps", *HOW]
    parts = folder / "killed.mocps.parts"
    with subprocess.Popen([*words, "--engine", "local"], cwd=folder) as process:
        while process.poll() is None and not list(parts.glob("*.part")):
            pass  # until something is there to go on with
        process.kill()
    temporary = folder / ".killed.mocps.abcdefgh"
    temporary.write_text("left by a process that was killed while it wrote")
    done = run(*words[3:], "--resume", folder=folder)
    assert done.returncode == 0, done.stderr
    assert same(folder, "killed.mocps")
    assert [path.name for path in folder.glob("*killed.mocps?*")] == [".killed.mocps.packed"]


@pytest.fixture
def finished(folder, tmp_path):
    """A folder of takes, one of them bad, that --resume has packed."""
    (tmp_path / "in").mkdir()
    for path in (folder / "takes/s2").iterdir():
        (tmp_path / "in" / path.name).write_bytes(path.read_bytes())
    (tmp_path / "in/bad.bvh").write_text("no motion")
    made = run("pack", "in", "-o", "all.mocps", *HOW, "--resume", folder=tmp_path)
    assert made.returncode == 2, made.stderr
    return tmp_path


def test_what_has_been_packed_is_said_to_be_there_and_not_touched(finished):
    archive = finished / "all.mocps"
    before = archive.stat(), archive.read_bytes()
    words = ["pack", "in", "-o", "all.mocps", *HOW]
    again = run(*words, "--resume", "--report", "bad.jsonl", folder=finished)
    assert again.returncode == 2  # one file was refused
    assert "bad.bvh" in again.stderr
    assert "all.mocps is there already" in again.stdout
    assert json.loads((finished / "bad.jsonl").read_text())["input"] == "in/bad.bvh"
    facts, bad = json.loads(run(*words, "--engine", "local", "--json", folder=finished).stdout)
    assert facts["kept"]
    assert not bad["ok"]
    late = run(*words, "--shard", "2/2", folder=finished)
    assert late.returncode == 0, late.stderr  # the bad one is the first's
    assert "all.mocps has them already" in late.stdout
    status = json.loads(run(*words, "--status", "--json", folder=finished).stdout)
    assert status[0]["files_done"] == status[0]["files"] == 4
    assert (archive.stat(), archive.read_bytes()) == before
    assert not (finished / "all.mocps.parts").exists()


def test_an_archive_of_anything_else_is_not_taken_for_what_is_asked(finished):
    mocpack.write(walk(0.2, seed=9), finished / "in/take1.bvh")
    (finished / "in/bad.bvh").unlink()
    before = (finished / "all.mocps").read_bytes()
    words = ["pack", "in", "-o", "all.mocps", *HOW, "--resume"]
    again = run(*words, folder=finished)
    assert again.returncode == 2
    assert "all.mocps exists, of other files or packed otherwise; -f overwrites" in again.stderr
    assert (finished / "all.mocps").read_bytes() == before
    assert not (finished / "all.mocps.parts").exists()
    for how in (["-f"], []):
        done = run(*words, *how, folder=finished)
        assert done.returncode == 0, done.stderr
    assert "is there already" in done.stdout


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills processes: needs a POSIX system")
@pytest.mark.parametrize("how", [[], ["--engine", "local", "-j", "2"]])
def test_a_file_that_ends_its_process_is_a_row_of_the_report(folder, tmp_path, how):
    (tmp_path / "sitecustomize.py").write_text(DEADLY)
    (tmp_path / "in").mkdir()
    for path in (folder / "takes").rglob("*.bvh"):
        (tmp_path / "in" / path.name).write_bytes(path.read_bytes())
    (tmp_path / "in/poison.bvh").write_bytes((folder / "takes/one.bvh").read_bytes())
    words = ["pack", "in", "-o", "out.mocps", "--report", "bad.jsonl", *HOW, *how]
    made = run(*words, folder=tmp_path, PYTHONPATH=str(tmp_path))
    assert made.returncode == 2
    (row,) = map(json.loads, (tmp_path / "bad.jsonl").read_text().splitlines())
    assert row["input"] == "in/poison.bvh"
    assert "ended by signal 9" in row["error"]
    assert row["error"].endswith("3 times")
    assert row["error"] in made.stderr.replace("\n", " ")
    with mocpack.corpus(tmp_path / "out.mocps") as corpus:
        assert corpus.names == ("one", "take0", "take1", "take2")


def test_addresses_are_packed_from_and_to(folder):
    pytest.importorskip("fsspec")
    url = folder.as_uri()
    for how in ([], ["--resume"]):
        name = f"url{len(how)}.mocps"
        made = run("pack", f"{url}/takes/", "-o", f"{url}/{name}", *HOW, *how, folder=folder)
        assert made.returncode == 0, made.stderr
        assert same(folder, name)
        assert not (folder / f"{name}.parts").exists()
    again = run("pack", f"{url}/takes", "-o", f"{url}/url0.mocps", *HOW, folder=folder)
    assert "url0.mocps exists; -f overwrites it" in again.stderr
    none = run("pack", f"{url}/nothing", "-o", "none.mocps", folder=folder)
    assert none.returncode == 2
    assert "no motion file is there" in none.stderr
    some = run("pack", f"{url}/takes/s2/*0.bvh", "-o", "some.mocps", *HOW, "--json", folder=folder)
    assert json.loads(some.stdout)[0]["clips"] == 1, some.stderr


def test_engines_that_are_not_there_are_said_so(folder):
    wrong = run("pack", "takes", "-o", "x.mocps", "--engine", "spark", folder=folder)
    assert wrong.returncode == 2
    assert "an engine is one of local, ray, got 'spark'" in wrong.stderr
    wrong = run("pack", "takes", "-o", "x.mocps", "--address", "auto", folder=folder)
    assert "--address is for --engine ray" in wrong.stderr
    wrong = run("pack", "takes", "-o", "x.mocps", "--engine", "local", "--join", folder=folder)
    assert "give one of --join, --resume or --engine" in wrong.stderr


def test_ray_is_missed_in_one_sentence(folder):
    try:
        import ray  # noqa: F401
    except ModuleNotFoundError:
        wrong = run("pack", "takes", "-o", "x.mocps", "--engine", "ray", folder=folder)
        assert wrong.returncode == 2
        assert "pip install 'mocpack[ray]'" in wrong.stderr
        assert wrong.stderr.count("\n") == 1
        assert not Path(folder / "x.mocps").exists()
