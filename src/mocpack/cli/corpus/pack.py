"""``mocpack corpus pack``: pack motion files into one archive with a catalog."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.cli.archive import ArchiveOptions, report_archive
from mocpack.cli.encoding import Encoding
from mocpack.cli.pack_inputs import PackInputs, find_inputs
from mocpack.cli.pack_parts import check_output, make_archive, may_write
from mocpack.cli.progress import make_progress_bar
from mocpack.cli.reading import Reading
from mocpack.corpora.engines import make_engine
from mocpack.corpora.packing import ALL_FRAMES, PackOptions, RejectedFile, append, pack
from mocpack.corpora.parts import make_counter
from mocpack.corpora.sole_writer import sole_writer
from mocpack.corpora.writing import WriterOptions
from mocpack.errors import LosslessWarning, UsageError


def run(
    inputs: options.PackInputs,
    output: options.Archive,
    *,
    encoding: Encoding,
    archive: ArchiveOptions,
    add: Annotated[
        bool, typer.Option("--append", help="Add clips to an existing archive.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Pack in parts, and continue an interrupted run.")
    ] = False,
    engine: Annotated[
        str | None,
        typer.Option(help="Pack in parts, on this machine (local) or on a Ray cluster (ray)."),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            help="Connect to this Ray cluster; default: RAY_ADDRESS, or a new local cluster."
        ),
    ] = None,
    report: options.Report = None,
    reading: Reading,
    frames: options.PackFrames = ALL_FRAMES,
    jobs: options.Workers = 1,
    force: options.Force = False,
    as_json: options.Json = False,
) -> int:
    """Pack motion files into one archive with a catalog of its clips."""
    packing = PackOptions.parse(*encoding.parse(), reading.to_arguments(), frames)
    in_parts = resume or engine is not None or address is not None
    if add and in_parts:
        raise UsageError("--append cannot be combined with --resume or --engine")
    found = find_inputs(inputs, packing)
    files.check_not_input(output, found.files.values())
    ending, kept = archive.parse(), False
    with sole_writer(output):
        if in_parts:
            workers = make_engine(engine or "local", workers=jobs, address=address)
            allowed = may_write(output, force=force)  # raises before files are hashed
            plan = found.plan(absolute_paths=engine == "ray")
            rejected, kept = make_archive(plan, output, ending, may_write=allowed, engine=workers)
        else:
            rejected = _pack_at_once(found, output, ending, add=add, workers=jobs, force=force)
    return report_archive(
        output, rejected, count=len(found.files), kept=kept, report=report, as_json=as_json
    )


def _pack_at_once(
    found: PackInputs,
    output: str,
    ending: WriterOptions,
    *,
    add: bool,
    workers: int,
    force: bool,
) -> list[RejectedFile]:
    """Pack into a new archive, or append to an existing one, without parts."""
    if not add:
        check_output(output, force=force)
    work: Callable[..., list[RejectedFile]] = append if add else pack
    with _name_resume(output, add=add), make_progress_bar() as bar:
        task = bar.add_task("packing", total=None)
        on_progress = make_counter(
            [1] * len(found.files),
            lambda done, count: bar.update(task, completed=done, total=count),
        )
        with warnings.catch_warnings(action="ignore", category=LosslessWarning):  # report_archive
            return work(
                found.files,
                output,
                found.packing,
                workers=workers,
                on_progress=on_progress,
                **ending,
            )


@contextmanager
def _name_resume(output: str, *, add: bool) -> Iterator[None]:
    """Add to an interrupt how to pack so that a run can be continued."""
    try:
        yield
    except KeyboardInterrupt:
        advice = "" if add else "; with --resume, an interrupted run can be continued"
        raise KeyboardInterrupt(f"{output} was not written{advice}") from None
