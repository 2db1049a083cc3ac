"""``mocpack corpus ls``: the catalogue of an archive, or the clips that a condition selects."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from mocpack.cli import files, options
from mocpack.cli.terminal import print_json
from mocpack.corpora import catalog
from mocpack.corpora.reading import open_corpus
from mocpack.errors import UsageError

SHOWN = ("clip", "frames", "fps", "seconds", "joints", "codec", "bytes", "max_error_mm")


def run(
    archive: options.ArchiveSource,
    where: options.Where = None,
    columns: Annotated[
        str | None, typer.Option(help="Columns to show, with commas between; all for every one.")
    ] = None,
    as_json: options.Json = False,
) -> int:
    """List the clips of an archive, by any condition on its catalogue."""
    with open_corpus(archive) as found:
        table = catalog.filter_rows(found.table, where)
    rows = table.to_pylist()
    if as_json:
        print_json(rows)
        return 0
    shown = _columns(table.column_names, columns)
    out = Table(box=None, pad_edge=False, header_style="bold")
    for name in shown:
        numeric = any(isinstance(row[name], int | float) for row in rows)
        out.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        out.add_row(*(_text(row[name]) for name in shown))
    files.stdout().print(out)
    return 0


def _columns(there: list[str], asked: str | None) -> list[str]:
    if asked is None:
        users = [name for name in there if name not in catalog.COLUMN_TYPES]
        return [name for name in SHOWN if name in there] + users
    if asked == "all":
        return there
    names = [name.strip() for name in asked.split(",")]
    for name in names:
        if name not in there:
            raise UsageError(f"the catalogue has no column {name!r}, it has {', '.join(there)}")
    return names


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "-" if value is None else str(value)
