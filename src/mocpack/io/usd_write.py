"""Write clips as USD files: a skeleton and its animation (UsdSkel), with usd-core.

USD matrices act on row vectors, so its rows are our columns.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mocpack.common.arrays import F64
from mocpack.common.optional_packages import require
from mocpack.common.termination import unwind_when_terminated
from mocpack.io.usd import BLEND_SHAPE_PREFIX
from mocpack.model import rotations, space
from mocpack.model.clip import Clip
from mocpack.model.skeleton import Skeleton

if TYPE_CHECKING:
    from pxr import Usd, UsdSkel

ROOT, ANIMATION = "/Clip", "/Clip/Skeleton/Animation"


def write(clip: Clip, ending: str = ".usdc") -> bytes:
    """Return the clip as a skeleton with an animation, in the unit and axes of its source."""
    require("pxr.UsdSkel", extra="usd", purpose="writing USD")
    from pxr import Usd, UsdUtils

    with unwind_when_terminated(), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"clip{'.usdc' if ending == '.usdz' else ending}"
        stage = Usd.Stage.CreateNew(str(path))
        _fill_stage(stage, clip)
        stage.Save()
        if ending == ".usdz":
            packed = Path(folder) / "clip.usdz"
            UsdUtils.CreateNewUsdzPackage(str(path), str(packed))
            path = packed
        return path.read_bytes()


def write_text(clip: Clip) -> bytes:
    """Return the clip as a text file."""
    return write(clip, ".usda")


def write_package(clip: Clip) -> bytes:
    """Return the clip as a USDZ package, for phones and browsers."""
    return write(clip, ".usdz")


def _fill_stage(stage: Usd.Stage, clip: Clip) -> None:
    """Add a skeleton and its animation to an empty stage."""
    from pxr import Sdf, UsdGeom, UsdSkel

    header = clip.header
    # USD supports y up and z up, right-handed; other clips are written with mocpack's axes.
    up = "z" if (header.up, header.handedness) == ("z", "right") else "y"
    UsdGeom.SetStageUpAxis(stage, up.upper())
    UsdGeom.SetStageMetersPerUnit(stage, clip.unit)
    codes = clip.times * clip.frame_rate
    whole = np.rint(codes)
    codes = np.where(np.abs(codes - whole) < 1e-6, whole, codes)
    stage.SetTimeCodesPerSecond(clip.frame_rate)
    stage.SetFramesPerSecond(clip.frame_rate)
    stage.SetStartTimeCode(codes[0])
    stage.SetEndTimeCode(codes[-1])
    root = UsdSkel.Root.Define(stage, ROOT)
    stage.SetDefaultPrim(root.GetPrim())
    skeleton = UsdSkel.Skeleton.Define(stage, f"{ROOT}/Skeleton")
    animation = UsdSkel.Animation.Define(stage, ANIMATION)
    binding = UsdSkel.BindingAPI.Apply(skeleton.GetPrim())
    binding.CreateAnimationSourceRel().SetTargets([Sdf.Path(ANIMATION)])
    rest, pose = _to_source_axes(clip, up)
    paths = _make_joint_paths(clip.skeleton)
    _fill_skeleton(skeleton, clip, paths, rest)
    _fill_animation(animation, clip, paths, pose, codes)


def _to_source_axes(clip: Clip, up: str) -> tuple[dict[str, F64], dict[str, F64]]:
    """Return the rest pose and all poses in the unit and axes of the source."""
    skeleton = clip.skeleton
    positions = np.tile(skeleton.offsets, (clip.frame_count, 1, 1))
    positions[:, list(clip.translated_joints)] = clip.translations
    poses = []
    for values in (
        {"translations": skeleton.offsets, "rotations": skeleton.rest, "scales": skeleton.scales},
        {"translations": positions, "rotations": clip.rotations, "scales": clip.scales},
    ):
        part = {channel: np.array(array) for channel, array in values.items()}
        part["translations"] /= clip.unit
        if up != "y":
            roots = list(skeleton.roots)
            turn = rotations.from_matrix(space.conversion_matrix(up, "right").T)
            moved, turned = part["translations"], part["rotations"]
            moved[..., roots, :] = space.from_internal(moved[..., roots, :], up)
            turned[..., roots, :] = rotations.multiply(turn, turned[..., roots, :])
        poses.append(part)
    return poses[0], poses[1]


def _make_joint_paths(skeleton: Skeleton) -> list[str]:
    """Return a unique path for each joint, with names that USD allows."""
    paths: list[str] = []
    for name, parent in zip(skeleton.names, skeleton.parents, strict=True):
        plain = re.sub(r"\W", "_", name, flags=re.ASCII) or "joint"
        plain = f"_{plain}" if plain[0].isdigit() else plain
        path = plain if parent < 0 else f"{paths[parent]}/{plain}"
        number, tried = 2, path
        while tried in paths:
            tried, number = f"{path}_{number}", number + 1
        paths.append(tried)
    return paths


def _fill_skeleton(
    skeleton: UsdSkel.Skeleton, clip: Clip, paths: list[str], rest: dict[str, F64]
) -> None:
    from pxr import Sdf, Vt

    local = _build_matrices(rest)
    world: list[F64] = []
    for matrix, parent in zip(local, clip.skeleton.parents, strict=True):
        world.append(matrix if parent < 0 else matrix @ world[parent])
    skeleton.CreateJointsAttr(paths)
    if [path.rpartition("/")[2] for path in paths] != list(clip.skeleton.names):
        skeleton.CreateJointNamesAttr(list(clip.skeleton.names))
    skeleton.CreateRestTransformsAttr(Vt.Matrix4dArray.FromNumpy(local))
    skeleton.CreateBindTransformsAttr(Vt.Matrix4dArray.FromNumpy(np.array(world)))
    if clip.skeleton.end_site_joints:
        prim, kinds = skeleton.GetPrim(), Sdf.ValueTypeNames
        ends = np.ascontiguousarray(clip.skeleton.end_sites / clip.unit)
        carriers = np.array(clip.skeleton.end_site_joints, np.float64)
        for name, kind, values in (
            ("endSites", kinds.Double3Array, Vt.Vec3dArray.FromNumpy(ends)),
            ("endSiteJoints", kinds.DoubleArray, Vt.DoubleArray.FromNumpy(carriers)),
        ):
            prim.CreateAttribute(f"mocpack:{name}", kind, True, Sdf.VariabilityUniform).Set(values)


def _build_matrices(rest: dict[str, F64]) -> F64:
    """Return USD matrices (J, 4, 4) of translations, rotations and scales."""
    matrices = np.tile(np.eye(4), (len(rest["scales"]), 1, 1))
    turned = rotations.as_matrix(rest["rotations"]) * rest["scales"][:, np.newaxis]
    matrices[:, :3, :3] = np.swapaxes(turned, 1, 2)
    matrices[:, 3, :3] = rest["translations"]
    return matrices


def _fill_animation(
    animation: UsdSkel.Animation, clip: Clip, paths: list[str], pose: dict[str, F64], codes: F64
) -> None:
    from pxr import Vt

    animation.CreateJointsAttr(paths)
    for attribute, kind, array in (
        (
            animation.CreateTranslationsAttr(),
            Vt.Vec3fArray,
            pose["translations"].astype(np.float32),
        ),
        (animation.CreateRotationsAttr(), Vt.QuatfArray, pose["rotations"].astype(np.float32)),
        (animation.CreateScalesAttr(), Vt.Vec3hArray, pose["scales"].astype(np.float16)),
    ):
        still = (array == array[0]).all() and attribute.GetName() != "rotations"
        if still:
            attribute.Set(kind.FromNumpy(array[0]))
            continue
        for code, values in zip(codes.tolist(), array, strict=True):
            attribute.Set(kind.FromNumpy(values), code)
    shapes = {
        name.removeprefix(BLEND_SHAPE_PREFIX): track
        for name, track in clip.tracks.items()
        if name.startswith(BLEND_SHAPE_PREFIX)
        and track.kind == "scalar"
        and len(track) == clip.frame_count
    }
    if shapes:
        animation.CreateBlendShapesAttr(list(shapes))
        weights = np.stack([track.values for track in shapes.values()], 1).astype(np.float32)
        attribute = animation.CreateBlendShapeWeightsAttr()
        for code, values in zip(codes.tolist(), weights, strict=True):
            attribute.Set(Vt.FloatArray.FromNumpy(values), code)
