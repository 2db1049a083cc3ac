"""``corpus pack --engine ray`` on a real cluster of two nodes; run by `make test-ray`.

Workers, a node and the command itself are killed while they work. The tests kill only processes of
their own cluster.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import child_processes
import mocpack
from mocpack.cores import core_count
from mocpack.corpora import PackOptions, pack
from mocpack.corpora.engines import ray_engine
from mocpack.testing import walk

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - else all that the machine does comes first
cluster_utils = pytest.importorskip("ray.cluster_utils")

CLIPS = 24
# in every worker of ray's, a file of this name is the last that is opened
DEADLY = """
import os, signal, sys

def killed(event, words):
    if event == "open" and str(words[0]).endswith("poison.bvh"):
        if sys.argv[0].endswith("default_worker.py"):
            with open(str(words[0]) + ".deaths", "a") as tally:
                tally.write("x")
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(killed)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of takes, and the archive that one process packs."""
    place = tmp_path_factory.mktemp("ray")
    (place / "in").mkdir()
    for number in range(CLIPS):
        mocpack.write(walk(2.0, seed=number), place / f"in/take{number:02}.bvh")
    (place / "in/bad.bvh").write_text("no motion")
    files = {path.stem: path for path in (place / "in").iterdir()}
    pack(files, place / "one.mocps", PackOptions(target={"max_error": "1mm"}))
    (place / "site").mkdir()
    (place / "site/sitecustomize.py").write_text(DEADLY)
    return place


@pytest.fixture(scope="module")
def cluster(folder):
    os.environ["PYTHONPATH"] = str(folder / "site")
    found = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    found.nodes = [found.add_node(num_cpus=1) for _ in range(2)]
    found.wait_for_nodes()
    yield found
    found.shutdown()
    del os.environ["PYTHONPATH"]


def words(cluster, output, *more, inputs="in"):
    start = [
        sys.executable,
        "-m",
        "mocpack",
        "corpus",
        "pack",
        inputs,
        "-o",
        output,
        "--max-error",
        "1mm",
    ]
    return [*start, "--engine", "ray", "--address", cluster.address, *more]


def finish(process):
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 2, errors  # one file is bad
    return errors


def start(folder, cluster, output, *more):
    return child_processes.start(
        words(cluster, output, *more),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_parts(folder, output, count, process):
    """Wait until that many parts exist, or the run has ended."""
    parts = folder / f"{output}.parts"
    while process.poll() is None and len(list(parts.glob("*.part"))) < count:
        pass
    assert process.poll() is None, "over before anybody could be killed"


def workers(node):
    """Return the processes that a node of the cluster has started to work in."""
    (raylet,) = [info.process for info in node.all_processes["raylet"]]
    children = Path(f"/proc/{raylet.pid}/task/{raylet.pid}/children").read_text().split()
    return [int(pid) for pid in children if b"ray::pack" in _title(pid)]


def _title(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def same(folder, output):
    return (folder / output).read_bytes() == (folder / "one.mocps").read_bytes()


def test_two_nodes_make_the_bytes_of_one_process(folder, cluster):
    errors = finish(start(folder, cluster, "two.mocps", "--report", "bad.jsonl"))
    assert "bad.bvh" in errors
    assert "Traceback" not in errors
    assert errors.count("\n") == 1, errors
    assert same(folder, "two.mocps")
    (row,) = map(json.loads, (folder / "bad.jsonl").read_text().splitlines())
    assert row["input"].endswith("in/bad.bvh")


def test_killed_workers_cost_nothing_but_time(folder, cluster):
    process = start(folder, cluster, "workers.mocps")
    killed = 0
    for count in (3, 8, 13):
        wait_for_parts(folder, "workers.mocps", count, process)
        for node in cluster.nodes:
            for pid in workers(node)[:1]:
                os.kill(pid, signal.SIGKILL)
                killed += 1
    finish(process)
    assert killed
    assert same(folder, "workers.mocps")


def test_a_killed_node_costs_nothing_but_time(folder, cluster):
    process = start(folder, cluster, "node.mocps")
    wait_for_parts(folder, "node.mocps", 5, process)
    cluster.remove_node(cluster.nodes.pop(), allow_graceful=False)
    finish(process)
    assert same(folder, "node.mocps")
    cluster.nodes.append(cluster.add_node(num_cpus=1))
    cluster.wait_for_nodes()


def test_a_killed_command_goes_on_when_it_is_started_again(folder, cluster):
    for count in (4, 10):
        process = start(folder, cluster, "driver.mocps")
        wait_for_parts(folder, "driver.mocps", count, process)
        process.kill()
        process.wait()
        process.stderr.close()
    finish(start(folder, cluster, "driver.mocps"))
    assert same(folder, "driver.mocps")
    assert not (folder / "driver.mocps.parts").exists()


def test_a_file_that_kills_three_workers_is_a_row_of_the_report(folder, cluster):
    (folder / "some").mkdir()
    for name in ("take00", "take01", "poison"):
        (folder / f"some/{name}.bvh").write_bytes((folder / "in/take00.bvh").read_bytes())
    made = subprocess.run(
        words(cluster, "some.mocps", "--report", "deadly.jsonl", inputs="some"),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert made.returncode == 2, made.stderr
    (row,) = map(json.loads, (folder / "deadly.jsonl").read_text().splitlines())
    assert row["input"] == str(folder / "some/poison.bvh")
    assert row["error"].endswith("3 times")
    assert "\n" not in row["error"]
    assert (folder / "some/poison.bvh.deaths").read_text() == "xxx"
    with mocpack.open_corpus(folder / "some.mocps") as corpus:
        assert corpus.names == ("take00", "take01")


def test_a_task_uses_the_one_core_that_it_has(cluster):
    ray = pytest.importorskip("ray")
    try:
        engine = ray_engine(cluster.address)
        assert list(engine(core_count, [()], lambda place, share: None)) == [(0, 1)]
    finally:
        ray.shutdown()


def test_a_missing_cluster_is_a_clear_error(folder):
    how = ["corpus", "pack", "in", "-o", "x.mocps", "--engine", "ray", "--address", "127.0.0.1:1"]
    made = subprocess.run(
        [sys.executable, "-m", "mocpack", *how],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert made.returncode == 2
    assert "127.0.0.1:1" in made.stderr
    assert "Traceback" not in made.stderr
