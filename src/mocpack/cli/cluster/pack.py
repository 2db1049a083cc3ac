"""``mocpack cluster pack``: pack one shard of a plan."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.cli.pack_parts import (
    pack_parts,
    parts_folder,
    prepare_output,
    read_plan,
    read_rejected,
)
from mocpack.cli.terminal import print_error
from mocpack.corpora import parts
from mocpack.corpora.engines import local_engine
from mocpack.errors import UsageError


def run(
    plan: options.PlanFile,
    output: options.Archive,
    shard: Annotated[
        str, typer.Option(help="Pack this shard of the plan, like 7/100; default: all.")
    ] = "1/1",
    workers: options.Workers = 1,
    force: options.Force = False,
) -> int:
    """Pack one shard of a plan; other machines can pack the other shards."""
    number, count = _parse_shard(shard)
    whole = read_plan(plan, output)
    share, folder = whole.shard(number, count), parts_folder(output)
    total = sum(len(part.files) for part in share)
    before = read_rejected(whole.parts, output, may_replace=prepare_output(output, force=force))
    if before is not None:
        own = {file.path for part in share for file in part.files}
        rejected = [file for file in before if file.path in own]
        done = f"{total} files, already in {output}"
    else:
        new = len(parts.missing_parts(share, folder))
        pack_parts(share, folder, local_engine(workers))
        rejected = [file for part in share for file in parts.read_part(part, folder).rejected]
        done = f"{total} files in {len(share)} parts, {len(share) - new} already packed"
    for file in rejected:
        print_error(file.reason)
    files.stdout().print(f"shard {shard}: {done}", soft_wrap=True)
    return 2 if rejected else 0


def _parse_shard(text: str) -> tuple[int, int]:
    """Return the number and the count of a shard such as ``7/100``."""
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    number, count = map(int, match.groups()) if match else (0, 0)
    if not 1 <= number <= count:
        raise UsageError(f"--shard must be NUMBER/COUNT, like 7/100, got {text:.80}")
    return number, count
