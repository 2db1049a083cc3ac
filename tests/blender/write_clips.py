"""First half of `make test-blender`: write BVH files, and where their joints should be.

python tests/blender/write_clips.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import mocpack
from mocpack.bench.datasets import describe_missing, find_clip
from mocpack.clip import Clip
from mocpack.samples import JUMP
from mocpack.testing.motions import walk

REAL = {
    "cmu": "cmu/02_01",
    "bandai": "bandai/dataset-1_kick_normal_001",
    "dog": "dog/D1_007_KAN01_001",
    "acclaim": "asfamc/02_01",
}


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for name, clip in clips().items():
        mocpack.write(clip, folder / f"{name}.bvh")
        np.savez(
            folder / f"{name}.npz",
            names=np.array(clip.skeleton.names),
            positions=clip.positions(),
            unit=clip.unit,
        )


def clips() -> dict[str, Clip]:
    """Return clips with their source's own numbers, and one whose angles we computed."""
    found = {"bundled": mocpack.read(JUMP), "computed": walk(1.0)}
    for name, real in REAL.items():
        path = find_clip(real)
        if path is None:
            print(f"not tried: {describe_missing(real)}; MOCPACK_DATA names the folder to look in")
        else:
            found[name] = mocpack.read(path)
    return found


if __name__ == "__main__":
    main()
