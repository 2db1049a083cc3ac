"""``mocpack corpus extract``: extract clips of an archive to .mocp files."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.cli.terminal import print_error, print_json
from mocpack.common.arguments import check_path
from mocpack.common.texts import count_of
from mocpack.common.units import format_size
from mocpack.corpora.exporting import safe_path
from mocpack.corpora.reading import open_corpus
from mocpack.errors import MocpackError, UsageError


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
    check_path("output", output)
    rows: list[dict[str, object]] = []
    total = 0
    with open_corpus(archive) as corpus:
        indices = corpus.select(where)
        if clips or clip:
            named = {corpus.clip_index(name) for name in [*(clips or []), *(clip or [])]}
            indices = [index for index in indices if index in named]
        _check_outputs([corpus.names[index] for index in indices], output, force)
        written: set[Path] = set()
        for index in indices:
            name = corpus.names[index]
            try:
                path = safe_path(output, name, ".mocp")
                if path in written:
                    raise UsageError(f"clip {name!r}: another clip was written to {path}")
                data = corpus.read(index)
                path.parent.mkdir(parents=True, exist_ok=True)
                files.write_output(data, str(path), force=force)
            except (MocpackError, OSError) as error:
                message = f"{archive}: clip {name!r}: {files.describe_error(error)}"
                print_error(message)
                rows.append({"ok": False, "error": message, "clip": name})
                continue
            written.add(path)
            total += len(data)
            rows.append({"clip": name, "output": str(path), "bytes": len(data)})
    if as_json:
        print_json(rows)
    else:
        share = "" if len(written) == len(rows) else f"{len(written)} of "
        count = f"{share}{count_of(len(rows), 'clip')}"
        files.stdout().print(f"wrote {count}, {format_size(total)}, to {output}")
    return 0 if len(written) == len(rows) else 2


def _check_outputs(names: Sequence[str], folder: str, force: bool) -> None:
    """Raise before anything is written if a file exists; writing reports names without a file."""
    for name in names:
        try:
            path = safe_path(folder, name, ".mocp")
        except UsageError:
            continue
        with suppress(OSError):
            files.check_output(str(path), force=force, in_new_folder=True)
