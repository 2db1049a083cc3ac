"""``mocpack decompress``: .mocp files in, motion files out."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from mocpack import _api
from mocpack.cli import files, options
from mocpack.cli.batch import Job, job_row, plan_table, rehearse, report, run_batch, table_of_fates
from mocpack.cli.inputs import PACKED, find_sources, make_folders, outputs_for
from mocpack.cli.terminal import print_json
from mocpack.errors import FormatError, HingeWarning, MemoryLimitError, SceneError, UsageError
from mocpack.io import files_to_write, find_dialect, supported_extensions, write_bytes


def run(
    inputs: Annotated[
        list[str],
        typer.Argument(help=".mocp files, folders of them, patterns; - reads standard input."),
    ],
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="File, folder, or - for a pipe.")
    ] = None,
    to: Annotated[str | None, typer.Option(help="Format, like bvh, where no name says it.")] = None,
    dialect: Annotated[
        str | None,
        typer.Option(
            "--as",
            help="For robots mjlab, beyondmimic, gmr, protomotions, qpos, csv; for bodies amass.",
        ),
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Take what is whole of a file that was cut.")
    ] = False,
    clip: options.ClipName = None,
    memory_limit: options.MemoryLimit = options.DEFAULT_MEMORY_LIMIT,
    jobs: options.Workers = 1,
    resume: options.Resume = False,
    dry_run: options.DryRun = False,
    force: options.Force = False,
    as_json: options.Json = False,
) -> int:
    """Unpack .mocp files to any format that can be written, by extension."""
    suffix = _suffix(output, to, dialect)
    sources = find_sources(inputs, PACKED)
    outputs = outputs_for(sources, output, suffix)
    reading = {"partial": partial, "clip": clip, "memory_limit": memory_limit}
    settings = {"suffix": suffix, "dialect": dialect}
    work = [
        Job(source.path, _written(goal, suffix), settings | {"reading": reading}, force)
        for source, goal in zip(sources, outputs, strict=True)
    ]
    if dry_run:
        outcomes = rehearse(work)
    else:
        make_folders(output, outputs)
        outcomes = run_batch(_decompress, work, workers=jobs, title="unpacking", resume=resume)
    rows = [job_row(*one) for one in zip(work, outcomes, strict=True)]
    if as_json:
        print_json(rows, to_stderr=files.PIPE in outputs)
    elif dry_run:
        files.stdout().print(plan_table(rows))
    elif len(work) > 1 and any(outcome.fate == "not done" for outcome in outcomes):
        files.stdout().print(table_of_fates(work, outcomes))
    return report(work, outcomes)


def _suffix(output: str | None, to: str | None, dialect: str | None) -> str:
    if to is not None:
        return "." + to.lstrip(".")
    if output and Path(output).suffix and not Path(output).is_dir():
        return Path(output).suffix
    return ".bvh" if dialect is None else find_dialect(dialect).extensions[0]


def _written(goal: str, suffix: str) -> tuple[str, ...]:
    """Return the files that are written for one goal, itself last."""
    if goal == files.PIPE or Path(goal).suffix != suffix:
        return (goal,)
    return tuple(map(str, files_to_write(goal)))


def _decompress(
    source: str,
    goal: str,
    *,
    force: bool,
    suffix: str,
    dialect: str | None,
    reading: dict[str, Any],
) -> None:
    """Unpack one file."""
    if dialect is not None:
        find_dialect(dialect, suffix)
    elif suffix.lower() not in supported_extensions(writable=True):
        raise UsageError(
            f"cannot write {suffix!r} files; mocpack writes: {', '.join(supported_extensions(writable=True))}"
        )
    for path in _written(goal, suffix):
        files.check_free(path, force=force, sources=[source])
    try:
        clip = _api.decode(files.read_input(source), **reading)
    except (FormatError, MemoryLimitError, SceneError) as error:
        raise type(error)(f"{source}: {error}") from error
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", HingeWarning)
        if goal == files.PIPE or Path(goal).suffix != suffix:
            files.write_output(write_bytes(clip, suffix, dialect), goal, force=force)
        else:
            _api.write(clip, goal, dialect=dialect)
    for one in said:
        words = f"{source}: {one.message}"
        files.stderr().print(words, markup=False, highlight=False, soft_wrap=True)
