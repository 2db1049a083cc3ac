"""``mocpack corpus merge``: several archives into one, nothing coded anew."""

from __future__ import annotations

from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.corpora.merging import merge
from mocpack.corpora.reading import open_corpus
from mocpack.units import format_size


def run(
    archives: Annotated[list[str], typer.Argument(help="The archives, in their order.")],
    output: Annotated[str, typer.Option("--output", "-o", help="The archive to write, .mocps.")],
    prefix: Annotated[
        bool, typer.Option("--prefix", help="Begin clips' names with that of their archive.")
    ] = False,
    shard_size: Annotated[
        str | None, typer.Option(help="Size from which the next file is begun, like 256MB.")
    ] = None,
    force: options.Force = False,
) -> int:
    """Make one archive of several; clips are copied as they are."""
    files.check_free(output, force=force, sources=archives)
    merge(archives, output, prefix=prefix, shard_size=shard_size)
    with open_corpus(output) as made:
        files.stdout().print(f"{output}: {len(made)} clips, {format_size(made.file_size)}")
    return 0
