"""``mocpack cluster pack``: one job's share of a plan; the others are for other machines."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.cli.pack_parts import (
    may_write,
    pack_parts,
    parts_folder,
    read_plan,
    read_rejected,
)
from mocpack.cli.terminal import complain
from mocpack.corpora import parts
from mocpack.corpora.engines import local_engine
from mocpack.errors import UsageError


def run(
    plan: options.PlanFile,
    output: options.Archive,
    shard: Annotated[
        str, typer.Option(help="Which share of the plan to pack, like 7/100; default: all of it.")
    ] = "1/1",
    jobs: options.Workers = 1,
    force: options.Force = False,
) -> int:
    """Pack one shard of a plan; other shards can run on other machines."""
    number, count = _parse_shard(shard)
    whole = read_plan(plan, output)
    share, folder = whole.shard(number, count), parts_folder(output)
    total = sum(len(part.files) for part in share)
    before = read_rejected(whole.parts, output, may_write=may_write(output, force=force))
    if before is not None:
        own = {file.path for part in share for file in part.files}
        refused = [file for file in before if file.path in own]
        done = f"{total} files, {output} has them already"
    else:
        new = len(parts.missing_parts(share, folder))
        pack_parts(share, folder, local_engine(jobs))
        refused = [file for part in share for file in parts.read_part(part, folder).refused]
        done = f"{total} files in {len(share)} parts, {len(share) - new} were there already"
    for file in refused:
        complain(file.reason)
    files.stdout().print(f"shard {shard}: {done}", soft_wrap=True)
    return 2 if refused else 0


def _parse_shard(text: str) -> tuple[int, int]:
    """Return number and count of a shard such as ``7/100``."""
    found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    number, count = map(int, found.groups()) if found else (0, 0)
    if not 1 <= number <= count:
        raise UsageError(f"--shard must be NUMBER/COUNT, such as 1/100 to 100/100, got {text:.80}")
    return number, count
