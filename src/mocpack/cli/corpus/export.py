"""``mocpack corpus export``: export the clips of an archive for other programs."""

from __future__ import annotations

from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.common.texts import count_of
from mocpack.corpora.exporting import STORES, export
from mocpack.corpora.reading import open_corpus


def run(
    archive: options.ArchiveSource,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Write to this new folder or file.")
    ],
    store: Annotated[
        str, typer.Option("--as", help=f"Choose {', '.join([*STORES][:-1])} or {[*STORES][-1]}.")
    ],
    format: Annotated[
        str | None, typer.Option("--format", help="Set the file format of --as folder, like .bvh.")
    ] = None,
    fps: Annotated[float | None, typer.Option(help="Resample to this frame rate.")] = None,
    where: options.Where = None,
) -> int:
    """Export the clips of an archive to files, Parquet, Lance or LeRobot."""
    with open_corpus(archive) as found:
        chosen = None if where is None else found.select(where)
        with files.print_warnings(archive):
            count = export(found, output, store, clips=chosen, suffix=format, fps=fps)
    files.stdout().print(f"wrote {count_of(count, 'clip')} as {store} to {output}")
    return 0
