"""A wheel, and empty environments to install it into: no compiler, no node, no network.

`make wheel` and `make test` build the wheel and fetch what it needs before the tests run.
MOCPACK_WHEEL names another wheel to test, MOCPACK_PYTHON the Python to install it into.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build/wheels"
WHEELHOUSE = ROOT / "build/wheelhouse"


@pytest.fixture(scope="session")
def wheel():
    """The wheel to test."""
    named = os.environ.get("MOCPACK_WHEEL")
    found = [Path(named)] if named else sorted(BUILT.glob("*.whl"))
    if not found or not WHEELHOUSE.is_dir():
        pytest.skip("no wheel was built here; `make wheel` and, where npm is, `make test` do it")
    assert len(found) == 1, f"{BUILT} should hold one wheel"
    return found[0].resolve()


class Environment:
    """An environment with only its own programs on the path."""

    def __init__(self, folder):
        python = os.environ.get("MOCPACK_PYTHON", sys.executable)
        subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True, timeout=120)
        self.scripts = folder / ("Scripts" if os.name == "nt" else "bin")
        self.python = self.scripts / "python"
        self.variables = {"PATH": str(self.scripts), "HOME": str(folder), "COLUMNS": "200"}
        for name in ("cc", "c++", "gcc", "g++", "clang", "cl", "cmake", "ninja", "node", "npm"):
            assert shutil.which(name, path=self.variables["PATH"]) is None

    def install(self, *words):
        pip = [sys.executable, "-m", "pip", "--python", self.python, "install", "--quiet"]
        offline = ["--no-index", "--find-links", WHEELHOUSE, "--disable-pip-version-check"]
        offline += ["--no-compile"]  # most modules are never imported here
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "PYTHON"))}
        # a user's own settings may name more places to look in
        clean["PIP_CONFIG_FILE"] = os.devnull
        subprocess.run([*pip, *offline, *words], check=True, env=clean, timeout=300)

    def run(self, line, folder, **options):
        """Run a command line as a user types it."""
        return subprocess.run(
            line, shell=True, cwd=folder, env=self.variables, capture_output=True, text=True,
            encoding="utf-8", timeout=300, **options,
        )  # fmt: skip

    def run_python(self, code, folder):
        return subprocess.run(
            [self.python, "-c", code], cwd=folder, env=self.variables, capture_output=True,
            text=True, encoding="utf-8", timeout=300,
        )  # fmt: skip


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory):
    """The environment of `pip install mocpack`."""
    environment = Environment(tmp_path_factory.mktemp("installed") / "venv")
    environment.install(wheel)
    return environment


@pytest.fixture(scope="session")
def bare(wheel, tmp_path_factory):
    """The wheel with numpy and no other dependency."""
    environment = Environment(tmp_path_factory.mktemp("bare") / "venv")
    environment.install("--no-deps", "numpy", wheel)
    return environment
