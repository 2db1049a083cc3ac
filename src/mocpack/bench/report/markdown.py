"""Tables in Markdown, for pages and for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(heading: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; a heading that ends with a colon is right-aligned.

    >>> print(markdown_table(["clip", "kB:"], [["walk", 1.5]]))
    | clip | kB |
    |---|--:|
    | walk | 1.5 |
    """
    names = [str(name) for name in heading]
    lines = [_line(name.removesuffix(":") for name in names)]
    lines.append("|" + "".join("--:|" if name.endswith(":") else "---|" for name in names))
    return "\n".join([*lines, *map(_line, rows)])


def _line(cells: Iterable[object]) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"
