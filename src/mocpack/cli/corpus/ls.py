"""``mocpack corpus ls``: list the clips of an archive."""

from __future__ import annotations

from typing import Annotated

import typer

from mocpack.cli import options
from mocpack.cli.tables import format_columns
from mocpack.cli.terminal import print_json, print_text
from mocpack.corpora import catalog
from mocpack.corpora.reading import open_corpus
from mocpack.errors import UsageError

DEFAULT_COLUMNS = ("clip", "frames", "fps", "seconds", "joints", "codec", "bytes", "max_error_mm")


def run(
    archive: options.ArchiveSource,
    where: options.Where = None,
    columns: Annotated[
        str | None,
        typer.Option(help="Show these columns, separated by commas; all shows every column."),
    ] = None,
    as_json: options.Json = False,
) -> int:
    """List the clips of an archive, or those that match a condition."""
    with open_corpus(archive) as corpus:
        table = catalog.filter_rows(corpus.table, where)
    rows = catalog.to_rows(table)
    if as_json:
        print_json(rows)
        return 0
    shown = _choose_columns(table.column_names, columns)
    text = [n for n in shown if not any(isinstance(row[n], int | float) for row in rows)]
    columns_shown = {name: [_format_value(row[name]) for row in rows] for name in shown}
    print_text(format_columns(columns_shown, left=text))
    return 0


def _choose_columns(available: list[str], requested: str | None) -> list[str]:
    if requested is None:
        users = [
            name for name in available if name not in (*catalog.COLUMN_TYPES, *catalog.NOTE_COLUMNS)
        ]
        return [name for name in DEFAULT_COLUMNS if name in available] + users
    if requested == "all":
        return available
    names = [name.strip() for name in requested.split(",")]
    for name in names:
        if name not in available:
            raise UsageError(f"--columns must be some of {', '.join(available)}, got {name!r}")
    return names


def _format_value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "-" if value is None else str(value)
