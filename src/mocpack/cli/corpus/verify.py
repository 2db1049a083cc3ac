"""``mocpack corpus verify``: verify the checksums of an archive."""

from __future__ import annotations

from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.cli.progress import make_progress_bar
from mocpack.cli.terminal import print_error, print_json
from mocpack.common.texts import count_of
from mocpack.corpora.reading import open_corpus
from mocpack.corpora.verifying import verify


def run(
    archive: options.ArchiveSource,
    decode: Annotated[bool, typer.Option("--decode", help="Also decode every clip.")] = False,
    as_json: options.Json = False,
) -> int:
    """Verify the checksums of every clip of an archive; exits with 2 if one fails."""
    rows = []
    with open_corpus(archive) as corpus, make_progress_bar() as bar:
        task = bar.add_task("verifying", total=len(corpus))
        for name, fault in verify(corpus, decode=decode):
            bar.advance(task)
            message = None if fault is None else f"{archive}: clip {name!r}: {fault}"
            rows.append({"ok": fault is None, "error": message, "clip": name})
    errors = [str(row["error"]) for row in rows if not row["ok"]]
    for message in errors:
        print_error(message)
    if as_json:
        print_json(rows)
    elif not errors:
        files.stdout().print(f"{archive}: intact, {count_of(len(rows), 'clip')}")
    return 2 if errors else 0
