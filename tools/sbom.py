"""Print the bill of materials of the packages as CycloneDX JSON: python tools/sbom.py

Components are what the packages contain (LICENSES/README.md) and what the wheel requires.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^\| `(\w[\w-]*)\.txt` \| [^|]*\(([^)]*)\)[^|]* \| ([^|]*) \|$", re.MULTILINE)


def bill() -> dict[str, Any]:
    """Return the bill of materials."""
    source = (ROOT / "src/mocpack/__init__.py").read_text(encoding="utf-8")
    version = re.search(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    assert version
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": _component("mocpack", version[1], "Apache-2.0", "application")},
        "components": [*_list_bundled(), *_list_required()],
    }


def _list_bundled() -> list[dict[str, Any]]:
    """Return the code of others in the packages; three.js has a version of its own."""
    page = (ROOT / "LICENSES/README.md").read_text(encoding="utf-8")
    lock = json.loads((ROOT / "viewer/package-lock.json").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    zig = next(r for r in project["dependency-groups"]["wheel"] if r.startswith("ziglang=="))
    three = lock["packages"]["node_modules/three"]["version"]
    versions = {"three": three, "zig": zig.partition("==")[2], "llvm": ""}
    return [
        _component(name, versions.get(name, ""), license, "library")
        | {"description": f"in {where}"}
        for name, license, where in ROW.findall(page)
    ]


def _list_required() -> list[dict[str, Any]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = [re.split(r"[<>=!~ ]", text)[0] for text in project["dependencies"]]
    return [
        {"type": "library", "name": name, "purl": f"pkg:pypi/{name}", "description": text}
        for name, text in zip(names, project["dependencies"], strict=True)
    ]


def _component(name: str, version: str, license: str, kind: str) -> dict[str, Any]:
    component = {"type": kind, "name": name, "licenses": [{"expression": license}]}
    return component | ({"version": version} if version else {})


if __name__ == "__main__":
    print(json.dumps(bill(), indent=1))
