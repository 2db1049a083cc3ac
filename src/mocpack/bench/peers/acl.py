"""Measurements of ACL 2.1 on CMU clips, as reference points."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("acl-2.1-cmu.csv")


def acl_rows(clips: set[str], table: Path = TABLE) -> list[dict[str, Any]]:
    """Return the rows of ACL (120 fps) for these clips, with the column names of the bench.

    Its largest error covers joints and 3 cm skin points but no bone ends, which favors ACL.
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
