"""Second part of `make test-blender`: import the files and compare world joint positions.

    .venv-blender/bin/python tests/blender/check_in_blender.py FOLDER

Runs in its own environment without mocpack, because Blender needs an older numpy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import bpy
import by_hand
import numpy as np

OF_HEIGHT = 1e-4  # largest error of a BVH, whose text is rounded, by the body's height
METERS = 1e-5  # largest error of other files
STEP = 7  # frames between two comparisons
# where Blender does something else, as measured: `by_hand.py` says in double precision what the
# format's own formula makes of the made files, and tests/data/test_fbx.py compares with ufbx's
# poses. Of some files only a part can be compared:
AT_KEYS = ("maya_anim_interpolation",)  # between keys of curves Blender goes straight
NEW, ADD_ON = "FBX", "FBX by the add-on"
NO_SCALE = "bones rest without scale"
WITHOUT = {
    ("maya_anim_no_inherit_scale", NEW): (("joint4",), "twice as far from joint3 as the file says"),
    ("made-scaling-pivots", NEW): (("Spine", "Neck", "Leg", "Foot"), NO_SCALE),
    ("made-scaling-pivots", ADD_ON): (("Spine", "Neck", "Leg", "Foot"), NO_SCALE),
    ("made-rotation-pivots", NEW): (("Spine", "Leg"), "a bone's head is put at its pivot"),
    ("made-inherited-moving-scale-2", ADD_ON): (("Neck", "Foot"), "every bone inherits scale"),
    ("made-geometric-transforms", ADD_ON): (
        ("Spine", "Neck"),
        "a transform of the mesh alone moves the bone",
    ),
}
OTHERWISE = {
    "maya_anim_layers": "Blender makes an action of each layer and plays one",
    "made-inherited-scale": NO_SCALE,
    "made-layers": "Blender makes an action of each layer and plays one",
    "maya_anim_pivot_rotate": "Blender puts an object's origin at its pivot",
}
# files whose keys are straight, so that the formula can be followed by hand at any time
BY_HAND = ("made-", "blender_293_barbarian")
HELPERS = "_scale"  # suffix of mocpack's joints for scales that children ignore


def main() -> int:
    failed = 0
    for path in sorted(Path(sys.argv[1]).iterdir()):
        reason = next((why for start, why in OTHERWISE.items() if path.stem.startswith(start)), "")
        if path.suffix == ".fbx" and path.stem.startswith(BY_HAND):
            failed += not agrees_by_hand(path)
        for title, bring_in in IMPORTERS.get(path.suffix, ()):
            if reason:
                print(f"{path.name:<48} {title}: not compared, {reason}")
            else:
                failed += not looks_right(path, title, bring_in)
    export(Path(sys.argv[1]))
    return 1 if failed else 0


def export(folder: Path) -> None:
    """Let Blender write a clip as FBX and USD for `read_exports.py`, with joint positions."""
    import addon_utils

    bpy.ops.wm.read_factory_settings(use_empty=True)
    addon_utils.enable("io_scene_fbx")
    path = folder / "computed.bvh"
    expected = dict(np.load(f"{path}.npz"))
    frames = bring_in_bvh(path, expected)
    scene = bpy.context.scene
    scene.render.fps = 60
    scene.frame_start, scene.frame_end = int(frames[0]), int(frames[-1])
    names = list(expected["names"])
    into = folder / "exports"
    into.mkdir(exist_ok=True)
    np.savez(into / "joints.npz", names=names, positions=joints_in_blender(names, frames))
    bpy.ops.export_scene.fbx(
        filepath=str(into / "blender.fbx"), add_leaf_bones=False, bake_anim_simplify_factor=0.0
    )
    for ending in ("usda", "usdc", "usdz"):
        bpy.ops.wm.usd_export(
            filepath=str(into / f"blender.{ending}"), export_animation=True, export_armatures=True
        )


def agrees_by_hand(path: Path) -> bool:
    """Return whether mocpack's joint positions match the formula of the format."""
    import addon_utils

    addon_utils.enable("io_scene_fbx")  # for its parser
    expected = dict(np.load(f"{path}.npz"))
    rows = np.arange(0, len(expected["positions"]), STEP)
    names = [str(name) for name in expected["names"]]
    found = by_hand.positions(path, names, expected["times"][rows])
    apart = np.abs(found - expected["positions"][rows]).max((0, 2))
    good = bool((apart[~np.char.endswith(names, HELPERS)] < METERS).all())
    verdict = "ok" if good else "FAILED"
    print(f"{path.name:<48} by hand: largest error {np.nanmax(apart):.1e} m: {verdict}")
    return good


def looks_right(path: Path, title: str, bring_in: Callable) -> bool:
    expected = dict(np.load(f"{path}.npz"))
    positions = expected["positions"]
    rows = np.arange(0, len(positions), STEP)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    try:
        frames = bring_in(path, expected)
    except RuntimeError as error:
        # the add-on may reject files of others, but must read the generated ones
        good = "not supported" in str(error)
        print(f"{path.name:<48} {title}: {str(error).strip()[-120:]}: {'ok' if good else 'FAILED'}")
        return good
    if path.stem.startswith(AT_KEYS):
        keys = np.array(key_frames())
        # skip frames 10 µs from a jump
        rows = np.flatnonzero([np.abs(keys - frame).min() < 1e-4 for frame in frames])
    names = [str(name) for name in expected["names"]]
    found = joints_in_blender(names, frames[rows])
    describe_ignored, why = next(
        (
            found
            for (start, by), found in WITHOUT.items()
            if path.stem.startswith(start) and by == title
        ),
        ((), ""),
    )
    missed = np.isnan(found).any((0, 2)) | np.isin(names, describe_ignored)
    apart = np.abs(found - positions[rows])[:, ~missed].max(initial=0.0)
    excused = [name in describe_ignored or name.endswith(HELPERS) for name in names]
    good = apart < allowed(path, expected) and not (missed & ~np.array(excused)).any() and len(rows)
    joints = f"{(~missed).sum()} of {len(missed)} joints, {len(rows)} of {len(positions)} frames"
    verdict = ("ok" if good else "FAILED") + (
        f" (without {', '.join(describe_ignored)}: {why})" * bool(why)
    )
    print(f"{path.name:<48} {title}: {joints}, largest error {apart:.1e} m: {verdict}")
    return good


def key_frames() -> list[float]:
    """Return the frames with keys in the imported file."""
    bags = [
        bag
        for action in bpy.data.actions
        for layer in action.layers
        for strip in layer.strips
        for bag in strip.channelbags
    ]
    curves = [curve for bag in bags for curve in bag.fcurves]
    return sorted({point.co[0] for curve in curves for point in curve.keyframe_points})


def allowed(path: Path, expected: dict) -> float:
    height = np.ptp(expected["positions"][..., 1], axis=1).max()
    if path.suffix == ".bvh":
        return OF_HEIGHT * height
    # a bone of Blender's rests without scale, so that noise in scales moves what it carries: in
    # proportion, and not at all where there is none. By hand, in double precision, such files come
    # out as we have them, within METERS (`agrees_by_hand`)
    return METERS + expected["noise"] * height


def joints_in_blender(names: list[str], frames: np.ndarray) -> np.ndarray:
    """Return world positions (frames, joints, 3), y up, in meters; NaN for missing joints."""
    armatures = [o for o in bpy.data.objects if o.type == "ARMATURE"]
    heads = np.full((len(frames), len(names), 3), np.nan)
    for row, frame in enumerate(frames):
        whole = int(frame + 1e-3)
        bpy.context.scene.frame_set(whole, subframe=max(0.0, round(frame - whole, 3)))
        for j, name in enumerate(names):
            place = where_is(name, armatures)
            if place is not None:
                heads[row, j] = place
    # Blender's z is up, and its y points away
    return np.stack([heads[..., 0], heads[..., 2], -heads[..., 1]], axis=-1)


def where_is(name: str, armatures: list) -> np.ndarray | None:
    for armature in armatures:
        if name in armature.pose.bones:
            to_world = np.array(armature.matrix_world)
            return to_world[:3, :3] @ armature.pose.bones[name].head + to_world[:3, 3]
    known = bpy.data.objects.get(name)
    return None if known is None else np.array(known.matrix_world)[:3, 3]


def bring_in_bvh(path: Path, expected: dict) -> np.ndarray:
    bpy.ops.import_anim.bvh(
        filepath=str(path),
        global_scale=float(expected["unit"]),
        axis_forward="-Z",
        axis_up="Y",
        frame_start=1,
    )
    return 1 + np.arange(len(expected["times"]))


def bring_in_fbx(path: Path, expected: dict) -> np.ndarray:
    bpy.ops.wm.fbx_import(filepath=str(path), anim_offset=0.0)
    return frames_at(expected["times"])


def bring_in_fbx_by_the_addon(path: Path, expected: dict) -> np.ndarray:
    import addon_utils  # which importing bpy has brought

    addon_utils.enable("io_scene_fbx")
    from io_scene_fbx import import_fbx

    # it sets a property of lights that Blender 5.0 does not have
    import_fbx.blen_read_light = lambda *_: bpy.data.lights.new("light", "POINT")
    bpy.ops.import_scene.fbx(filepath=str(path), anim_offset=0.0)
    return frames_at(expected["times"])


def bring_in_usd(path: Path, expected: dict) -> np.ndarray:
    # in meters, whatever the stage's unit; y up becomes Blender's z
    bpy.ops.wm.usd_import(filepath=str(path), apply_unit_conversion_scale=True)
    return 0 + np.arange(len(expected["times"]))


def frames_at(times: np.ndarray) -> np.ndarray:
    render = bpy.context.scene.render
    return times * render.fps / render.fps_base


IMPORTERS = {
    ".bvh": [("BVH", bring_in_bvh)],
    ".usda": [("USD", bring_in_usd)],
    ".usdc": [("USD", bring_in_usd)],
    ".usdz": [("USD", bring_in_usd)],
    ".fbx": [(NEW, bring_in_fbx), (ADD_ON, bring_in_fbx_by_the_addon)],
}

if __name__ == "__main__":
    sys.exit(main())
