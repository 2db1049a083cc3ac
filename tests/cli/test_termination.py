"""A command that SIGTERM ends removes its unfinished files, also those of its workers."""

import os
import signal
import subprocess
import sys

import pytest

import mocpack
from child_processes import start
from mocpack.testing import walk
from naming import names

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")

# every process stops in its first fsync, when its file is complete but unnamed
STOPPED_IN_FSYNC = """
import os, signal

def stop(descriptor):
    open("stopped", "w").close()
    signal.pause()

os.fsync = stop
"""


def started(folder, *words):
    return start(
        [sys.executable, "-m", "mocpack", *map(str, words)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(condition, process):
    while not condition():
        assert process.poll() is None, process.communicate()


def ended_by(number, process):
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    return process.returncode, err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("how", [[], ["-j", "2"], ["--append"]])
def test_pack_leaves_no_file(tmp_path, number, how):
    pytest.importorskip("pyarrow")
    (tmp_path / "in").mkdir()
    if "--append" in how:
        mocpack.write(walk(0.2), tmp_path / "old.bvh")
        mocpack.corpora.pack({"old": tmp_path / "old.bvh"}, tmp_path / "all.mocps")
    os.mkfifo(tmp_path / "in/pipe.bvh")
    before = sorted(path.name for path in tmp_path.iterdir())
    process = started(tmp_path, "corpus", "pack", "in/pipe.bvh", "-o", "all.mocps", *how)
    wait_for(lambda: list(tmp_path.glob(".all.mocps.????????")), process)
    with (tmp_path / "in/pipe.bvh").open("wb"):  # opens when the worker reads it
        code, err = ended_by(number, process)
    assert code == 128 + number
    assert names(err, "mocpack: interrupted")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "words",
    [
        ["compress", "a.bvh", "--codec", "raw", "-o", "out/a.mocp"],
        ["compress", "a.bvh", "b.bvh", "--codec", "raw", "-o", "out/", "-j", "2"],
        ["corpus", "pack", "a.bvh", "b.bvh", "-o", "out/all.mocps", "--resume"],
    ],
)
def test_workers_leave_no_file(tmp_path, words):
    (tmp_path / "out").mkdir()
    for name in "ab":
        mocpack.write(walk(0.2), tmp_path / f"{name}.bvh")
    (tmp_path / "sitecustomize.py").write_text(STOPPED_IN_FSYNC)
    process = started(tmp_path, *words)
    wait_for((tmp_path / "stopped").exists, process)
    assert list((tmp_path / "out").rglob(".*.????????"))
    code, _ = ended_by(signal.SIGTERM, process)
    assert code == 143
    assert not list((tmp_path / "out").rglob(".*.????????"))
