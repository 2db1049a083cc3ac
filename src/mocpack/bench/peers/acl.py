"""ACL 2.1's measured figures on CMU clips, as points beside ours."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("acl-2.1-cmu.csv")


def acl_rows(clips: set[str], table: Path = TABLE) -> list[dict[str, Any]]:
    """Return ACL's rows (120 fps) of these clips, with the bench's names.

    Its largest error is over joints and 3 cm skin points, without bone ends, so it flatters ACL.
    """
    with table.open(newline="") as file:
        return [
            {
                "clip": row["clip"],
                "codec": "ACL 2.1",
                "bytes": int(row["bytes"]),
                "bits_per_frame": float(row["bits_per_frame"]),
                "max_error_mm": 10 * float(row["max_shell_cm"]),
                "mean_mm": 10 * float(row["mean_joint_cm"]),
            }
            for row in csv.DictReader(file)
            if row["fps"] == "120" and row["clip"] in clips
        ]
