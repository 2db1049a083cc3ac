"""The Makefile stays short, and has every target that texts name."""

import re
import runpy
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
MAX_LINES = 200
MAX_COLUMNS = 140
TARGET = re.compile(r"^([a-z][a-z0-9 -]*):(?!=)", re.MULTILINE)
# in backquotes, as a step of a workflow, on a line of its own, or after `python3 …`
CALLED = re.compile(r"(?:`+|run: |^)make (?:-s )?([a-z][a-z0-9-]*[a-z0-9])(?![\w-])", re.MULTILINE)
FOLDERS = ("docs", "src", "tests", "tools", "benchmarks", "examples", "js/src", ".github", ".ci")
SUFFIXES = (".md", ".py", ".yml", ".toml", ".txt", "")


def targets():
    return {name for names in TARGET.findall(MAKEFILE) for name in names.split()}


def called():
    """Yield each file that names a command of make, and the target."""
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*"))]
    for path in [*ROOT.glob("*.md"), ROOT / "pyproject.toml", *files]:
        if path.is_file() and path.suffix in SUFFIXES and "golden" not in path.parts:
            text = path.read_text(encoding="utf-8", errors="replace")
            for name in CALLED.findall(text):
                yield path.relative_to(ROOT).as_posix(), name


def test_the_makefile_stays_short():
    lines = MAKEFILE.splitlines()
    assert len(lines) <= MAX_LINES
    assert [line for line in lines if len(line.expandtabs(1)) > MAX_COLUMNS] == []


def test_every_target_that_a_text_names_exists():
    found = list(called())
    assert {"test", "check", "js-tools", "test-s3"} <= {name for _, name in found}
    assert [(path, name) for path, name in found if name not in targets()] == []


def test_every_extra_suite_of_the_tool_has_a_target():
    tool = runpy.run_path(str(ROOT / "tools/suites.py"))
    removed = removed_by_clean()
    suites = [name for name, suite in tool["SUITES"].items() if suite.tests] + ["blender"]
    for name in [*suites, *tool["RESOLUTIONS"]]:
        assert f"test-{name}" in targets()
        assert f".venv-{name}" in removed


def removed_by_clean():
    try:
        done = subprocess.run(
            ["make", "-n", "clean"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    except FileNotFoundError:
        pytest.skip("make is not installed")
    return done.stdout.split()
