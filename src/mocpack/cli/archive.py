"""Options and the final report of the commands that write an archive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.cli.notes import archive_facts, describe_length
from mocpack.cli.tables import make_fact_table
from mocpack.cli.terminal import print_error, print_json
from mocpack.common.texts import count_of
from mocpack.common.units import format_size, parse_size
from mocpack.corpora import catalog, parts
from mocpack.corpora.packing import RejectedFile
from mocpack.corpora.reading import open_corpus
from mocpack.corpora.writing import WriterOptions
from mocpack.io.atomic import write_atomically


@dataclass(frozen=True)
class ArchiveOptions:
    """Catalog and shard size of an archive, one option per field."""

    meta: Annotated[
        str | None,
        typer.Option(
            help="Add the labels of this table (.parquet, .csv or .jsonl) with a column named clip."
        ),
    ] = None
    name_pattern: Annotated[
        str | None,
        typer.Option(
            help="Add columns from clip names: the named groups of this regular expression."
        ),
    ] = None
    shard_size: options.ShardSize = None

    def parse(self) -> WriterOptions:
        """Read the labels and parse the size."""
        return {
            "meta": None if self.meta is None else catalog.read_meta(self.meta),
            "name_pattern": self.name_pattern,
            "shard_size": None if self.shard_size is None else parse_size(self.shard_size),
        }


def report_archive(
    output: str,
    rejected: Sequence[RejectedFile],
    *,
    count: int,
    kept: bool,
    report: str | None,
    as_json: bool,
) -> int:
    """Print the contents of an archive and the rejected of `count` files; return the exit code.

    `kept` is whether the archive was complete before this run. The file `report` lists the rejected
    files.
    """
    if report is not None:
        write_atomically(parts.rejected_to_json_lines(rejected), report)
    for one in rejected:
        print_error(one.reason)
    with open_corpus(output) as made:
        clips, size, facts = len(made), made.file_size, archive_facts(made)
        single_size = made.bytes_by_part["single_files"]
    if as_json:
        row = {"output": output, "kept": kept, "clips": clips, **facts}
        row |= {"bytes": size, "bytes_single": single_size}
        print_json([row, *({"ok": False, "error": o.reason, "input": o.path} for o in rejected)])
        return 2 if rejected else 0
    if kept:
        files.stdout().print(
            f"{output} already contains these files; nothing was written", soft_wrap=True
        )
    table = make_fact_table()
    table.add_row("archive", f"{output}, {format_size(size)}")
    table.add_row("clips", f"{clips} with {count_of(facts['skeletons'], 'skeleton')}")
    table.add_row("motion", describe_length(facts["frames"], facts["seconds"]))
    table.add_row("as single files", format_size(single_size))
    for note in facts["notes"]:
        table.add_row("note", note)
    if rejected:
        table.add_row("rejected", f"{len(rejected)} of {count} files")
    files.stdout().print(table)
    return 2 if rejected else 0


def print_archive_size(output: str, *, lost: int = 0, at_least: bool = False) -> None:
    """Print the number of clips and the size of an archive, and of how many clips these are.

    `lost` is the number of clips that the archive lacks, or a smaller one with `at_least`.
    """
    with open_corpus(output) as made:
        clips = count_of(len(made) + lost, "clip")
        whole = f"{len(made)} of {'at least ' if at_least else ''}" if lost or at_least else ""
        files.stdout().print(f"{output}: {whole}{clips}, {format_size(made.file_size)}")
