"""Every example runs."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_the_example_runs_and_says_something(path):
    found = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    assert found.stdout.strip()
