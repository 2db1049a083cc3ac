"""``mocpack corpus export``: an archive's clips in the store of another program."""

from __future__ import annotations

from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.corpora.exporting import STORES, export
from mocpack.corpora.reading import open_corpus


def run(
    archive: options.ArchiveSource,
    output: Annotated[str, typer.Option("--output", "-o", help="Folder or file, a new one.")],
    store: Annotated[str, typer.Option("--as", help=f"{', '.join(STORES)}.")],
    format: Annotated[
        str | None, typer.Option("--format", help="Of the files of a folder, like .bvh.")
    ] = None,
    fps: Annotated[float | None, typer.Option(help="Frames a second to resample to.")] = None,
    where: options.Where = None,
) -> int:
    """Write the clips of an archive for other programs: npz, any format, Parquet, Lance,
    LeRobot.
    """
    with open_corpus(archive) as found:
        chosen = None if where is None else found.select(where)
        count = export(found, output, store, clips=chosen, suffix=format, fps=fps)
    files.stdout().print(f"{count} clips, {store}, in {output}")
    return 0
