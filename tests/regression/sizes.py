"""Bytes and errors of every codec on small fixed clips; `make sizes` rewrites the table."""

import csv
import sys
from pathlib import Path

import mocpack
from mocpack.container import unpack
from mocpack.errors import UnsupportedClipError
from mocpack.samples import JUMP
from mocpack.testing import jump, walk

TABLE = Path(__file__).with_name("sizes.csv")
COLUMNS = ("codec", "clip", "bytes", "max_error_mm")


def clips():
    return {
        "walk": walk(1.0, seed=3),
        "jump": jump(1.0, frame_rate=30, seed=4),
        "cmu": mocpack.read(JUMP).frames(0, 120),
    }


def measure(codec_id):
    """Return the rows of one codec at its default setting."""
    rows = []
    for name, clip in clips().items():
        codec = mocpack.parse_codec(codec_id)
        if "skeleton" not in codec.kinds:
            continue
        try:
            data = mocpack.encode(clip, codec)
        except UnsupportedClipError:
            continue
        error = 1000 * unpack(data).errors.max
        rows.append(dict(zip(COLUMNS, (codec_id, name, len(data), f"{error:.5g}"), strict=True)))
    return rows


def load():
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def main():
    rows = [row for codec_id in mocpack.codec_ids() for row in measure(codec_id)]
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"wrote {len(rows)} rows to {TABLE}", file=sys.stderr)


if __name__ == "__main__":
    main()
