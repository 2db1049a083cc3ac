"""Errors for missing packages name the extra that installs them."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

import mocpack
from mocpack.common.optional_packages import require
from mocpack.errors import MissingExtraError, MocpackError
from mocpack.io import fbx, usd
from naming import names

SOURCE = Path(mocpack.__file__).parent
PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"
DISTRIBUTIONS = {
    "pxr": "usd-core",
    "zmq": "pyzmq",
    "pythonosc": "python-osc",
}  # where it is not the name of the package


def test_a_missing_package_is_a_clear_error_that_names_its_extra():
    with pytest.raises(MissingExtraError) as caught:
        require("no_such_package.part", extra="plot", purpose="a picture")
    assert names(str(caught.value), "picture no_such_package pip install 'mocpack[plot]'")
    assert isinstance(caught.value, MocpackError)
    assert isinstance(caught.value, ImportError)


def test_packages_of_the_plain_install_are_required_without_an_extra():
    with pytest.raises(MissingExtraError, match=r"pip install mocpack$"):
        require("no_such_package", extra="", purpose="the command line")


def test_a_broken_package_is_not_reported_as_missing(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency") as caught:
        require("broken_package", extra="plot", purpose="a picture")
    assert not isinstance(caught.value, MissingExtraError)


def sources_with(words):
    """Yield the path and text of each module that has one of the words: parsing all is slow."""
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if any(word in text for word in words):
            yield path, text


def calls_of_require():
    """Every (file, module, extra) that the sources ask for by literal words."""
    for path, text in sources_with(["require("]):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "require":
                words = {k.arg: getattr(k.value, "value", None) for k in node.keywords}
                yield path.name, getattr(node.args[0], "value", None), words["extra"]


def test_every_extra_that_a_sentence_names_is_defined_and_has_the_package():
    extras = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]
    named = {(module, extra) for _, module, extra in calls_of_require() if module and extra}
    named |= {(reader.package, reader.extra) for reader in (fbx.UFBX, usd.USD)}
    assert named
    for module, extra in named:
        package = module.partition(".")[0]
        distributions = {re.split(r"[><=\[]", line)[0] for line in extras[extra]}
        assert DISTRIBUTIONS.get(package, package) in distributions, (module, extra)


def test_no_module_imports_an_extra_package_when_it_is_itself_imported():
    optional = {"scipy", "matplotlib", "cma", "zstandard", "zfpy", "pysz"}
    for path, text in sources_with(optional):
        for node in ast.parse(text).body:  # not within functions
            names = (
                [a.name for a in getattr(node, "names", [])]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            for name in names:
                assert name.partition(".")[0] not in optional, path


def test_the_extra_of_all_holds_every_other():
    extras = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]
    (line,) = extras["all"]
    held = set(re.fullmatch(r"mocpack\[(.+)\]", line).group(1).split(","))
    assert held == extras.keys() - {"all"}


def test_every_extra_is_explained_on_the_page_of_installing():
    extras = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]
    page = (PYPROJECT.parent / "docs/install.md").read_text(encoding="utf-8")
    for extra in extras:
        assert f"`mocpack[{extra}]`" in page, extra
