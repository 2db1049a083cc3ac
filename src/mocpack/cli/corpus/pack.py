"""``mocpack corpus pack``: pack motion files into one archive with a catalog."""

from __future__ import annotations

import warnings
from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.cli.archive import ArchiveOptions, report_archive
from mocpack.cli.encoding import Encoding
from mocpack.cli.pack_inputs import PackInputs, find_inputs
from mocpack.cli.pack_parts import check_output, make_archive, prepare_output
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
    workers: options.Workers = 1,
    force: options.Force = False,
    as_json: options.Json = False,
) -> int:
    """Pack motion files into one archive with a catalog of its clips."""
    packing = PackOptions(encoding.spec, encoding.target(), reading.to_arguments(), frames)
    in_parts = resume or engine is not None or address is not None
    if add and in_parts:
        raise UsageError("--append cannot be combined with --resume or --engine")
    chosen_inputs = find_inputs(inputs, packing)
    files.check_not_input(output, chosen_inputs.files.values())
    join_options, kept = archive.parse(), False
    with sole_writer(output):
        if in_parts:
            chosen = make_engine(engine or "local", workers=workers, address=address)
            allowed = prepare_output(output, force=force)  # raises before files are hashed
            plan = chosen_inputs.plan(absolute_paths=engine == "ray")
            rejected, kept = make_archive(
                plan, output, join_options, may_replace=allowed, engine=chosen
            )
        else:
            rejected = _pack_at_once(
                chosen_inputs, output, join_options, add=add, workers=workers, force=force
            )
    return report_archive(
        output, rejected, count=len(chosen_inputs.files), kept=kept, report=report, as_json=as_json
    )


def _pack_at_once(
    chosen_inputs: PackInputs,
    output: str,
    join_options: WriterOptions,
    *,
    add: bool,
    workers: int,
    force: bool,
) -> list[RejectedFile]:
    """Pack into a new archive, or append to an existing one, without parts."""
    if not add:
        check_output(output, force=force)
    paths, packing = chosen_inputs.files, chosen_inputs.packing
    quiet = warnings.catch_warnings(action="ignore", category=LosslessWarning)  # report_archive
    with quiet, make_progress_bar() as bar:
        task = bar.add_task("packing", total=len(paths))
        on_progress = make_counter(
            [1] * len(paths), lambda done, _: bar.update(task, completed=done)
        )
        try:
            return (append if add else pack)(
                paths, output, packing, workers=workers, on_progress=on_progress, **join_options
            )
        except KeyboardInterrupt:
            advice = "" if add else "; with --resume, an interrupted run can be continued"
            raise KeyboardInterrupt(f"{output} was not written{advice}") from None
