"""``mocpack corpus repair``: recover the intact clips of a damaged archive."""

from __future__ import annotations

from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.cli.archive import print_archive_size
from mocpack.cli.pack_parts import check_output
from mocpack.cli.terminal import print_error
from mocpack.corpora.merging import repair
from mocpack.corpora.sole_writer import sole_writer


def run(
    archive: Annotated[str, typer.Argument(help="Damaged archive, or one shard of it.")],
    output: options.Archive,
    force: options.Force = False,
) -> int:
    """Save the intact clips of a damaged archive; exits with 2 if any may be lost."""
    files.check_not_input(output, [archive])
    with sole_writer(output):
        check_output(output, force=force)
        lost = repair(archive, output)
    for one in lost:
        print_error(f"{archive}: {one.reason}")
    unseen = sum(one.path == archive for one in lost)  # the archive itself, if its end is lost
    print_archive_size(output, lost=len(lost) - unseen, at_least=bool(unseen))
    return 2 if lost else 0
