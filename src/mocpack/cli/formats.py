"""``mocpack formats``: list the motion formats that mocpack reads and writes."""

from __future__ import annotations

from mocpack.cli import files, options
from mocpack.cli.tables import make_table
from mocpack.cli.terminal import print_json
from mocpack.io.table import FORMATS, Format

MOCPACK = {
    "format": "mocpack",
    "extensions": [".mocp"],
    "read": True,
    "write": True,
    "several": True,
    "dialects": [],
    "needs": "",
}


def run(as_json: options.Json = False) -> int:
    """List the motion formats that mocpack reads and writes."""
    if as_json:
        print_json([MOCPACK, *map(_describe, FORMATS)])
        return 0
    columns = ("format", "files", "read", "write", "several motions", "requires")
    table = make_table(*columns, left=columns)
    table.add_row("mocpack", ".mocp", "yes", "yes", "yes", "")
    for one in FORMATS:
        table.add_row(
            one.name,
            " ".join(one.extensions) or "by content",
            "yes" * (one.read is not None),
            ", ".join(
                ["yes"] * (one.write is not None) + [f"--as {name}" for name in one.dialects]
            ),
            "yes" * (one.list_clips is not None),
            one.needs,
        )
    files.stdout().print(table)
    return 0


def _describe(one: Format) -> dict[str, object]:
    return {
        "format": one.name,
        "extensions": list(one.extensions),
        "read": one.read is not None,
        "write": one.write is not None,
        "several": one.list_clips is not None,
        "dialects": list(one.dialects),
        "needs": one.needs,
    }
