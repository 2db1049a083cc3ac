"""Packing in parts, shared by commands: the parts folder, the overwrite rules, the join."""

from __future__ import annotations

import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mocpack.cli import files
from mocpack.cli.progress import make_progress_bar
from mocpack.common.arguments import is_url
from mocpack.corpora import catalog, pack_record, parts, storage
from mocpack.corpora.engines import Engine
from mocpack.corpora.packing import RejectedFile
from mocpack.corpora.planning import PackPlan, Part
from mocpack.corpora.writing import WriterOptions
from mocpack.errors import LosslessWarning, UsageError
from mocpack.io.atomic import remove_temporaries


def read_plan(name: str, output: str) -> PackPlan:
    """Read a plan file. Raise `UsageError` if `output` is one of the files of the plan."""
    plan = PackPlan.from_bytes(storage.read(name), name=name)
    files.check_not_input(output, [name, *(one.path for one in plan.files)])
    return plan


def parts_folder(output: str) -> str:
    """Return the folder of an archive's parts until they are joined."""
    return f"{output}.parts"


def check_output(output: str, *, force: bool) -> None:
    """Raise `UsageError` if the output exists, on disk or in a store, and `force` is not given."""
    if not is_url(output):
        files.check_output(output, force=force)
    elif not force and storage.exists(output):
        raise UsageError(f"{output} exists; use -f to overwrite it")


def prepare_output(output: str, *, force: bool) -> bool:
    """Return whether the parts may replace an existing archive: with `force`, or if some exist.

    With `force`, the record of an earlier run is removed. Without it, an archive that was not
    packed in parts is a `UsageError`.
    """
    if force:
        pack_record.remove_record(output)
    has_parts = any(one.path.endswith(".part") for one in storage.list_files(parts_folder(output)))
    check_output(output, force=force or has_parts or pack_record.has_record(output))
    return force or has_parts


def read_rejected(
    chosen_parts: Sequence[Part],
    output: str,
    join_options: WriterOptions | None = None,
    *,
    may_replace: bool,
) -> list[RejectedFile] | None:
    """Return the files that were rejected when these parts were joined; None before that."""
    before = pack_record.read_rejected(chosen_parts, output, join_options)
    if before is None and not may_replace and storage.exists(output):
        raise UsageError(
            f"{output} exists with other files or other options; use -f to overwrite it"
        )
    return before


@contextmanager
def name_command_to_continue(chosen_parts: Sequence[Part], folder: str) -> Iterator[None]:
    """Add to an interrupt how many parts are packed, and the command that packs the others."""
    try:
        yield
    except KeyboardInterrupt:
        packed = len(chosen_parts) - len(parts.missing_parts(chosen_parts, folder))
        raise KeyboardInterrupt(
            f"{packed} of {len(chosen_parts)} parts are packed; continue with: "
            f"{shlex.join(['mocpack', *sys.argv[1:]])}"
        ) from None


def pack_parts(chosen_parts: Sequence[Part], folder: str, engine: Engine) -> None:
    """Pack the missing parts, with a progress bar."""
    with name_command_to_continue(chosen_parts, folder), make_progress_bar() as bar:
        task = bar.add_task("packing", total=None)
        parts.pack_parts(
            chosen_parts,
            folder,
            engine,
            lambda done, count: bar.update(task, completed=done, total=count),
        )


def make_archive(
    plan: PackPlan,
    output: str,
    join_options: WriterOptions,
    *,
    may_replace: bool,
    engine: Engine | None = None,
) -> tuple[list[RejectedFile], bool]:
    """Join the parts of a plan; with an `engine`, pack the missing parts first.

    `may_replace` is the result of `prepare_output`. Return the rejected files, and whether the
    archive was already complete; then nothing is written.
    """
    folder = parts_folder(output)
    rejected = read_rejected(plan.parts, output, join_options, may_replace=may_replace)
    kept = rejected is not None
    if rejected is None:
        if not is_url(output):
            remove_temporaries(output)
        clip_names = [one.name for one in plan.files]
        meta, pattern = join_options["meta"], join_options["name_pattern"]
        catalog.check_labels(clip_names, meta, pattern)  # before the work
        if engine is not None:
            pack_parts(plan.parts, storage.absolute(folder), engine)
        quiet = warnings.catch_warnings(action="ignore", category=LosslessWarning)  # report_archive
        with quiet, name_command_to_continue(plan.parts, folder):
            rejected = parts.join(plan.parts, folder, output, **join_options)
        pack_record.write_record(plan.parts, output, join_options, rejected)
    storage.remove_folder(folder)
    return rejected, kept
