"""The shape of the package: what may come in through the package's own front door."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mocpack

SOURCE = Path(mocpack.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))


def names_taken_from_the_package(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "mocpack" and node.level == 0:
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_modules_import_modules_and_never_the_front_door(path):
    # the import contract cannot see these, because the front door is above every layer
    for name in names_taken_from_the_package(path):
        module = SOURCE / f"{name}.py"
        assert name == "_core" or module.exists() or module.with_suffix("").is_dir(), name


def test_the_public_names_exist_and_are_sorted():
    assert sorted(mocpack.__all__) == mocpack.__all__
    assert all(hasattr(mocpack, name) for name in mocpack.__all__)


def test_importing_mocpack_brings_no_heavy_package_along():
    heavy = "{'matplotlib', 'scipy', 'typer', 'rich', 'hypothesis', 'pywt', 'cma'}"
    code = f"import mocpack, sys; print(*({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""
