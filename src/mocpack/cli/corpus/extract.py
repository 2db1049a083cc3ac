"""``mocpack corpus extract``: clips of an archive as .mocp files, the bytes that were packed."""

from __future__ import annotations

from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.cli.terminal import print_json
from mocpack.corpora.exporting import safe_path
from mocpack.corpora.reading import open_corpus
from mocpack.units import format_size


def run(
    archive: options.ArchiveSource,
    clips: Annotated[
        list[str] | None, typer.Argument(help="Names of clips; all where none is given.")
    ] = None,
    output: Annotated[str, typer.Option("--output", "-o", help="The folder to write to.")] = ".",
    where: options.Where = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> int:
    """Take clips out of an archive, each the very .mocp file that was packed."""
    rows = []
    with open_corpus(archive) as found:
        indices = found.select(where)
        if clips:
            wanted = {found.clip_index(name) for name in clips}
            indices = [index for index in indices if index in wanted]
        goals = {index: safe_path(output, found.names[index], ".mocp") for index in indices}
        for goal in goals.values():
            files.check_free(str(goal), force=force, in_new_folder=True)
        for index, goal in goals.items():
            data = found.read(index)
            goal.parent.mkdir(parents=True, exist_ok=True)
            files.write_output(data, str(goal), force=force)
            rows.append({"clip": found.names[index], "output": str(goal), "bytes": len(data)})
    if as_json:
        print_json(rows)
    else:
        total = format_size(sum(int(str(row["bytes"])) for row in rows))
        files.stdout().print(f"{len(rows)} clips, {total}, in {output}")
    return 0
