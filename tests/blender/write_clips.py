"""First half of `make test-blender`: files that Blender opens, and where their joints should be.

BVH and USD files are written by mocpack; FBX files are made by the rules of the format, or found in
the folder that MOCPACK_DATA names, and read by mocpack.

python tests/blender/write_clips.py FOLDER
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np

import mocpack
from mocpack.bench.datasets import data_folder, describe_missing, find_clip
from mocpack.clip import Clip
from mocpack.errors import FormatError
from mocpack.samples import JUMP
from mocpack.testing.fbx_file import Curve, Model, Take, binary, scene
from mocpack.testing.motions import walk

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
    """Say beside a file where its joints should be."""
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
            print(f"not tried: {describe_missing(real)}; MOCPACK_DATA names the folder to look in")
        else:
            found[name] = mocpack.read(path)
    return found


def fbx_files() -> dict[str, bytes]:
    """Return files with all that turns and moves a bone, and those of the folder of real ones."""
    times = np.arange(40) / 30
    turning = {
        "RotationActive": True,
        "PreRotation": (20.0, -35.0, 50.0),
        "PostRotation": (10.0, 15.0, -25.0),
    }
    bones = [
        Model("Hips", properties={"Lcl Translation": (0.0, 90.0, 0.0)}),
        Model("Spine", 0, properties={"Lcl Translation": (0.0, 20.0, 3.0), **turning}),
        Model("Neck", 1, properties={"Lcl Translation": (0.0, 30.0, -2.0)}),
        Model(
            "Leg",
            0,
            properties={
                "Lcl Translation": (9.0, -5.0, 0.0),
                "RotationActive": True,
                "RotationOrder": 4,
            },
        ),
        Model("Foot", 3, properties={"Lcl Translation": (0.0, -80.0, 0.0)}),
    ]
    layer = {
        (bone, "Lcl Rotation", axis): Curve(times, 30 * np.sin((2 + bone) * times + axis))
        for bone in range(5)
        for axis in range(3)
    }
    layer |= {(0, "Lcl Translation", a): Curve(times, 50 * np.sin(times + a)) for a in range(3)}
    take = [Take("Dance", [layer])]
    noisy = [*bones]
    stretched = {**turning, "Lcl Scaling": (1.0, 1.00001, 1.00003)}
    noisy[1] = Model("Spine", 0, properties={"Lcl Translation": (0.0, 20.0, 3.0), **stretched})
    found = {
        "made-noise": binary(scene(noisy, take)),
        "made-centimetres": binary(scene(bones, take)),
        "made-z-up": binary(scene(bones, take, up=2, unit=2.54)),
    }
    folder = data_folder()
    if folder is None:
        print("not tried: real FBX files; MOCPACK_DATA names the folder with fbx/ in it")
        return found
    real = sorted((folder / "fbx").glob("*.fbx"))
    return found | {path.stem: path.read_bytes() for path in real}


if __name__ == "__main__":
    main()
