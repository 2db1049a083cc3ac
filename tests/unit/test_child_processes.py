"""The guarantees of `child_processes` for other tests."""

import os
import signal
import subprocess
import sys

import command_line
import pytest

from child_processes import end_children, start

WAIT = [sys.executable, "-c", "input()"]
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
HANDLER = [sys.executable, "-c", "import signal; print(signal.getsignal(signal.SIGINT))"]


@pytest.fixture(params=[signal.SIG_IGN, signal.default_int_handler], ids=["ignored", "handled"])
def suite_handler(request):
    """SIGINT as the process handles it that started the tests."""
    before = signal.signal(signal.SIGINT, request.param)
    yield request.param
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("ignore", [True, False])
def test_children_get_the_handler_that_the_test_asks_for(suite_handler, ignore):
    child = start(HANDLER, ignore_interrupts=ignore, stdout=subprocess.PIPE, text=True)
    shown, _ = child.communicate(timeout=60)
    assert ("default_int_handler" in shown) is not ignore
    assert signal.getsignal(signal.SIGINT) is suite_handler


def fail_with_a_child(children):
    with end_children():
        children.append(start(WAIT, **PIPES))
        raise ZeroDivisionError


def test_children_of_a_failed_test_are_ended():
    children = []
    with pytest.raises(ZeroDivisionError):
        fail_with_a_child(children)
    assert children[0].returncode is not None
    assert children[0].stdin.closed
    assert children[0].stdout.closed


@pytest.fixture(scope="module")
def left_behind():
    """Children that tests have left, which must have ended by the end of this module."""
    children = []
    yield children
    assert children
    assert all(child.returncode is not None for child in children)


def test_every_test_ends_its_children(left_behind):
    left_behind.append(start(WAIT, **PIPES))


@pytest.mark.skipif(not command_line.FORKS, reason="commands are not forked here")
def test_a_command_that_hangs_does_not_disturb_the_next(tmp_path):
    os.mkfifo(tmp_path / "pipe.bvh")  # nobody writes to it
    command_line.run("--version")  # starts the process that commands are forked from
    connection = command_line._server()
    connection.settimeout(1)
    try:
        with pytest.raises(TimeoutError):
            command_line.run("info", "pipe.bvh", folder=tmp_path)
    finally:
        connection.settimeout(command_line.TIMEOUT)
    done = command_line.run_text("--version")
    assert (done.returncode, done.stderr) == (0, "")
