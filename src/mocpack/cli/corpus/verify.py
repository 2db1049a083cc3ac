"""``mocpack corpus verify``: every byte of an archive held against its checksums."""

from __future__ import annotations

from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.cli.progress import counted
from mocpack.cli.terminal import complain, print_json
from mocpack.corpora.reading import open_corpus
from mocpack.corpora.verifying import verify


def run(
    archive: options.ArchiveSource,
    decode: Annotated[bool, typer.Option("--decode", help="Decode every clip, too.")] = False,
    as_json: options.Json = False,
) -> int:
    """Check every clip of an archive, and what its trailer says of them."""
    rows = []
    with open_corpus(archive) as found, counted() as bar:
        task = bar.add_task("verifying", total=len(found))
        for name, fault in verify(found, decode=decode):
            bar.advance(task)
            sentence = None if fault is None else f"{archive}: clip {name!r}: {fault}"
            rows.append({"ok": fault is None, "error": sentence, "clip": name})
    wrong = [str(row["error"]) for row in rows if not row["ok"]]
    for sentence in wrong:
        complain(sentence)
    if as_json:
        print_json(rows)
    elif not wrong:
        files.stdout().print(f"{archive}: {len(rows)} clips, all whole")
    return 2 if wrong else 0
