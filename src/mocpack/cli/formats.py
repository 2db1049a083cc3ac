"""``mocpack formats``: list the motion formats that mocpack reads and writes."""

from __future__ import annotations

from typing import Any

from mocpack.cli import files, options
from mocpack.cli.tables import make_table
from mocpack.cli.terminal import print_json
from mocpack.io.table import FORMATS, Format


def run(as_json: options.Json = False) -> int:
    """List the motion formats that mocpack reads and writes."""
    rows: list[dict[str, Any]] = [
        {
            "format": "mocpack",
            "extensions": [".mocp"],
            "read": True,
            "write": True,
            "several": True,
            "dialects": [],
            "needs": "",
        }
    ]
    rows += [_describe(chosen) for chosen in FORMATS]
    if as_json:
        print_json(rows)
        return 0
    columns = ("format", "files", "read", "write", "several motions", "requires")
    table = make_table(*columns, left=columns)
    for row in rows:
        read, write, several = ("yes" if row[key] else "" for key in ("read", "write", "several"))
        write = ", ".join([write] * bool(write) + [f"--as {name}" for name in row["dialects"]])
        files_of = " ".join(row["extensions"]) or "by content"
        table.add_row(row["format"], files_of, read, write, several, row["needs"])
    files.stdout().print(table)
    return 0


def _describe(chosen: Format) -> dict[str, Any]:
    return {
        "format": chosen.name,
        "extensions": list(chosen.extensions),
        "read": chosen.read is not None,
        "write": chosen.write is not None,
        "several": chosen.list_clips is not None,
        "dialects": list(chosen.dialects),
        "needs": chosen.needs,
    }
