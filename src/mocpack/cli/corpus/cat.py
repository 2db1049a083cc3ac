"""``mocpack corpus cat``: write one clip of an archive to standard output."""

from __future__ import annotations

from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.common.choice import find_index
from mocpack.corpora.reading import open_corpus
from mocpack.errors import UsageError, name_errors


def run(
    archive: options.ArchiveSource,
    name: Annotated[str | None, typer.Argument(help="Name of the clip.")] = None,
    clip: options.ClipName = None,
) -> int:
    """Write one clip of an archive to standard output as a .mocp file."""
    if name is not None and clip is not None:
        raise UsageError(f"name one clip, got {name} and --clip {clip}")
    with open_corpus(archive) as corpus, name_errors(archive):
        data = corpus.read(find_index(corpus.names, name or clip, required=True))
    files.write_output(data, files.PIPE, force=False)
    return 0
