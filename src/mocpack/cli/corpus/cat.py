"""``mocpack corpus cat``: write one clip of an archive to standard output."""

from __future__ import annotations

from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.corpora.reading import open_corpus


def run(
    archive: options.ArchiveSource,
    clip: Annotated[str, typer.Argument(help="Name of the clip.")],
) -> int:
    """Write one clip of an archive to standard output as a .mocp file."""
    with open_corpus(archive) as found:
        data = found.read(clip)
    files.write_output(data, files.PIPE, force=False)
    return 0
