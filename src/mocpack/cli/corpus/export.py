"""``mocpack corpus export``: export the clips of an archive for other programs."""

from __future__ import annotations

from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.common.texts import count_of
from mocpack.corpora.exporting import STORES, export
from mocpack.corpora.reading import open_corpus

COLLECTIONS = [name for name in STORES if name not in ("npz", "folder")]


def run(
    archive: options.ArchiveSource,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Write to this new folder or file.")
    ],
    to: Annotated[
        str,
        typer.Option(help=f"Write {', '.join(COLLECTIONS)}, or a file per clip: npz, bvh, …"),
    ],
    suffix: Annotated[str | None, typer.Option("--format", hidden=True)] = None,
    fps: Annotated[float | None, typer.Option(help="Resample to this frame rate.")] = None,
    where: options.Where = None,
) -> int:
    """Export the clips of an archive to files, Parquet, Lance or LeRobot."""
    store = to
    if to not in STORES:
        store, suffix = "folder", f".{to.lstrip('.')}"
        files.check_extension(suffix)
    with open_corpus(archive) as corpus:
        chosen = None if where is None else corpus.select(where)
        with files.print_warnings(archive):
            count = export(corpus, output, store, clips=chosen, suffix=suffix, fps=fps)
    files.stdout().print(f"wrote {count_of(count, 'clip')} as {to} to {output}")
    return 0
