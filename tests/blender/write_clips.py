"""First part of `make test-blender`: write files for Blender and their expected joint positions.

BVH and USD files are written by mocpack; FBX files are generated, or read from the folder that
MOCPACK_DATA names.

python tests/blender/write_clips.py FOLDER
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np

import mocpack
from mocpack.bench.datasets import data_folder, describe_missing, find_clip
from mocpack.errors import FormatError
from mocpack.model.clip import Clip
from mocpack.samples import JUMP
from mocpack.testing.motions import walk

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))
import fbx_takes
from fbx_file import binary

REAL = {
    "cmu": "cmu/02_01",
    "bandai": "bandai/dataset-1_kick_normal_001",
    "dog": "dog/D1_007_KAN01_001",
    "acclaim": "asfamc/02_01",
}


def main() -> None:
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    found = clips()
    for name, clip in found.items():
        mocpack.write(clip, folder / f"{name}.bvh")
        expect(clip, folder / f"{name}.bvh")
    for ending in (".usda", ".usdc", ".usdz"):
        for name in ("bundled", "computed"):
            mocpack.write(found[name], folder / f"{name}{ending}")
            expect(found[name], folder / f"{name}{ending}")
    for name, data in fbx_files().items():
        path = folder / f"{name}.fbx"
        path.write_bytes(data)
        try:
            expect(mocpack.read(path), path)
        except FormatError as error:
            print(f"not tried: {error}")
            path.unlink()


def expect(clip: Clip, path: Path) -> None:
    """Write the expected joint positions next to a file."""
    np.savez(
        f"{path}.npz",
        names=np.array(clip.skeleton.unique_names),
        positions=clip.positions(),
        times=clip.times,
        unit=clip.unit,
        noise=clip.metadata.get("scale_noise_dropped", 0.0),
    )


def clips() -> dict[str, Clip]:
    """Return clips with their source's own numbers, and one whose angles we computed."""
    found = {"bundled": mocpack.read(JUMP), "computed": walk(1.0)}
    for name, real in REAL.items():
        path = find_clip(real)
        if path is None:
            print(
                f"missing clip: {describe_missing(real)}; MOCPACK_DATA names the folder to look in"
            )
        else:
            found[name] = mocpack.read(path)
    return found


def fbx_files() -> dict[str, bytes]:
    """Return a file for each thing that places a bone, and those of the folder of real ones."""
    found = {f"made-{name}": binary(records) for name, records in fbx_takes.takes().items()}
    folder = data_folder()
    if folder is None:
        print("not tried: real FBX files; MOCPACK_DATA names the folder with fbx/ in it")
        return found
    real = sorted((folder / "fbx").glob("*.fbx"))
    return found | {path.stem: path.read_bytes() for path in real}


if __name__ == "__main__":
    main()
