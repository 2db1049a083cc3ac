"""Output: regular files are replaced atomically, pipes and devices are written directly."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from child_processes import start
from mocpack.io import atomic

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes and links")


def drained(pipe):
    """Read a named pipe in a thread; the list holds its bytes after `join`."""
    found = []
    thread = Thread(target=lambda: found.append(pipe.read_bytes()), daemon=True)
    thread.start()
    return thread, found


def test_a_named_pipe_gets_the_data_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    thread, found = drained(pipe)
    atomic.write_atomically(b"motion", pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    thread.join(20)
    assert found == [b"motion"]
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]


def test_a_link_to_a_pipe_is_written_through(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    thread, found = drained(tmp_path / "pipe")
    atomic.write_atomically(b"motion", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    thread.join(20)
    assert found == [b"motion"]


def test_a_device_stays_a_device(tmp_path):
    link = tmp_path / "nothing"
    link.symlink_to(os.devnull)
    atomic.write_atomically(b"motion", link)
    assert link.is_symlink()
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)  # noqa: PTH116 - a device


def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "clip", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to("real/clip")
    atomic.write_atomically(b"new", link)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert [p.name for p in (tmp_path / "real").iterdir()] == ["clip"]


def test_a_link_to_nothing_makes_its_target(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("new")
    assert not atomic.would_overwrite(link)
    atomic.write_atomically(b"new", link)
    assert link.is_symlink()
    assert (tmp_path / "new").read_bytes() == b"new"


def test_links_in_a_circle_are_named(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match=r"symbolic links.*/a'"):
        atomic.write_atomically(b"new", tmp_path / "a")


def test_pipes_and_devices_hold_nothing_to_overwrite_but_files_do(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "link").symlink_to("file")
    assert not atomic.would_overwrite(tmp_path / "pipe")
    assert not atomic.would_overwrite(os.devnull)
    assert not atomic.would_overwrite(tmp_path / "none")
    assert atomic.would_overwrite(tmp_path / "file")
    assert atomic.would_overwrite(tmp_path / "link")


WRITE = "import sys; from mocpack.io.atomic import write_atomically as w; w(b'two', sys.argv[1])"


@pytest.fixture
def own_stdout(tmp_path):
    """A link as /dev/stdout is one; a writer that replaced it would do no harm."""
    if not Path("/dev/fd").is_dir():
        pytest.skip("needs /dev/fd")
    (tmp_path / "stdout").symlink_to("/dev/fd/1")
    return tmp_path / "stdout"


def test_dev_stdout_appends_at_the_position_of_the_shell(tmp_path, own_stdout):
    call = [sys.executable, "-c", WRITE, own_stdout]
    with (tmp_path / "out").open("wb") as out:
        out.write(b"one ")
        out.flush()
        assert subprocess.run(call, stdout=out, timeout=60).returncode == 0
        out.write(b" three")
    assert (tmp_path / "out").read_bytes() == b"one two three"


def test_dev_stdout_of_a_pipe_is_that_pipe(own_stdout):
    call = [sys.executable, "-c", WRITE, own_stdout]
    done = subprocess.run(call, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"two", b"")
    assert own_stdout.is_symlink()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives away")
def test_a_replaced_file_keeps_its_owner_and_mode(tmp_path):
    path = tmp_path / "clip"
    path.write_bytes(b"old")
    os.chown(path, 12345, 23456)
    path.chmod(0o604)
    atomic.write_atomically(b"new", path)
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (12345, 23456, 0o604)
    assert path.read_bytes() == b"new"


ENDED_WHILE_WRITING = """
import signal, sys
from mocpack.io.atomic import atomic_stream
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it
with atomic_stream("first"), atomic_stream("second") as file:
    file.write(b"half")
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_program_that_a_signal_ends_removes_its_unfinished_files(tmp_path, name):
    words = [sys.executable, "-c", ENDED_WHILE_WRITING]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    child = start(words, cwd=tmp_path, text=True, **pipes)
    assert child.stdout.readline() == "ready\n"
    assert len(list(tmp_path.iterdir())) == 2
    child.send_signal(signal.Signals[name])
    assert child.wait(20) == 128 + signal.Signals[name]
    assert list(tmp_path.iterdir()) == []


def test_a_handler_of_the_program_stays(tmp_path):
    own = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with atomic.atomic_stream(tmp_path / "file"):
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, own)
    with atomic.atomic_stream(tmp_path / "file"):
        assert callable(signal.getsignal(signal.SIGTERM))
    assert signal.getsignal(signal.SIGTERM) is own
