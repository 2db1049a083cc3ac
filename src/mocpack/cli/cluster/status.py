"""``mocpack cluster status``: how far all jobs of a plan have come."""

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
    those, count = whole.parts, len(whole.files)
    if pack_record.read_rejected(those, output) is None:
        now = parts.status(those, parts_folder(output), time.time())
    else:
        now = parts.Status(len(those), count, 0.0)
    if as_json:
        facts = {"parts": len(those), "parts_done": now.parts, "files": count}
        print_json([facts | {"files_done": now.files, "seconds_left": now.seconds_left}])
        return 0
    left = now.seconds_left
    when = "" if left is None else f", {timedelta(seconds=round(left))} left"
    files.stdout().print(
        f"{now.files} of {count} files are packed, {now.parts} of {len(those)} parts{when}"
    )
    return 0
