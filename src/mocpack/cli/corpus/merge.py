"""``mocpack corpus merge``: merge several archives without re-encoding their clips."""

from __future__ import annotations

from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.cli.archive import print_archive_size
from mocpack.cli.pack_parts import check_output
from mocpack.corpora.merging import merge
from mocpack.corpora.sole_writer import sole_writer


def run(
    archives: Annotated[list[str], typer.Argument(help="Archives, in the order of their clips.")],
    output: options.Archive,
    prefix: Annotated[
        bool, typer.Option("--prefix", help="Start each clip name with the name of its archive.")
    ] = False,
    shard_size: options.ShardSize = None,
    force: options.Force = False,
) -> int:
    """Merge several archives into one without re-encoding their clips."""
    files.check_not_input(output, archives)
    with sole_writer(output):
        check_output(output, force=force)
        merge(archives, output, prefix=prefix, shard_size=shard_size)
    print_archive_size(output)
    return 0
