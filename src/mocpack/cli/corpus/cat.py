"""``mocpack corpus cat``: one clip of an archive, as its .mocp file, to standard output."""

from __future__ import annotations

from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.corpora.reading import open_corpus


def run(
    archive: options.ArchiveSource,
    clip: Annotated[str, typer.Argument(help="The clip's name.")],
) -> int:
    """Write a clip of an archive to standard output, the very bytes of its .mocp file."""
    with open_corpus(archive) as found:
        data = found.read(clip)
    files.write_output(data, files.PIPE, force=False)
    return 0
