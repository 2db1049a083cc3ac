"""``mocpack cluster status``: show how much of a plan is packed."""

from __future__ import annotations

import time
from datetime import timedelta

from mocpack.cli import files, options
from mocpack.cli.pack_parts import parts_folder, read_plan
from mocpack.cli.terminal import print_json
from mocpack.corpora import pack_record, parts


def run(plan: options.PlanFile, output: options.Archive, as_json: options.Json = False) -> int:
    """Show how much of a plan is packed, and the estimated time left."""
    whole = read_plan(plan, output)
    all_parts, count = whole.parts, len(whole.files)
    if pack_record.read_rejected(all_parts, output) is None:
        now = parts.status(all_parts, parts_folder(output), time.time())
    else:
        now = parts.Status(len(all_parts), count, 0.0)
    if as_json:
        facts = {"parts": len(all_parts), "parts_done": now.parts, "files": count}
        print_json([facts | {"files_done": now.files, "seconds_left": now.seconds_left}])
        return 0
    left = now.seconds_left
    when = "" if left is None else f", {timedelta(seconds=round(left))} left"
    files.stdout().print(
        f"{now.files} of {count} files are packed, {now.parts} of {len(all_parts)} parts{when}"
    )
    return 0
