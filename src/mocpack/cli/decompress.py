"""``mocpack decompress``: decompress .mocp files to other motion formats."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any, TypedDict

import typer
from rich.table import Table

from mocpack import _api
from mocpack.cli import files, options
from mocpack.cli.batch import Job, run_command
from mocpack.cli.inputs import PACKED_EXTENSIONS, find_sources, output_paths
from mocpack.cli.tables import make_table
from mocpack.errors import FormatError, MocpackError, TruncatedError, name_errors


class DecodeOptions(TypedDict):
    """The options of `mocpack.decode`."""

    partial: bool
    clip: str | None
    memory_limit: str | int | None


def run(
    inputs: Annotated[
        list[str],
        typer.Argument(help=".mocp and .mocps files, folders or patterns; - is standard input."),
    ],
    output: options.Output = None,
    to: options.Format = None,
    dialect: options.Dialect = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Decode the intact part of a truncated file.")
    ] = False,
    bake_scales: options.BakeScales = False,
    clip: options.ClipName = None,
    memory_limit: options.MemoryLimit = options.DEFAULT_MEMORY_LIMIT,
    workers: options.Workers = 1,
    resume: options.Resume = False,
    dry_run: options.DryRun = False,
    force: Annotated[
        bool,
        typer.Option("--force", "-f", help="Overwrite existing files, if --output names them."),
    ] = False,
    as_json: options.Json = False,
) -> int:
    """Decompress .mocp files to BVH, glTF, USD, C3D or another format."""
    suffix = files.choose_suffix(output, to, dialect, default=".bvh")
    sources = find_sources(inputs, PACKED_EXTENSIONS)
    outputs = output_paths(sources, output, suffix)
    # The file beside a .mocp file is often its source, which is more precise than what is decoded.
    may_replace = None if output is None else force
    reading = {"partial": partial, "clip": clip, "memory_limit": memory_limit}
    settings = {"suffix": suffix, "dialect": dialect, "bake_scales": bake_scales}
    work = [
        Job(
            source.path,
            tuple(files.output_files(path, suffix)),
            settings | {"reading": reading},
            may_replace,
        )
        for source, path in zip(sources, outputs, strict=True)
    ]
    return run_command(
        _decompress,
        work,
        as_json=as_json,
        dry_run=dry_run,
        make_table=_status_table,
        workers=workers,
        title="decompressing",
        folder=output,
        resume=resume,
    )


def _status_table(rows: list[dict[str, Any]]) -> Table | None:
    """Return the status of each file, if Ctrl-C left some."""
    if len(rows) == 1 or all(row["status"] != "not done" for row in rows):
        return None
    table = make_table("file", "status", left=("file", "status"))
    for row in rows:
        table.add_row(row["output"], row["status"])
    return table


def _has_intact_part(data: bytes, reading: DecodeOptions) -> bool:
    """Return whether ``--partial`` can decode a part of a truncated file."""
    with suppress(MocpackError):
        _api.decode(data, partial=True, clip=reading["clip"], memory_limit=reading["memory_limit"])
        return True
    return False


def _decompress(
    source: str,
    output: str,
    *,
    force: bool | None,
    suffix: str,
    dialect: str | None,
    bake_scales: bool,
    reading: DecodeOptions,
) -> None:
    """Decompress one file."""
    for path in files.output_files(output, suffix):
        files.check_output(path, force=force, sources=[source])
    file = files.open_input(source, clip=reading["clip"])
    reading = {**reading, "clip": file.clip}
    if not file.is_packed:
        raise FormatError(f"{source}: not a .mocp file; mocpack convert reads other formats")
    with name_errors(source):
        try:
            clip = _api.decode(file.data, **reading)
        except TruncatedError as error:
            if reading["partial"] or not _has_intact_part(file.data, reading):
                raise
            raise TruncatedError(f"{error}; --partial decodes the intact part") from error
    if bake_scales:
        clip = clip.bake_scales()
    files.write_clip(clip, output, suffix, source=source, dialect=dialect)
