"""Read USD files with usd-core in a child process (`child_main.py`).

If files refer to others that were not sent, the response lists them as `others`: paths relative to
the main file, or absolute. Files are never opened at their original location, so the parent decides
what may be read. Blocks are [name, type, numbers].
"""

from __future__ import annotations

import os
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pxr import Sdf, Usd, UsdSkel

    from mocpack.common.json_object import JsonObject
    from mocpack.io.child_main import Request

CHANNELS = {"translations": ("f4", 3), "rotations": ("f4", 4), "scales": ("f2", 3)}
MAX_SAMPLES = 1 << 22
IGNORED = {"mesh": "Mesh", "blend shape": "BlendShape", "material": "Material", "camera": "Camera"}
# The main file is stored this many folders deep, so that paths with as many ".." stay inside.
MAX_PARENT_FOLDERS = 32
MAIN_STEM = "mocpack-main"  # name of the main file without extension
ABSOLUTE_FOLDER = "absolute"  # for files with absolute paths


class UsdFile(NamedTuple):
    """A stage, its animations that move and those that do not, and its layers."""

    stage: Usd.Stage
    moving: list[Usd.Prim]
    still: list[Usd.Prim]
    layers: list[Sdf.Layer]  # those without a reference would be read again


def open_file(data: bytes, request: Request) -> UsdFile | JsonObject:
    """Return the stage of a file with its animations, or the names of missing files."""
    os.environ["PXR_WORK_THREAD_LIMIT"] = "1"
    from pxr import Usd, UsdSkel

    folder = Path(request["folder"])
    path = _write_files(data, folder, request["read_external"])
    request["folder"] = str(path.parent)  # removed from error messages
    others, layers = _find_missing_files(path, folder)
    if others:
        return {"others": others}
    stage = Usd.Stage.Open(str(path))
    prims = [p for p in stage.Traverse(Usd.TraverseInstanceProxies()) if p.IsA(UsdSkel.Animation)]
    moving = [prim for prim in prims if _list_times(UsdSkel.Animation(prim))]
    return UsdFile(stage, moving, [prim for prim in prims if prim not in moving], layers)


def names(opened: UsdFile) -> tuple[list[str], list[str]]:
    """Return the names of animations that change, and of those that do not."""
    return [prim.GetName() for prim in opened.moving], [prim.GetName() for prim in opened.still]


def count_ignored(opened: UsdFile) -> dict[str, int]:
    """Count the content of the file that clips do not hold."""
    from pxr import Usd

    prims = opened.stage.Traverse(Usd.TraverseInstanceProxies())
    counts = Counter(prim.GetTypeName() for prim in prims)
    return {word: counts[name] for word, name in IGNORED.items()}


def poses(opened: UsdFile, number: int, request: Request, blocks: list[bytes]) -> JsonObject:
    """Return a skeleton and its animation; append their numbers to the blocks."""
    animation = _sample_animation(opened.stage, opened.moving[number], request, blocks)
    return _read_settings(opened.stage) | animation


def _choose_extension(data: bytes) -> str:
    if data.startswith(b"PK"):
        return ".usdz"
    return ".usdc" if data.startswith(b"PXR-USDC") else ".usda"


def _write_files(data: bytes, folder: Path, read_external: list[tuple[str, int]]) -> Path:
    """Write the received files to the folder; return the path of the main file."""
    at = len(data) - sum(size for _, size in read_external)
    path = _copy_path(f"{MAIN_STEM}{_choose_extension(data)}", folder)
    path.parent.mkdir(parents=True)
    path.write_bytes(data[:at])
    for name, size in read_external:
        other = _copy_path(name, folder)
        other.parent.mkdir(parents=True, exist_ok=True)
        other.write_bytes(data[at : at + size])
        at += size
    return path


def _copy_path(name: str, folder: Path) -> Path:
    """Return the path of our copy of the file with this name."""
    if Path(name).is_absolute():
        path = folder / ABSOLUTE_FOLDER / Path(name).relative_to(Path(name).anchor)
    else:
        path = folder.joinpath(*["_"] * MAX_PARENT_FOLDERS, name)
    path = Path(os.path.normpath(path))
    if not path.is_relative_to(folder):
        raise ValueError(f"path {name[:80]!r} leads more than {MAX_PARENT_FOLDERS} folders up")
    return path


def _find_missing_files(path: Path, folder: Path) -> tuple[list[str], list[Sdf.Layer]]:
    """Return the referenced files that are missing in the folder, and the open layers."""
    from pxr import Sdf

    first = Sdf.Layer.FindOrOpen(str(path))
    if first is None:
        raise ValueError("not a valid USD file")
    missing: set[str] = set()
    waiting, seen, layers = [first], {first.identifier}, []
    while waiting:
        layer = waiting.pop()
        layers.append(layer)
        _drop_value_clips(layer)
        for asset in layer.GetCompositionAssetDependencies():
            target = _resolve_reference(layer, asset, folder)
            if target in seen:
                continue
            seen.add(target)
            is_inside = target.startswith((f"{folder}{os.sep}", f"{path}["))
            opened = Sdf.Layer.FindOrOpen(target) if is_inside else None
            if opened is not None:
                waiting.append(opened)
            else:
                missing.add(os.path.relpath(target, path.parent) if is_inside else target)
    return sorted(missing), layers


def _resolve_reference(layer: Sdf.Layer, asset: str, folder: Path) -> str:
    """Return the absolute path that a layer refers to, redirected to our copy if there is one."""
    target = str(layer.ComputeAbsolutePath(asset))
    if not Path(target).is_absolute():  # USD searches next to the layer first
        target = os.path.normpath(Path(layer.realPath).parent / asset)
    if target.startswith(f"{folder}{os.sep}"):
        return target
    if not Path(asset).is_absolute():
        raise ValueError(f"path {asset[:80]!r} leads more than {MAX_PARENT_FOLDERS} folders up")
    copy = _copy_path(target, folder)
    if not copy.exists():
        return target
    if not layer.UpdateCompositionAssetDependency(asset, str(copy)):
        raise ValueError(f"cannot redirect the absolute path {asset[:80]!r}")
    return str(copy)


def _drop_value_clips(layer: Sdf.Layer) -> None:
    """Remove references to value clips, which USD would open by itself."""
    from pxr import Sdf

    paths: list[Sdf.Path] = []
    layer.Traverse(Sdf.Path.absoluteRootPath, paths.append)
    for path in paths:
        if path.IsPrimPath() or path.IsPrimVariantSelectionPath():
            prim = layer.GetObjectAtPath(path)
            for field in (name for name in prim.ListInfoKeys() if name.startswith("clip")):
                prim.ClearInfo(field)


def _list_times(animation: UsdSkel.Animation) -> list[float]:
    """Return the time codes of an animation's samples, or none if it is constant."""
    times: set[float] = set()
    for attribute in _list_attributes(animation).values():
        if attribute.ValueMightBeTimeVarying():
            times.update(attribute.GetTimeSamples())
    return sorted(times)


def _list_attributes(animation: UsdSkel.Animation) -> dict[str, Usd.Attribute]:
    return {
        "translations": animation.GetTranslationsAttr(),
        "rotations": animation.GetRotationsAttr(),
        "scales": animation.GetScalesAttr(),
        "weights": animation.GetBlendShapeWeightsAttr(),
    }


def _read_settings(stage: Usd.Stage) -> JsonObject:
    from pxr import UsdGeom

    return {
        "unit": UsdGeom.GetStageMetersPerUnit(stage),
        "up": str(UsdGeom.GetStageUpAxis(stage)).lower(),
        "codes_per_second": stage.GetTimeCodesPerSecond(),
        "frame_rate": stage.GetFramesPerSecond(),
    }


def _sample_animation(
    stage: Usd.Stage, prim: Usd.Prim, request: Request, blocks: list[bytes]
) -> JsonObject:
    from pxr import UsdSkel

    animation = UsdSkel.Animation(prim)
    joints = _list_texts(animation.GetJointsAttr())
    skeleton = _find_skeleton(stage, prim, joints)
    times = _list_times(animation)
    carried = None if skeleton is None else _list_ancestor_times(skeleton)
    if carried:
        times = sorted({*times, *carried})
    times = _choose_sample_times(times, request["fps"], stage.GetTimeCodesPerSecond())
    times = times if len(times) > MAX_SAMPLES else _subdivide(times, request["divided"])
    every = joints if skeleton is None else _list_texts(skeleton.GetJointsAttr())
    if len(times) > MAX_SAMPLES or len(times) * len(every) > request["max_poses"]:
        return {
            "error": f"{len(times)} frames of {len(every)} joints exceed the limit; lower --fps"
        }
    placed: list[tuple[str, str, int]] = []
    if skeleton is not None:
        for name, matrices in _pack_rest_pose(skeleton, len(every)).items():
            placed.append((name, "f8", len(matrices) // 8))
            blocks.append(matrices)
        worlds = [] if carried is None else _sample_world_matrices(skeleton, times)
        if worlds:
            placed.append(("world", "f8", 16 * len(worlds)))
            blocks += worlds
    shapes = _list_texts(animation.GetBlendShapesAttr())
    counts = {"weights": ("f4", len(shapes))}
    counts |= {name: (kind, width * len(joints)) for name, (kind, width) in CHANNELS.items()}
    for name, attribute in _list_attributes(animation).items():
        kind, width = counts[name]
        values = _sample_attribute(attribute, times, width, int(kind[1]))
        if values:
            placed.append((name, kind, width * len(values)))
            blocks += values
    return {
        "blocks": placed,
        "times": times,
        "has_moving_ancestors": bool(carried),
        "moved": joints,
        "joints": every,
        "joint_names": [] if skeleton is None else _list_texts(skeleton.GetJointNamesAttr()),
        "skeleton": "" if skeleton is None else skeleton.GetPrim().GetName(),
        "shapes": shapes,
    }


def _find_skeleton(stage: Usd.Stage, prim: Usd.Prim, joints: list[str]) -> UsdSkel.Skeleton | None:
    """Return the skeleton bound to an animation, or else one that has its joints."""
    from pxr import Usd, UsdSkel

    fitting = None
    for other in stage.Traverse(Usd.TraverseInstanceProxies()):
        if not other.IsA(UsdSkel.Skeleton):
            continue
        if UsdSkel.BindingAPI(other).GetInheritedAnimationSource() == prim:
            return UsdSkel.Skeleton(other)
        skeleton = UsdSkel.Skeleton(other)
        if fitting is None and set(joints) <= set(_list_texts(skeleton.GetJointsAttr())):
            fitting = skeleton
    return fitting


def _list_texts(attribute: Usd.Attribute) -> list[str]:
    return [str(text) for text in attribute.Get() or []]


def _pack_rest_pose(skeleton: UsdSkel.Skeleton, joints: int) -> dict[str, bytes]:
    """Return the rest matrices of joints, and the bone ends that mocpack wrote."""
    arrays = {}
    rest = skeleton.GetRestTransformsAttr().Get() or skeleton.GetBindTransformsAttr().Get()
    if rest is not None:
        name = "rest" if skeleton.GetRestTransformsAttr().Get() else "bind"
        if len(rest) != joints:
            raise ValueError(f"{joints} joints need as many {name} transforms, got {len(rest)}")
        arrays[name] = memoryview(rest).tobytes()
    for name in ("endSites", "endSiteJoints"):
        attribute = skeleton.GetPrim().GetAttribute(f"mocpack:{name}")
        values = attribute.Get() if attribute else None
        if values is not None and str(attribute.GetTypeName()) in ("double3[]", "double[]"):
            arrays[name] = memoryview(values).tobytes()
    return arrays


def _list_ancestor_times(skeleton: UsdSkel.Skeleton) -> list[float] | None:
    """Return the time samples above a skeleton, or None if nothing transforms it."""
    from pxr import Gf, UsdGeom

    times: list[float] = []
    carried = False
    prim = skeleton.GetPrim()
    while prim and not prim.IsPseudoRoot():
        place = UsdGeom.Xformable(prim)
        if place:
            times += place.GetTimeSamples()
            carried |= bool(times) or place.GetLocalTransformation() != Gf.Matrix4d(1)
        prim = prim.GetParent()
    return times if carried else None


def _sample_world_matrices(skeleton: UsdSkel.Skeleton, times: list[float]) -> list[bytes]:
    """Return the matrix from skeleton to world at each time."""
    from pxr import UsdGeom

    caches = (UsdGeom.XformCache(time) for time in times)
    matrices = (cache.GetLocalToWorldTransform(skeleton.GetPrim()) for cache in caches)
    return [memoryview(matrix).tobytes() for matrix in matrices]


def _choose_sample_times(times: list[float], fps: float | None, codes: float) -> list[float]:
    if fps is None:
        return times
    step = codes / fps
    count = (times[-1] - times[0]) / step
    if not 0 <= count < MAX_SAMPLES:
        return [0.0] * (MAX_SAMPLES + 1)  # the caller reports the error
    return [times[0] + k * step for k in range(int(count + 1e-3) + 1)]


def _subdivide(times: list[float], parts: int) -> list[float]:
    """Return the times with every gap divided into `parts`."""
    if parts == 1:
        return times
    steps = [k / parts for k in range(parts)]
    return [a + (b - a) * step for a, b in pairwise(times) for step in steps] + times[-1:]


def _sample_attribute(
    attribute: Usd.Attribute, times: list[float], width: int, size: int
) -> list[bytes]:
    """Return the values of an attribute: per time, once if constant, or none."""
    if not attribute.HasAuthoredValue() or not width:
        return []
    samples: list[bytes] = []
    for time in times if attribute.ValueMightBeTimeVarying() else times[:1]:
        values = attribute.Get(time)
        samples.append(b"" if values is None else memoryview(values).tobytes())
        if len(samples[-1]) != width * size:
            raise ValueError(
                f"{attribute.GetName()} must have {width} numbers for its joints or shapes, got "
                f"{len(samples[-1]) // size} at time {time:g}"
            )
    return samples
