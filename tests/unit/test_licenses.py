"""LICENSES/ has the license of everything compiled or bundled into the wheel and npm package."""

import importlib.metadata
import importlib.util
import json
import re
from pathlib import Path

import pytest

from mocpack.viewing import page

ROOT = Path(__file__).parents[2]
LICENSES = ROOT / "LICENSES"
# zig's own runtime and the library that it links into the manylinux wheel; tests/install compares
# their licenses, where zig is installed
ZIG = ("zig", "llvm")


def shipped(name):
    return (LICENSES / f"{name}.txt").read_text(encoding="utf-8")


def folder_of(package):
    found = importlib.util.find_spec(package)
    if found is None:
        pytest.skip(f"{package} is not installed")
    return Path(found.origin).parent


def bundled():
    """Return the names of everything that is compiled or bundled in."""
    viewer = json.loads((ROOT / "viewer/package.json").read_text())
    npm = json.loads((ROOT / "js/package.json").read_text())
    inside = [path.name.replace("_", "-") for path in (folder_of("nanobind") / "ext").iterdir()]
    return {"nanobind", *inside, *viewer["dependencies"], *npm.get("dependencies", {}), *ZIG}


def test_everything_bundled_has_its_license_and_nothing_else_has():
    assert {path.stem for path in LICENSES.glob("*.txt")} == bundled()


def test_table_of_licenses_names_every_file():
    table = (LICENSES / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([\w.-]+)\.txt`", table, re.MULTILINE)) == bundled()


def test_license_of_nanobind_is_that_of_the_installed_package():
    folder_of("nanobind")  # skips if it is not installed
    files = importlib.metadata.files("nanobind")
    license = next(file for file in files if file.name == "LICENSE")
    assert shipped("nanobind") == license.read_text(encoding="utf-8")


def test_license_of_robin_map_is_that_in_its_header():
    header = folder_of("nanobind") / "ext/robin_map/include/tsl/robin_map.h"
    comment = header.read_text(encoding="utf-8").partition("*/")[0]
    assert shipped("robin-map") == re.sub(r"^ ?\*? ?", "", comment[4:], flags=re.MULTILINE)


def test_license_of_three_is_that_of_the_installed_package():
    path = ROOT / "viewer/node_modules/three/LICENSE"
    if not path.is_file():
        pytest.skip("the viewer's packages are not installed (make viewer)")
    assert shipped("three") == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("script", ["page.js", "stage.js"])
def test_scripts_of_the_page_begin_with_the_licenses_of_what_is_in_them(script):
    path = page.FOLDER / "assets" / script
    if not path.is_file():
        pytest.skip("the viewer's page is not built (make viewer; it needs node)")
    start = path.read_text(encoding="utf-8").partition("*/")[0]
    assert start.startswith("/*!\nthree\n")
    assert shipped("three").strip() in start
