"""Fixtures for all tests: readers in other languages, and payloads with new checksums."""

import os

# Before numpy is imported: threads of OpenBLAS wait in a loop, which takes up to ten times the CPU
# time of a small product where other workers use the cores too.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from in_node import find_package

from child_processes import end_children
from mocpack.testing.contract import FIX_CHECKSUMS
from programs import describe_skips
from reference.keysine import fix_checksums

CHECKOUT = Path(__file__).parents[1]
WARNINGS = ["-Wall", "-Wextra", "-Werror"]

# Every worker rewrites the assertions of every test module, and hundreds of child processes import
# the package. Without cached bytecode all of them would compile the same files again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

FIX_CHECKSUMS["keysine"] = fix_checksums


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter):
    """End with one line about all skipped tests."""
    skipped = terminalreporter.stats.get("skipped", ())
    if line := describe_skips(report.longrepr[2] for report in skipped):
        terminalreporter.write_line(line)


@pytest.fixture(autouse=True)
def _children_end():
    with end_children():
        yield


@pytest.fixture(scope="session")
def package():
    return find_package()


class Library:
    """libmocpack as `make library` installs it, and programs that are linked with it."""

    def __init__(self, kind, folder):
        self.prefix = CHECKOUT / "build/library" / kind
        self._folder = folder
        if not self.prefix.exists() or shutil.which("cc") is None or shutil.which("c++") is None:
            pytest.skip("needs a C and a C++ compiler, and libmocpack as `make library` leaves it")

    def program(self, source, *options):
        """Compile a program of one source file with the flags of pkg-config."""
        program = self._folder / Path(source).stem
        if not program.exists():
            compiler = ["cc", "-std=c11"] if source.suffix == ".c" else ["c++", "-std=c++17"]
            flags = [f"-I{self.prefix / 'include'}", f"-L{self.prefix / 'lib'}", "-lmocpack", "-lm"]
            run([*compiler, "-O1", *WARNINGS, *options, source, *flags, "-o", program])
        return program


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    return Library("static", tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="session")
def read_in_c(library):
    """The program that reads files with libmocpack."""
    return library.program(CHECKOUT / "tests/readers/read.c")


def run(call, **options):
    """Run a program that must succeed; return its output."""
    done = subprocess.run(
        list(map(str, call)), capture_output=True, text=True, check=False, timeout=300, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
