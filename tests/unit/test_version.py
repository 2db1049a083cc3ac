"""One version number and one project address in all files that state them."""

import json
import re
import tomllib
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


def test_the_header_of_libmocpack_has_the_version_of_the_source():
    """CMake takes its version from there; it has no development versions."""
    header = (ROOT / "core/include/mocpack/mocpack.h").read_text(encoding="utf-8")
    parts = re.findall(r"#define MOCPACK_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header)
    assert ".".join(parts) == re.match(r"\d+\.\d+\.\d+", mocpack.__version__).group()


def test_the_viewer_has_the_version_of_the_header():
    """It is never published by itself."""
    package = json.loads((ROOT / "viewer/package.json").read_text(encoding="utf-8"))
    assert package["version"] == re.match(r"\d+\.\d+\.\d+", mocpack.__version__).group()


def test_the_citation_has_the_version_of_the_source():
    text = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.+)$", text, re.MULTILINE).group(1) == mocpack.__version__


def project_address():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project["urls"]["Source"]


def test_every_address_in_pyproject_is_under_that_of_the_source():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert all(url.startswith(project_address()) for url in project["urls"].values())


def test_the_npm_package_the_citation_and_the_site_have_the_address_of_the_project():
    address = project_address()
    package = json.loads((ROOT / "js/package.json").read_text(encoding="utf-8"))
    assert package["homepage"] == address
    assert package["repository"]["url"] == f"git+{address}.git"
    assert package["bugs"] == f"{address}/issues"
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f'repository-code: "{address}"' in citation
    assert f"repo_url: {address}\n" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert f"]({address})" in (ROOT / "README.md").read_text(encoding="utf-8")
