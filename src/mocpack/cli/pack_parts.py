"""What commands that pack in parts share: the folder of parts, the overwrite rules, the join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mocpack.cli import files
from mocpack.cli.progress import counted
from mocpack.corpora import catalog, pack_record, parts, storage
from mocpack.corpora.engines import Engine
from mocpack.corpora.packing import RejectedFile
from mocpack.corpora.planning import FileHashes, Part, Plan
from mocpack.corpora.remote import is_url
from mocpack.errors import UsageError
from mocpack.io.atomic import remove_temporaries


def read_plan(name: str, output: str) -> Plan:
    """Read a plan file; refuse an `output` that is one of the plan's own files."""
    plan = Plan.from_bytes(storage.read(name), name=name)
    files.check_apart(output, [name, *(one.path for one in plan.files)])
    return plan


def parts_folder(output: str) -> str:
    """Return the folder that holds the parts of an archive until they are joined."""
    return f"{output}.parts"


def hashes_file(output: str) -> str:
    """Return the file of the hashes that a run took which packs this archive in parts."""
    return storage.join_path(parts_folder(output), "hashes.json")


def check_free(output: str, *, force: bool) -> None:
    """Raise `UsageError` if the output exists, on disk or in a store, and `force` is not given."""
    if not is_url(output):
        files.check_free(output, force=force)
    elif not force and storage.exists(output):
        raise UsageError(f"{output} exists; -f overwrites it")


def may_write(output: str, *, force: bool) -> bool:
    """Return whether parts may replace the archive that is there: `force`, or some are packed.

    Raises `UsageError` at once if the archive was not packed in parts. With `force`, the record of
    an earlier run is removed.
    """
    if force:
        pack_record.remove_record(output)
    begun = any(one.path.endswith(".part") for one in storage.list_files(parts_folder(output)))
    check_free(output, force=force or begun or pack_record.has_record(output))
    return force or begun


def read_rejected(
    those: Sequence[Part],
    output: str,
    ending: Mapping[str, Any] | None = None,
    *,
    may_write: bool,
) -> list[RejectedFile] | None:
    """Return the files that were refused when these parts became the archive; None if not yet."""
    before = pack_record.read_rejected(those, output, ending)
    if before is None and not may_write and storage.exists(output):
        raise UsageError(f"{output} exists, of other files or packed otherwise; -f overwrites it")
    return before


def pack_parts(those: Sequence[Part], folder: str, engine: Engine) -> None:
    """Pack the parts that are missing, with a progress bar."""
    with counted() as bar:
        task = bar.add_task("packing", total=None)
        parts.pack_parts(
            those,
            folder,
            engine,
            lambda done, count: bar.update(task, completed=done, total=count),
        )


def make_archive(
    plan: Plan,
    output: str,
    ending: Mapping[str, Any],
    *,
    may_write: bool,
    engine: Engine | None = None,
    hashes: FileHashes | None = None,
) -> tuple[list[RejectedFile], bool]:
    """Join the parts of a plan, after an `engine`, if any, has packed those that are missing.

    Parameters
    ----------
    ending : mapping
        What `ArchiveOptions.parse` returns.
    may_write : bool
        Whether an archive of other parts may be replaced.
    hashes : Hashes, optional
        Hashes that this run took. They are saved, so that the next run reads no file again.

    Returns
    -------
    refused : list of Refused
    kept : bool
        Whether the archive was complete before; then nothing is written.
    """
    folder = parts_folder(output)
    refused = read_rejected(plan.parts, output, ending, may_write=may_write)
    kept = refused is not None
    if refused is None:
        if hashes is not None:
            hashes.save(hashes_file(output))
        if not is_url(output):
            remove_temporaries(output)
        catalog.import_parquet()  # raises before the work if the package is missing
        if engine is not None:
            pack_parts(plan.parts, storage.absolute(folder), engine)
        refused = parts.join(plan.parts, folder, output, **ending)
        rows = {} if hashes is None else hashes.rows
        pack_record.write_record(plan.parts, output, ending, refused, rows)
    storage.remove_folder(folder)
    return refused, kept
