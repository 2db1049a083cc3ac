"""What can be said of Windows from here: nothing of POSIX is needed to import or to read text."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mocpack

SOURCE = Path(mocpack.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))

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
found = 0
for module in pkgutil.walk_packages(mocpack.__path__, "mocpack."):
    if module.name not in ("mocpack.__main__", "mocpack._core"):
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


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_text_files_are_utf_8_whatever_the_system_thinks(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in ("read_text", "write_text"):
            assert any(k.arg == "encoding" for k in node.keywords), f"line {node.lineno}"
