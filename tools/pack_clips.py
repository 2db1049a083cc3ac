"""Compress folders of clips losslessly for benchmarks/clips, and verify every bit.

    python tools/pack_clips.py FOLDER… [--out benchmarks/clips] [--check]

The clips of a folder go to a folder of the same name. Each file must decode to exactly the clip
that reading the original returns: skeleton, timing, metadata, rotations, translations and the
numbers of the source. clips.csv records the source and a hash of the numbers of each file, so that
tests notice if a later version of mocpack decodes them differently. `--check` writes nothing and
compares the originals with the existing files.
"""

from __future__ import annotations

import argparse
import csv
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np

import mocpack
from mocpack.bench.datasets import COMMITTED, CONTENTS
from mocpack.bench.runner.run import find_clips
from mocpack.io.atomic import write_atomically
from mocpack.model.clip import AnyClip, Clip

COLUMNS = ("clip", "source", "source_bytes", "source_sha256", "frames", "channels_sha256", "bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=COMMITTED)
    parser.add_argument(
        "--check", action="store_true", help="compare with existing files and write nothing"
    )
    options = parser.parse_args()
    rows = [
        compress_or_compare(path, options.out / folder.resolve().name, check=options.check)
        for folder in options.folders
        for path in find_clips([folder])
    ]
    if not options.check:
        write_contents(rows, options.out / CONTENTS)
    sizes = [sum(int(row[c]) for row in rows) for c in ("source_bytes", "bytes")]
    done = "compared" if options.check else "compressed"
    print(f"{done} {len(rows)} clips, all bits equal: {sizes[0]:,} bytes → {sizes[1]:,} bytes")


def compress_or_compare(path: Path, folder: Path, *, check: bool) -> dict[str, str | int]:
    """Compress one clip, or compare it with the existing file; return its row."""
    clip = mocpack.read(path)
    if not isinstance(clip, Clip) or clip.channels is None:
        sys.exit(f"{path}: lossless needs a skeleton with the channels of the source")
    target = folder / f"{path.stem}.mocp"
    data = target.read_bytes() if check else mocpack.encode(clip, "lossless")
    difference = first_difference(clip, mocpack.decode(data))
    if difference:
        sys.exit(f"{target}: {difference} differs from {path}")
    if not check:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(data, target)
    return {
        "clip": f"{folder.name}/{path.stem}",
        "source": path.name,
        "source_bytes": path.stat().st_size,
        "source_sha256": sha256(path.read_bytes()).hexdigest(),
        "frames": clip.frame_count,
        "channels_sha256": digest(clip.channels),
        "bytes": len(data),
    }


def first_difference(original: Clip, decoded: AnyClip) -> str | None:
    """Return the first part of a clip whose bits differ; None if all are equal.

    Numbers of the skeleton are compared by value, because its decimals have no signed zero.
    """
    if not isinstance(decoded, Clip) or original.header != decoded.header:
        return "the header"
    for name in ("rotations", "translations", "channels"):
        if not same_bits(getattr(original, name), getattr(decoded, name)):
            return name
    return None


def same_bits(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    if a is None or b is None:
        return a is b
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def digest(values: np.ndarray) -> str:
    """Return the SHA-256 of an array as little-endian float64 in row order."""
    return sha256(np.ascontiguousarray(values, "<f8").tobytes()).hexdigest()


def write_contents(rows: list[dict[str, str | int]], path: Path) -> None:
    """Add the rows to the table, replacing earlier rows of the same clips."""
    known: dict[str, dict[str, str | int]] = {}
    if path.exists():
        with path.open(newline="") as file:
            known = {row["clip"]: dict(row) for row in csv.DictReader(file)}
    known |= {str(row["clip"]): row for row in rows}
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(known[name] for name in sorted(known))


if __name__ == "__main__":
    main()
