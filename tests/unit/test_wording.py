"""Tests check fields, values and files in messages, not their wording."""

import ast
import re
from pathlib import Path

import pytest

from naming import names, naming

REPO = Path(__file__).parents[2]
QUOTED_WORDS = 4  # in a row, that a test and a message of the product have in common
MATCHED_WORDS = 4  # of a pattern given to `match=`
NATIVE = ("core/src", "core/include", "bindings", "js/src", "viewer/src")
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|' r"'(?:[^'\\\n]|\\.)*'|`[^`]*`")
PATTERN = re.compile(r"(?<=[(, ])/(?:[^/\\\n*]|\\.)+/")  # of JavaScript
PLAIN = re.compile(r"[A-Za-z][a-z]*[,.:;]?")
ALLOWED = {
    "joints with fewer axes": "name of a clip in mocpack.testing",
    "one joint one frame": "name of a clip in mocpack.testing",
    "far from the origin": "name of a clip in mocpack.testing",
    "an array of objects": "name of a case",
    "that is not there": "name of a case",
    "that is no utf-": "name of a case",
}
"""Words in a row that are not wording, and what they are."""


def runs(text):
    """Yield the words of a text or a pattern, some in a row, that only commas separate."""
    if text.count(" ") < QUOTED_WORDS - 1:
        return
    plain = re.sub(r"\\[a-zA-Z]", "0", text).replace("\\", "")
    for part in re.split(r"[^A-Za-z' ,-]+", plain):
        words = [word.lower() for word in re.split(r"[ ,]+", part) if word]
        for start in range(len(words) - QUOTED_WORDS + 1):
            yield " ".join(words[start : start + QUOTED_WORDS])


def literals(tree):
    """Yield line and text of the strings of a module, without docstrings and reasons to skip."""
    silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):  # breadth first: the call comes before its strings
        if is_reason(node):
            silent |= {id(inner) for inner in ast.walk(node)}
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in silent
        ):
            yield node.lineno, node.value


def is_reason(node):
    called = isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("skip", "skipif")
    return called or (isinstance(node, ast.keyword) and node.arg == "reason")


def help_texts(tree):
    """Yield the texts of a module that `mocpack COMMAND --help` may print."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Module):
            yield (ast.get_docstring(node) or "").replace("\n", " ")


@pytest.fixture(scope="module")
def wording():
    """The words in a row that messages, pages and help texts of the product have."""
    found = set()
    for path in (REPO / "src").rglob("*.py"):
        tree = ast.parse(path.read_text())
        texts = [text for _, text in literals(tree)]
        if "cli" in path.relative_to(REPO).parts:
            texts += help_texts(tree)
        found.update(run for text in texts for run in runs(text))
    for folder in NATIVE:
        for path in (REPO / folder).rglob("*.*"):
            if path.suffix in (".cpp", ".h", ".ts"):
                texts = STRING.findall(path.read_text())
                found.update(run for text in texts for run in runs(text))
    assert len(found) > 1000
    return found - ALLOWED.keys()


@pytest.fixture(scope="module")
def tests():
    """The modules of tests, parsed, by path."""
    paths = [p for p in (REPO / "tests").rglob("test_*.py") if "node_modules" not in p.parts]
    return {path.relative_to(REPO): ast.parse(path.read_text()) for path in paths}


def test_no_test_quotes_a_message(wording, tests):
    found = [
        f"{path}:{line}: {run!r}"
        for path, tree in tests.items()
        for line, text in literals(tree)
        for run in runs(text)
        if run in wording
    ]
    found += [
        f"{path.relative_to(REPO)}: {run!r}"
        for path in (REPO / "js/test").glob("*.mjs")
        for text in PATTERN.findall(path.read_text())
        for run in runs(text)
        if run in wording
    ]
    advice = "name the field, value or file instead (tests/support/naming.py):\n"
    assert not found, advice + "\n".join(found)


def test_no_pattern_is_a_clear_error(tests):
    found = [
        f"{path}:{node.value.lineno}: {node.value.value!r}"
        for path, tree in tests.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "match"
        if isinstance(node.value, ast.Constant)
        if len([w for w in node.value.value.split() if PLAIN.fullmatch(w)]) >= MATCHED_WORDS
    ]
    assert not found, "\n".join(found)


def test_things_are_found_whole_and_in_any_order():
    text = "walk.bvh: ratio 0.5 below 1 (--ratio)"
    assert names(text, "0.5 ratio walk.bvh --ratio 1")
    for missing in ("rat", "0", "5", "bvh:x", "ratio 2"):
        assert not names(text, missing)
    assert names("first line\nsecond line", "second first")
    with pytest.raises(AssertionError):
        naming(" ")
