"""``mocpack corpus extract``: extract clips of an archive to .mocp files."""

from __future__ import annotations

from typing import Annotated

import typer

from mocpack.arguments import check_local_path
from mocpack.cli import files, options
from mocpack.cli.terminal import print_json
from mocpack.corpora.exporting import safe_path
from mocpack.corpora.reading import open_corpus
from mocpack.texts import count_of
from mocpack.units import format_size


def run(
    archive: options.ArchiveSource,
    clips: Annotated[list[str] | None, typer.Argument(help="Names of clips; default: all.")] = None,
    output: Annotated[str, typer.Option("--output", "-o", help="Write to this folder.")] = ".",
    clip: Annotated[
        list[str] | None, typer.Option("--clip", help="Same as the argument; repeatable.")
    ] = None,
    where: options.Where = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> int:
    """Extract clips of an archive to .mocp files."""
    check_local_path("output", output)
    rows = []
    with open_corpus(archive) as found:
        indices = found.select(where)
        if clips or clip:
            named = {found.clip_index(name) for name in [*(clips or []), *(clip or [])]}
            indices = [index for index in indices if index in named]
        outputs = {index: safe_path(output, found.names[index], ".mocp") for index in indices}
        for path in outputs.values():
            files.check_output(str(path), force=force, in_new_folder=True)
        for index, path in outputs.items():
            data = found.read(index)
            path.parent.mkdir(parents=True, exist_ok=True)
            files.write_output(data, str(path), force=force)
            rows.append({"clip": found.names[index], "output": str(path), "bytes": len(data)})
    if as_json:
        print_json(rows)
    else:
        total = format_size(sum(int(str(row["bytes"])) for row in rows))
        files.stdout().print(f"wrote {count_of(len(rows), 'clip')}, {total}, to {output}")
    return 0
