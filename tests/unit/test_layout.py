"""The structure of the package: imports, folders and their users."""

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import mocpack

SOURCE = Path(mocpack.__file__).parent
REPO = Path(__file__).parents[2]

SHARED = {
    "fields": {
        "beaudoin",
        "chattopadhyay",
        "container",
        "li",
        "lossless",
        "mukai",
        "raw",
        "vasa",
    },
    "floats": {"chattopadhyay", "raw"},
    "planes": {"chattopadhyay", "li", "lossless", "mukai", "vasa"},
}
"""Which families, and whether the container, use each module of `coding/`."""

LOOKED_UP = re.compile(
    r"mocpack\.(__main__|torch|zarr|robots|trainers\.(protomotions|sonic|mjlab)|cli\.\w+(\.\w+)?|live\.commands\.\w+"
    r"|(bench|viewing)\.command|codecs\.(raw|lossless\.codec)|io\.(\w+|robots\.\w+)"
    r"|papers\.(\w+\.tables\.reproduce|mukai\.editing))"
)
"""Modules that no other imports: entry points, and commands, codecs and formats, found by name."""

FAMILY_IMPORTERS = ("mocpack.live", "mocpack.cli.")


MAX_ROOT_MODULES = 12
MAX_LAYERS = 10
# of the package, where an options mapping, JSON or an optional package has a type of its own
MAX_ANY = 220  # 4 per 1,000 lines
MAX_ANY_SIGNATURES = 100


def load_tool(name):
    spec = importlib.util.spec_from_file_location(name, REPO / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def layout():
    return load_tool("layout")


def names_taken_from_the_package(path):
    text = path.read_text()
    if "from mocpack import" not in text:
        return  # parsing all files takes seconds
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module == "mocpack" and node.level == 0:
            yield from (alias.name for alias in node.names)


def is_init(path):
    return path.name == "__init__.py"


def is_module(name):
    path = SOURCE / name
    return name == "_core" or path.with_suffix(".py").exists() or path.is_dir()


def test_modules_import_modules_and_never_the_front_door():
    # the import contract cannot see these, because the front door is above every layer
    offenders = [
        f"{path.relative_to(SOURCE)} imports {name}"
        for path in SOURCE.rglob("*.py")
        for name in names_taken_from_the_package(path)
        if not is_module(name)
    ]
    assert not offenders, "\n".join(sorted(offenders))


def test_the_root_holds_few_modules():
    assert len(list(SOURCE.glob("*.py"))) <= MAX_ROOT_MODULES


def test_the_import_contract_has_few_layers():
    contracts = tomllib.loads((REPO / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = next(c["layers"] for c in contracts["contracts"] if c["type"] == "layers")
    assert len(layers) <= MAX_LAYERS


def annotations(function):
    a = function.args
    given = [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg]
    return [one for one in (*(g and g.annotation for g in given), function.returns) if one]


def names_any(annotation):
    return any(getattr(node, "id", None) == "Any" for node in ast.walk(annotation))


def test_few_signatures_accept_or_return_anything():
    texts = [text for path in SOURCE.rglob("*.py") if "Any" in (text := path.read_text())]
    words = sum(len(re.findall(r"\bAny\b", text)) for text in texts)
    functions = [
        node
        for text in texts
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    loose = sum(any(map(names_any, annotations(function))) for function in functions)
    assert words <= MAX_ANY
    assert loose <= MAX_ANY_SIGNATURES


def test_modules_do_not_import_each_other_in_circles(layout):
    users = layout.users(at_import=True)
    list(TopologicalSorter({n: users[n] for n in users if n != "mocpack"}).static_order())


def test_the_public_names_exist_and_are_sorted():
    assert sorted(mocpack.__all__) == mocpack.__all__
    assert all(hasattr(mocpack, name) for name in mocpack.__all__)


def test_importing_mocpack_brings_no_heavy_package_along():
    heavy = "{'matplotlib', 'scipy', 'typer', 'rich', 'hypothesis', 'pywt', 'cma'}"
    code = f"import mocpack, sys; print(*({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""


def test_shared_modules_have_at_least_two_users(layout):
    uses = layout.users()
    found = {
        name.rpartition(".")[2]: layout.families_of(uses[name]) & {"container", *layout.families()}
        for name in layout.modules()
        if name.startswith("mocpack.coding.")
    }
    assert found == SHARED
    assert all(len(users) >= 2 for users in found.values())


def test_no_module_is_there_for_scripts_and_tests_alone(layout):
    uses = layout.users()
    alone = [
        name for name, path in layout.modules().items() if not uses[name] and not is_init(path)
    ]
    assert [name for name in alone if not LOOKED_UP.fullmatch(name)] == []


def test_only_commands_and_public_names_import_a_family(layout):
    for family in layout.families():
        for name in layout.outsiders(family):
            assert name.startswith(FAMILY_IMPORTERS), f"{name} imports from {family}"


def test_an_include_that_goes_up_or_sideways_is_found(tmp_path):
    for name, included in (
        ("math/a.h", ""),
        ("entropy/b.h", '#include "math/a.h"'),
        ("math/c.h", '#include "entropy/b.h"'),
        ("papers/li/d.h", '#include "entropy/b.h"'),
        ("papers/vasa/e.h", '#include "papers/li/d.h"'),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(included)
    found = list(load_tool("includes").find_violations(tmp_path))
    assert [line.split()[0] for line in found] == ["math/c.h", "papers/vasa/e.h"]


def test_a_call_of_the_elementary_functions_of_the_platform_is_found(tmp_path):
    for name, code in (
        ("math/a.cpp", "x = math::sin(1) + std::sqrt(2); // not std::sin(1)"),
        ("math/b.cpp", "x = std::log2(y);"),
        ("math/c.cpp", "x = pow(y, 2);"),
        ("papers/li/d.cpp", "x = std::atan2(y, z);"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(code)
    found = list(load_tool("includes").find_violations(tmp_path))
    assert [line.split()[0] for line in found] == ["math/b.cpp", "math/c.cpp"]
