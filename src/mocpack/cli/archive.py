"""What commands that make an archive share: the options of its catalogue, and their report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.table import Table

from mocpack.cli import files
from mocpack.cli.terminal import complain, print_json
from mocpack.corpora import catalog, parts
from mocpack.corpora.packing import RejectedFile
from mocpack.corpora.reading import open_corpus
from mocpack.io.atomic import write_atomically
from mocpack.units import format_size, parse_size


@dataclass(frozen=True)
class ArchiveOptions:
    """Catalogue and file size of an archive, an option per field."""

    meta: Annotated[
        str | None,
        typer.Option(help="Table of labels, .parquet, .csv or .jsonl, with a column named clip."),
    ] = None
    name_pattern: Annotated[
        str | None,
        typer.Option(help="Regular expression whose named groups in clips' names become columns."),
    ] = None
    shard_size: Annotated[
        str | None, typer.Option(help="Size from which the next file is begun, like 256MB.")
    ] = None

    def parse(self) -> dict[str, Any]:
        """Return what `pack`, `append` and `join` of `mocpack.corpora` take, the labels read."""
        return {
            "meta": None if self.meta is None else catalog.read_meta(self.meta),
            "name_pattern": self.name_pattern,
            "shard_size": None if self.shard_size is None else parse_size(self.shard_size),
        }


def report_archive(
    output: str,
    refused: Sequence[RejectedFile],
    *,
    count: int,
    kept: bool,
    report: str | None,
    as_json: bool,
) -> int:
    """Print what an archive holds and which of `count` files were refused; return the exit code.

    Parameters
    ----------
    kept : bool
        Whether the archive was complete before this run.
    report : str, optional
        File for the list of refused files.
    """
    if report is not None:
        write_atomically(parts.rejected_to_json_lines(refused), report)
    for one in refused:
        complain(one.reason)
    facts = {"output": output, "kept": kept, **_facts(output)}
    if as_json:
        print_json([facts, *({"ok": False, "error": o.reason, "input": o.path} for o in refused)])
        return 2 if refused else 0
    if kept:
        files.stdout().print(f"{output} is there already, of these files", soft_wrap=True)
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row("archive", f"{output}, {format_size(facts['bytes'])}")
    table.add_row("clips", f"{facts['clips']} of {facts['skeletons']} skeletons")
    table.add_row("motion", f"{facts['frames']} frames, {facts['seconds'] / 60:.1f} minutes")
    table.add_row("as single files", format_size(facts["bytes_single"]))
    if refused:
        table.add_row("refused", f"{len(refused)} of {count} files")
    files.stdout().print(table)
    return 2 if refused else 0


def _facts(output: str) -> dict[str, Any]:
    with open_corpus(output) as made:
        return {
            "clips": len(made),
            "shards": len(made.index.files),
            "frames": int(made.index.frame_counts.sum()),
            "seconds": float((made.index.frame_counts * made.index.frame_times).sum()),
            "skeletons": len(made.index.bases),
            "bytes": made.file_size,
            "bytes_single": sum(place.file_size for _, place in made.index.places()),
        }
