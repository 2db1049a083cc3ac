"""Worker processes: a crash loses only its job, and Ctrl-C stops them at once."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from mocpack.workers import LostJob, WorkerGroup, describe_exit, run_each
from naming import names

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills processes")


def act(what, tally=None):
    if tally is not None:
        with Path(tally).open("a") as file:
            file.write("x")
    if what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "die once" and Path(tally).stat().st_size == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "hang":
        time.sleep(60)
    if what == "leave":
        os._exit(3)
    return what, os.getpid()


def found(*whats, **settings):
    return dict(run_each(act, [(w,) if isinstance(w, str) else w for w in whats], **settings))


def test_every_job_is_done_in_a_process_that_is_not_this_one():
    results = found("a", "b", "c", "d", workers=2)
    assert [results[i][0] for i in range(4)] == ["a", "b", "c", "d"]
    pids = {results[i][1] for i in range(4)}
    assert os.getpid() not in pids
    assert 1 <= len(pids) <= 2


def test_a_killed_process_costs_its_own_job_and_no_other():
    results = found("a", "die", "b", "die", "c", workers=2)
    assert [results[i][0] for i in (0, 2, 4)] == ["a", "b", "c"]
    assert results[1] == results[3] == LostJob(describe_exit(-9))


def test_a_process_that_leaves_says_with_which_code():
    assert names(found("leave", "a", workers=1)[0].reason, "3")


def test_a_job_that_takes_too_long_is_lost_and_the_next_is_done():
    results = found("a", "hang", "b", workers=1, max_seconds=1.0)
    assert names(results[1].reason, "1 s")
    assert [results[i][0] for i in (0, 2)] == ["a", "b"]


def test_a_job_may_be_given_more_than_one_life(tmp_path):
    once, always = str(tmp_path / "once"), str(tmp_path / "always")
    results = found(("die once", once), ("die", always), workers=1, max_crashes=3)
    assert results[0][0] == "die once"
    assert results[1] == LostJob(describe_exit(-9))
    assert Path(once).stat().st_size == 2
    assert Path(always).stat().st_size == 3


def test_leaving_the_loop_ends_every_process():
    results = run_each(act, [("a",)] * 50, workers=2)
    pids = {next(results)[1][1], next(results)[1][1]}
    results.close()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_started_jobs_are_reported():
    on_start = []
    results = run_each(act, [("a",), ("b",), ("c",)], workers=1, on_start=on_start.append)
    next(results)
    assert on_start == [0]
    results.close()
    assert on_start == [0]


def test_a_crew_keeps_its_processes_from_one_list_to_the_next():
    with WorkerGroup(act, 2) as group:
        first, second = (dict(group.run([("a",), ("b",)])) for _ in range(2))
        assert {pid for _, pid in first.values()} >= {pid for _, pid in second.values()}


def test_shared_arguments_are_sent_to_each_worker_once():
    with WorkerGroup(partial(act, "a"), 1) as group:
        assert [found[0] for _, found in group.run([(), ()])] == ["a", "a"]


def test_a_list_that_was_left_early_does_not_answer_the_next():
    with WorkerGroup(act, 2) as group:
        early = group.run([("old",)] * 6)
        next(early)
        early.close()
        assert [found[0] for _, found in group.run([("new",)] * 3)] == ["new"] * 3


def test_a_death_in_a_crew_costs_one_job_and_another_process_is_started():
    with WorkerGroup(act, 1) as group:
        assert dict(group.run([("die",)]))[0] == LostJob(describe_exit(-9))
        assert dict(group.run([("a",)]))[0][0] == "a"


def test_a_script_without_a_main_guard_gets_an_error_at_once(tmp_path):
    script = tmp_path / "script.py"
    work = "list(run_each(abs, [(n,) for n in range(99)], workers=1))"
    script.write_text(f"from mocpack.workers import run_each\n{work}\n")
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    assert names(run.stderr.splitlines()[-1], "mocpack.errors.UsageError:")
    assert run.stderr.count("An attempt has been made to start a new process") == 1


def test_the_end_of_a_crew_ends_its_processes():
    with WorkerGroup(act, 1) as group:
        pid = dict(group.run([("a",)]))[0][1]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
