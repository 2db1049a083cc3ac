"""``mocpack corpus repair``: what is whole of an archive that was cut or damaged."""

from __future__ import annotations

from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.cli.terminal import complain
from mocpack.corpora.merging import repair
from mocpack.corpora.reading import open_corpus
from mocpack.units import format_size


def run(
    archive: Annotated[str, typer.Argument(help="The damaged archive, or shard of one.")],
    output: Annotated[str, typer.Option("--output", "-o", help="The archive to write, .mocps.")],
    force: options.Force = False,
) -> int:
    """Save every whole clip of a cut or damaged archive; exit 2 if one was not whole."""
    files.check_free(output, force=force, sources=[archive])
    lost = repair(archive, output)
    for one in lost:
        complain(f"{archive}: {one.reason}")
    with open_corpus(output) as made:
        files.stdout().print(f"{output}: {len(made)} clips, {format_size(made.file_size)}")
    return 2 if lost else 0
