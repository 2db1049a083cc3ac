"""Second half of `make test-blender`: import the BVH files and compare world joint positions.

    .venv-blender/bin/python tests/blender/check_in_blender.py FOLDER

Runs in an environment of its own (Blender wants an older numpy), so it knows nothing of mocpack.
"""

from __future__ import annotations

import sys
from pathlib import Path

import bpy
import numpy as np

ALLOWED = 1e-4  # of the body's height
STEP = 7  # every so many frames are looked at


def main() -> int:
    failed = 0
    for path in sorted(Path(sys.argv[1]).glob("*.bvh")):
        expected = np.load(path.with_suffix(".npz"))
        positions = expected["positions"]
        frames = range(0, len(positions), STEP)
        found = joints_in_blender(path, float(expected["unit"]), list(expected["names"]), frames)
        height = np.ptp(positions[..., 1], axis=1).max()
        error = np.abs(found - positions[frames.start : frames.stop : STEP]).max() / height
        good = error < ALLOWED
        failed += not good
        verdict = "ok" if good else "FAILED"
        joints = f"{positions.shape[1]} joints, {len(frames)} of {len(positions)} frames"
        print(f"{path.name:<14} {joints:<34} largest error {error:.1e} of the height: {verdict}")
    return 1 if failed else 0


def joints_in_blender(path: Path, unit: float, names: list[str], frames: range) -> np.ndarray:
    """Return world positions (frames, joints, 3), y up, in metres."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_anim.bvh(
        filepath=str(path), global_scale=unit, axis_forward="-Z", axis_up="Y", frame_start=1
    )
    armature = bpy.context.object
    heads = np.empty((len(frames), len(names), 3))
    for row, frame in enumerate(frames):
        bpy.context.scene.frame_set(1 + frame)
        to_world = np.array(armature.matrix_world)
        for j, name in enumerate(names):
            heads[row, j] = to_world[:3, :3] @ armature.pose.bones[name].head + to_world[:3, 3]
    # Blender's z is up, and its y points away
    return np.stack([heads[..., 0], heads[..., 2], -heads[..., 1]], axis=-1)


if __name__ == "__main__":
    sys.exit(main())
