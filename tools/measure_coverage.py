"""Measure the line coverage of Python, or of the core by its own tests (gcc with gcov).

    python tools/measure_coverage.py python|core

Python: by the suite without the JavaScript, browser, library and wheel tests.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from build_core import build

FOLDER = Path("build/coverage")
BIN = Path(sys.executable).parent


def measure_python() -> None:
    os.environ["COVERAGE_FILE"] = str(FOLDER / "python.data")
    pytest = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal"]
    ignored = [f"--ignore=tests/{name}" for name in ("js", "viewer", "install", "library")]
    run(*pytest, "--cov", "mocpack", "--cov-report=", "tests", "src/mocpack", *ignored)
    table = FOLDER / "python.txt"
    with table.open("w") as output:
        command = (BIN / "coverage", "report", "--skip-covered", "--sort", "cover")
        subprocess.run(command, stdout=output, check=True)
    report("Python", table)


def measure_core() -> None:
    if shutil.which("gcov") is None:
        sys.exit("make coverage needs gcc and gcov (Debian: apt-get install g++)")
    flags = {"CXX": "g++", "CXXFLAGS": "--coverage -O0", "LDFLAGS": "--coverage"}
    made, log, table = FOLDER / "core", FOLDER / "core.log", FOLDER / "core.txt"
    # mocpack_core's own tests only, not libmocpack
    build(made, "CMAKE_BUILD_TYPE=Debug", "MOCPACK_TESTS=ON", only_tests=True, **flags)
    with log.open("w") as output:
        command = (BIN / "ctest", "--test-dir", made, "-j", "2", "--output-on-failure")
        if subprocess.run(command, stdout=output, check=False).returncode:
            sys.exit(log.read_text())
    options = ["--exclude-throw-branches", "--gcov-ignore-errors=no_working_dir_found"]
    run(BIN / "gcovr", "--root", "core/src", *options, "--txt", table, made)
    report("core", table)


def report(name: str, table: Path) -> None:
    """Print the share of covered lines in a table's row TOTAL."""
    match = re.search(r"^TOTAL .*?(\d+%)", table.read_text(), re.MULTILINE)
    if match is None:
        sys.exit(f"{table}: expected a row TOTAL with a percentage, found none")
    print(f"{name}: {match[1]} of lines ({table})")


def run(*command: str | Path) -> None:
    if code := subprocess.run(command, check=False).returncode:
        sys.exit(code)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    {"python": measure_python, "core": measure_core}[sys.argv[1]]()
