"""Import and text files work without POSIX, as on Windows."""

import ast
import subprocess
import sys
from pathlib import Path

import mocpack

SOURCE = Path(mocpack.__file__).parent

IMPORT_ALL = """
import importlib, os, pkgutil, sys
for name in ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"):
    sys.modules[name] = None  # as where it does not exist
import multiprocessing.context, subprocess, signal
for name in ("fork", "forkpty", "geteuid", "getuid", "mkfifo", "posix_spawn", "pread"):
    delattr(os, name)
for name in ("SIGKILL", "SIGXCPU", "pthread_sigmask"):
    delattr(signal, name)
import mocpack
CONNECTIONS = ["mocpack.__main__", "mocpack._core", "mocpack.torch", "mocpack.zarr"]
CONNECTIONS += ["mocpack.trainers." + name for name in ("mjlab", "protomotions", "sonic")]
found = 0
for module in pkgutil.walk_packages(mocpack.__path__, "mocpack."):
    # some modules connect archives to packages, which they import
    if module.name not in CONNECTIONS:
        importlib.import_module(module.name)
        found += 1
print(found)
"""


def test_every_module_is_imported_without_what_only_posix_has():
    result = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) > 150


def text_calls_without_encoding(path):
    text = path.read_text(encoding="utf-8")
    if "read_text" not in text and "write_text" not in text:
        return  # parsing all files takes seconds
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in ("read_text", "write_text") and "encoding" not in {k.arg for k in node.keywords}:
            yield f"{path.relative_to(SOURCE)}, line {node.lineno}"


def test_text_files_are_utf_8_on_every_system():
    offenders = [one for path in SOURCE.rglob("*.py") for one in text_calls_without_encoding(path)]
    assert not offenders, "\n".join(sorted(offenders))
