"""The package as it would be published: exports, types and dependencies."""

import json
import shutil
import subprocess

import pytest


@pytest.fixture
def tools(package):
    if shutil.which("npm") is None or not (package / "node_modules/publint").is_dir():
        pytest.skip("npm, or the tools that `make js` installs, are not here")
    return package


def test_publint_and_attw_find_no_fault(tools):
    found = subprocess.run(
        ["npm", "run", "--silent", "check-package"],
        cwd=tools,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.returncode == 0, found.stdout[-4000:] + found.stderr[-2000:]


def test_packed_package_has_its_license_and_no_other(tools):
    found = subprocess.run(
        ["npm", "pack", "--dry-run", "--json"],
        cwd=tools,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    # npm 10 prints a list of packages, later ones a table by name
    packed = json.loads(found.stdout)
    (package,) = packed.values() if isinstance(packed, dict) else packed
    names = {file["path"] for file in package["files"]}
    assert {name for name in names if name.startswith("LICENSE")} == {"LICENSE"}


def test_three_is_an_optional_peer_dependency(package):
    described = json.loads((package / "package.json").read_text())
    assert described["peerDependenciesMeta"]["three"]["optional"] is True
    assert "three" not in described.get("dependencies", {})
    imports = [
        path.relative_to(package / "dist")
        for path in (package / "dist").rglob("*.js")
        if 'from "three"' in path.read_text()
    ]
    assert imports
    assert {path.parts[0] for path in imports} == {"three"}


def test_the_published_package_says_where_it_comes_from(package):
    described = json.loads((package / "package.json").read_text())
    assert described["repository"]["directory"] == "js"
    assert described["publishConfig"]["provenance"] is True
    for field in ("homepage", "bugs", "keywords", "license", "types", "exports"):
        assert described[field], field
