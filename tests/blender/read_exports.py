"""Third part of `make test-blender`: read the files that Blender wrote and compare joint positions.

python tests/blender/read_exports.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import mocpack

METERS = 1e-5


def main() -> int:
    folder = Path(sys.argv[1])
    expected = np.load(folder / "joints.npz")
    names, positions = list(expected["names"]), expected["positions"]
    failed = 0
    for path in sorted(folder.glob("blender.*")):
        clip = mocpack.read(path)
        columns = [clip.skeleton.index(name) for name in names]
        count = min(len(positions), clip.frame_count)
        apart = np.abs(clip.positions()[:count, columns] - positions[:count]).max()
        good = apart < METERS and clip.frame_count == len(positions)
        failed += not good
        told = f"{len(names)} joints, {clip.frame_count} of {len(positions)} frames"
        verdict = "ok" if good else "FAILED"
        print(f"{path.name:<20} read by mocpack: {told}, largest error {apart:.1e} m: {verdict}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
