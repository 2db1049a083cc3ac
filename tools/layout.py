"""Print files and lines of each folder of the package and the core, and lengths of functions.

    python tools/layout.py

Tests use its table of imports.
"""

from __future__ import annotations

import ast
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
SOURCE = REPO / "src" / "mocpack"
FAMILY_FOLDERS = (["codecs"], ["papers"])
REGISTRY = "mocpack.codecs.registry"  # belongs to no codec
FAMILY_PREFIXES = ("mocpack.codecs.", "mocpack.papers.")


@cache
def modules() -> dict[str, Path]:
    """Return every module of the package by its dotted name."""
    paths = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        paths[".".join(parts).removesuffix(".__init__")] = path
    return paths


@cache
def users(*, at_import: bool = False) -> dict[str, set[str]]:
    """Return for each module the modules that import it; `at_import` leaves out later imports."""
    known, importers = modules(), defaultdict(set)
    for name, path in known.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for imported in _imports(tree.body if at_import else ast.walk(tree), known):
            importers[imported].add(name)
    return importers


def families_of(names: set[str]) -> set[str]:
    """Return the parts of the package that these modules belong to."""
    return {room_of(name) for name in names}


def room_of(name: str) -> str:
    """Return the part of a module: its codec family or paper, else its top folder or file.

    >>> room_of("mocpack.codecs.keysine.codec"), room_of("mocpack.papers.li.codec.bodies")
    ('keysine', 'li')
    >>> room_of("mocpack.io.bvh")
    'io'
    """
    parts = name.split(".")
    if name == REGISTRY:
        return "codecs"
    return parts[2] if parts[1:2] in FAMILY_FOLDERS and len(parts) > 2 else parts[1 % len(parts)]


def families() -> set[str]:
    """Return the names of all families of codecs."""
    return {
        room_of(name) for name in modules() if name.startswith(FAMILY_PREFIXES) and name != REGISTRY
    }


def outsiders(family: str) -> set[str]:
    """Return the modules of other parts that import something of a family."""
    inside = {name for name in modules() if room_of(name) == family}
    uses = users()
    return set().union(*(uses[name] for name in inside)) - inside


def _imports(nodes: Iterable[ast.AST], known: dict[str, Path]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mocpack"):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in known else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name in known)


def sizes() -> str:
    """Return files and lines of each folder of the package and of the core, as text."""
    rows = []
    for folder in [*package_folders(), *sorted((REPO / "core" / "src").iterdir())]:
        files = [p for p in folder.rglob("*") if p.suffix in (".py", ".cpp", ".h")]
        lines = sum(len(p.read_text(encoding="utf-8").splitlines()) for p in files)
        rows.append(f"{folder.relative_to(REPO)!s:40} {len(files):4} files {lines:7,} lines")
    lengths = sorted(function_lengths())
    rows.append(
        f"{len(lengths)} functions: median {statistics.median(lengths):.0f} lines, "
        f"90th percentile {lengths[len(lengths) * 9 // 10]}, longest {lengths[-1]}"
    )
    return "\n".join(rows)


def package_folders() -> list[Path]:
    """Return the folders of the package that the table lists, `codecs` and `papers` by family."""
    folders = []
    for folder in sorted(p for p in SOURCE.iterdir() if any(p.rglob("*.py"))):
        inner = sorted(p for p in folder.iterdir() if any(p.glob("*.py")))
        folders += inner if folder.name in ("codecs", "papers", "bench") else [folder]
    return folders


def function_lengths() -> Iterator[int]:
    """Yield the number of lines of every function of the package."""
    for path in modules().values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                yield (node.end_lineno or node.lineno) - node.lineno + 1


if __name__ == "__main__":
    print(sizes())
