"""One version number, in `mocpack/__init__.py`; what else must name it names the same."""

import json
import re
from importlib.metadata import version
from pathlib import Path

import mocpack

ROOT = Path(__file__).parents[2]


def as_npm(python_version):
    """Return a version as npm writes it: 0.1.0.dev0 is 0.1.0-dev.0."""
    return re.sub(r"\.?(dev|a|b|rc)(\d+)$", r"-\1.\2", python_version)


def test_the_installed_package_has_the_version_of_the_source():
    assert version("mocpack") == mocpack.__version__


def test_pyproject_takes_the_version_from_the_source():
    assert not re.search(r'^version = "', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)


def test_the_npm_package_and_its_lock_have_the_version_of_the_source():
    package = json.loads((ROOT / "js/package.json").read_text())
    lock = json.loads((ROOT / "js/package-lock.json").read_text())
    assert package["version"] == as_npm(mocpack.__version__)
    assert lock["version"] == lock["packages"][""]["version"] == package["version"]


def test_the_citation_has_the_version_of_the_source():
    text = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.+)$", text, re.MULTILINE).group(1) == mocpack.__version__
