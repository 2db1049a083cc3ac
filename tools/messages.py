"""List every error message and help text of `src/mocpack`, to be read and edited as one text.

    python tools/messages.py [PATH ...]          one line each: file:line, kind, text
    python tools/messages.py --kind help         help texts alone

Kinds: the class of a raised error or warning (`UsageError`), `help` (of options and commands), and
`description`. Fields of f-strings appear in braces.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "mocpack"
HELP_ARGUMENTS = ("help", "description", "epilog", "metavar")


def find_messages(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Yield (line, kind, text) of every message in a module."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = _called_name(node)
        for argument in node.keywords:
            text = _literal_text(argument.value)
            if argument.arg in HELP_ARGUMENTS[:3] and text:
                yield argument.value.lineno, str(argument.arg), text
        if name.endswith(("Error", "Warning")) or name == "warn":
            text = next((found for one in node.args if (found := _literal_text(one))), "")
            if text:
                yield node.lineno, name, text


def _called_name(node: ast.Call) -> str:
    """Return the name of what is called; of `type(error)(…)`, "Error"."""
    if isinstance(node.func, ast.Name):
        return node.func.id
    return node.func.attr if isinstance(node.func, ast.Attribute) else "Error"


def _literal_text(node: ast.expr) -> str:
    """Return the text of a string, an f-string or several of them; "" for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_literal_text, node.values))
    if isinstance(node, ast.FormattedValue):
        return f"{{{ast.unparse(node.value)}}}"
    if isinstance(node, ast.BinOp):
        return _literal_text(node.left) + _literal_text(node.right)
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("paths", nargs="*", type=Path, help="Python files or folders; default: src")
    parser.add_argument("--kind", help="list one kind alone, such as help or UsageError")
    options = parser.parse_args()
    for start in options.paths or [SOURCE]:
        files = sorted(start.rglob("*.py")) if start.is_dir() else [start]
        for path in files:
            shown = path.resolve().relative_to(ROOT)
            found = sorted(find_messages(ast.parse(path.read_text(encoding="utf-8"))))
            for line, kind, text in found:
                if options.kind in (None, kind):
                    print(f"{shown}:{line}\t{kind}\t{' '.join(text.split())}")


if __name__ == "__main__":
    main()
