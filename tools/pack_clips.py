"""Packs folders of clips for benchmarks/clips, and proves that nothing of them is lost.

    python tools/pack_clips.py FOLDER… [--out benchmarks/clips] [--check]

A folder's clips go to a folder of the same name, each packed by `lossless`. What is packed must
decode to the very clip that reading the original gives, bit for bit: skeleton, timing, metadata,
rotations, translations and the source's own numbers. clips.csv has a row for each file: what it
was packed from and what its numbers are, so that the tests notice if a later mocpack reads another
clip. `--check` writes nothing and compares originals with what is there.
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
from mocpack.clip import AnyClip, Clip
from mocpack.io.atomic import write_atomically

COLUMNS = ("clip", "source", "source_bytes", "source_sha256", "frames", "channels_sha256", "bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=COMMITTED)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    given = parser.parse_args()
    rows = [
        handle(path, given.out / folder.resolve().name, check=given.check)
        for folder in given.folders
        for path in find_clips([folder])
    ]
    if not given.check:
        write_contents(rows, given.out / CONTENTS)
    sizes = [sum(int(row[c]) for row in rows) for c in ("source_bytes", "bytes")]
    done = "compared" if given.check else "packed"
    print(f"{done} {len(rows)} clips bit for bit: {sizes[0]:,} bytes in {sizes[1]:,}")


def handle(path: Path, folder: Path, *, check: bool) -> dict[str, str | int]:
    """Pack one clip, or compare it with what was packed; return its row."""
    clip = mocpack.read(path)
    if not isinstance(clip, Clip) or clip.channels is None:
        sys.exit(f"{path}: a clip of no channels cannot be packed without loss")
    target = folder / f"{path.stem}.mocp"
    data = target.read_bytes() if check else mocpack.encode(clip, "lossless")
    difference = first_difference(clip, mocpack.decode(data))
    if difference:
        sys.exit(f"{path}: {difference} of {target} differs")
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
    """Return what of a clip is not the same, to the bit; None if all is.

    A skeleton's numbers are equal and not the same bits: its decimals have no sign of zero.
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
    """Return the SHA-256 of numbers as little-endian float64, row by row."""
    return sha256(np.ascontiguousarray(values, "<f8").tobytes()).hexdigest()


def write_contents(rows: list[dict[str, str | int]], path: Path) -> None:
    """Put the rows in the place of those that the table has of the same clips."""
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
