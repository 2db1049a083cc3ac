"""Run `mocpack` commands in tests, each in its own process.

On Linux the processes are forked from one that has imported every command, and exit without
interpreter shutdown, because both take much longer than a short command. Tests of imports, of
Python's environment variables, of signals and of closed streams start a fresh interpreter.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TIMEOUT = 120  # seconds
FORKS = sys.platform == "linux"
COMMON = (
    "mocpack.codecs.keysine.codec",
    "numpy.fft",
    "numpy.ma",
    "typer._adapters",  # where typer has it
    "typer._click.decorators",  # where typer has it
    "typer.rich_utils",
)


def run(*words, folder=None, stdin=None, **variables):
    """Run a command; return its exit code and the bytes that it printed."""
    words = [str(word) for word in words]
    folder = str(folder or Path.cwd())
    environment = {**os.environ, **variables}
    if FORKS:
        return _forked(words, folder, stdin, environment)
    call = [sys.executable, "-m", "mocpack", *words]
    return subprocess.run(
        call, input=stdin, capture_output=True, cwd=folder, env=environment, timeout=TIMEOUT
    )


def run_text(*words, **options):
    """Run a command; return its exit code and the text that it printed."""
    done = run(*words, **options)
    return subprocess.CompletedProcess(
        done.args, done.returncode, _text(done.stdout), _text(done.stderr)
    )


def _text(data):
    return data.decode("utf-8").replace("\r\n", "\n")


def _forked(words, folder, stdin, environment):
    ends = [os.pipe(), os.pipe(), os.pipe()]
    (theirs_in, ours_in), (ours_out, theirs_out), (ours_err, theirs_err) = ends
    theirs = [theirs_in, theirs_out, theirs_err]
    request = json.dumps([words, folder, environment]).encode()
    server = _server()
    socket.send_fds(server, [len(request).to_bytes(4, "little")], theirs)
    server.sendall(request)
    for end in theirs:
        os.close(end)
    with ThreadPoolExecutor(3) as threads:
        threads.submit(_fill, ours_in, stdin or b"")
        out, err = threads.submit(_drain, ours_out), threads.submit(_drain, ours_err)
        pid = int.from_bytes(server.recv(4), "little")
        assert pid, "the process that commands are forked from has ended"
        try:
            code = int.from_bytes(server.recv(4), "little", signed=True)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            server.recv(4)  # or the next command would take this exit code for its own
            raise
    return subprocess.CompletedProcess(words, code, out.result(), err.result())


def _fill(end, data):
    # a command need not read all that it is given
    with contextlib.suppress(BrokenPipeError), os.fdopen(end, "wb") as pipe:
        pipe.write(data)


def _drain(end):
    with os.fdopen(end, "rb") as pipe:
        return pipe.read()


@functools.cache
def _server():
    """Return the connection to the process that commands are forked from."""
    ours, theirs = socket.socketpair()
    # its streams are pipes, because those of the commands will be
    process = subprocess.Popen(
        [sys.executable, __file__, str(theirs.fileno())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=[theirs.fileno()],
    )
    theirs.close()
    ours.settimeout(TIMEOUT)

    def end():
        ours.close()
        process.communicate()

    atexit.register(end)
    return ours


def _serve(connection):
    """Fork a process per request until the connection closes; return the arguments in the child."""
    while True:
        size, streams, _, _ = socket.recv_fds(connection, 4, 3)
        if not size:
            return None
        request = b""
        while len(request) < int.from_bytes(size, "little"):
            request += connection.recv(1 << 16)
        pid = os.fork()
        if not pid:
            return _become(json.loads(request), streams, connection)
        for stream in streams:
            os.close(stream)
        connection.sendall(pid.to_bytes(4, "little"))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        connection.sendall(code.to_bytes(4, "little", signed=True))


def _become(request, streams, connection):
    words, folder, environment = request
    connection.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    return words


def _import_commands():
    import mocpack.cli

    commands = pkgutil.walk_packages(mocpack.cli.__path__, "mocpack.cli.")
    for name in (*COMMON, *(found.name for found in commands)):
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(name)
    # the first one looks for plugins of pydantic in all installed packages
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module("pydantic").TypeAdapter(int)
    gc.freeze()  # a command need not look at all that was imported here


def _run_command(words):
    """Run a command and end this process as the interpreter would, but keep all modules."""
    sys.path.pop(0)  # the folder of this file, which no command has
    sys.argv = ["mocpack", *words]
    try:
        runpy.run_module("mocpack", run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        code = end.code or 0
    threading._shutdown()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        code = 120  # exit code of the interpreter
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _import_commands()
    asked = _serve(socket.socket(fileno=int(sys.argv[1])))
    if asked is not None:
        _run_command(asked)
