"""Says how the house is laid out: for each folder its files, its lines, and which families use it.

python tools/layout.py            # rewrites the table in ARCHITECTURE.md
python tools/layout.py --check    # fails where the table is out of date
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
SOURCE = REPO / "src" / "mocpack"
PAGE = REPO / "ARCHITECTURE.md"
BEGIN, END = "<!-- layout: begin -->", "<!-- layout: end -->"


def modules() -> dict[str, Path]:
    """Return every module of the package by its dotted name."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


def users() -> dict[str, set[str]]:
    """Return for each module the modules that import it."""
    known, found = modules(), defaultdict(set)
    for name, path in known.items():
        for imported in _imports(path, known):
            found[imported].add(name)
    return found


def families_of(names: set[str]) -> set[str]:
    """Return the families of codecs, or other rooms, that these modules belong to."""
    return {room_of(name) for name in names}


def room_of(name: str) -> str:
    """Return the room of a module: a codec's family, else the folder or file at the top.

    The reference decoder of a family counts as the family: it is the same method, to be read.

    >>> room_of("mocpack.codecs.keysine.codec"), room_of("mocpack.testing.reference.keysine_grid")
    ('keysine', 'keysine')
    >>> room_of("mocpack.io.bvh"), room_of("mocpack.rate")
    ('io', 'rate')
    """
    parts = name.split(".")
    if parts[1:3] == ["testing", "reference"] and len(parts) > 3:
        return parts[3].split("_")[0]
    return (
        parts[2] if parts[1:2] == ["codecs"] and len(parts) > 2 else parts[min(1, len(parts) - 1)]
    )


def families() -> set[str]:
    """Return the names of all families of codecs."""
    return {room_of(name) for name in modules() if name.startswith("mocpack.codecs.")}


def outsiders(family: str) -> set[str]:
    """Return the modules of other rooms that import something of a family."""
    inside = {name for name in modules() if room_of(name) == family}
    uses = users()
    return set().union(*(uses[name] for name in inside)) - inside


def _imports(path: Path, known: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mocpack"):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in known else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name in known)


def table() -> str:
    """Return the table of the page, in Markdown."""
    rows = ["| folder | files | lines | used by |", "|---|--:|--:|---|"]
    uses, known = users(), modules()
    for folder in _folders():
        inside = {n for n, p in known.items() if p.is_relative_to(folder)}
        outside = set().union(*(uses[n] for n in inside)) - inside
        rows.append(_row(folder, ", ".join(sorted(families_of(outside)))))
    rows += [_row(folder, "") for folder in sorted((REPO / "core" / "src").iterdir())]
    lengths = sorted(function_lengths())
    ninth = lengths[len(lengths) * 9 // 10]
    rows += [
        "",
        "Modules outside its family that name a codec's modules, beside the registry's line: "
        + ", ".join(f"{family} {len(outsiders(family))}" for family in sorted(families()))
        + " (papers, and public names such as `mocpack.live`).",
        "",
        f"Functions of the package: {len(lengths)}, {statistics.median(lengths):.0f} lines in the "
        f"median, {ninth} at the 90th percentile, {lengths[-1]} the longest.",
    ]
    return "\n".join(rows)


def _folders() -> list[Path]:
    found = []
    for folder in sorted(p for p in SOURCE.iterdir() if p.is_dir()):
        if any(folder.rglob("*.py")):
            inner = sorted(p for p in folder.iterdir() if p.is_dir() and any(p.glob("*.py")))
            found += inner if folder.name in ("codecs", "bench") else [folder]
    return found


def _row(folder: Path, used_by: str) -> str:
    files = [p for p in folder.rglob("*") if p.suffix in (".py", ".cpp", ".h")]
    lines = sum(len(p.read_text(encoding="utf-8").splitlines()) for p in files)
    return f"| `{folder.relative_to(REPO)}` | {len(files)} | {lines:,} | {used_by} |"


def function_lengths() -> Iterator[int]:
    """Yield the lines of every function of the package."""
    for path in modules().values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                yield (node.end_lineno or node.lineno) - node.lineno + 1


def main() -> int:
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
