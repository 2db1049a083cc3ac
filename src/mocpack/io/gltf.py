"""Read animations of glTF 2.0 files (.glb, .gltf, .vrma) as skeletal clips, posed like three.js.

Every node that a skin or an animation of the file uses becomes a joint, with its ancestors, so all
animations of a file share one skeleton. `docs/formats.md` lists what is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mocpack.common.arrays import F64
from mocpack.common.choice import MAX_POSES, find_index
from mocpack.common.json_object import JsonObject, is_list, is_object
from mocpack.common.texts import shorten_text
from mocpack.errors import CorruptionError, FormatError, InvalidClipError, name_errors
from mocpack.io import gltf_file, gltf_keys
from mocpack.io.gltf_file import (
    FIGURE,
    GENERATOR,
    Document,
    get_numbers,
    get_object,
    get_objects,
    get_text,
)
from mocpack.io.gltf_keys import Keys
from mocpack.io.keyed_frames import weight_tracks
from mocpack.io.text import make_unique
from mocpack.model import rotations
from mocpack.model.clip import Clip
from mocpack.model.skeleton import MAX_NAME, Skeleton, default_channels
from mocpack.model.take_data import Track

PATH_WIDTHS = {"translation": 3, "rotation": 4, "scale": 3}
MIN_MOVEMENT_M = 1e-6  # smaller deviations from the rest position are ignored
# Fields of a node that is only the end of a bone.
END_SITE_FIELDS = {"name", "translation", "rotation", "scale", "extras"}
ORIGIN_FIELDS = {"name", "children", "extras"}
# Content other than motion, and its list in the document.
IGNORED_CONTENT = {"material": "materials", "picture": "images", "camera": "cameras"}
ORIGIN_MARK = "origin"  # value of extras.mocpack in nodes that mocpack added
VRM = "VRMC_vrm_animation"


@dataclass(frozen=True)
class Nodes:
    """The tree of nodes with their rest poses."""

    names: list[str]
    parents: list[int]
    order: list[int]  # all nodes, parents first
    translation: F64  # (N, 3)
    rotation: F64  # (N, 4)
    scale: F64  # (N, 3)


def list_clips(data: bytes, read_external: Callable[[str], bytes] | None = None) -> list[str]:
    """Return unique names of the animations in a file."""
    return list_animations(gltf_file.parse(data, read_external))


def read(
    data: bytes,
    *,
    unit: float | None = None,
    clip: str | None = None,
    fps: float | None = None,
    read_external: Callable[[str], bytes] | None = None,
) -> Clip:
    """Read one animation, chosen by name or by index from 0; by default the first.

    `unit` is the length of one file unit in meters, 1 by default. `fps` is a sampling rate; by
    default, frames are chosen so that no key is lost (`gltf_keys.frame_times`).
    """
    document = gltf_file.parse(data, read_external)
    known = list_animations(document)
    if not known:
        raise FormatError("expected an animation, but this glTF has none")
    number = find_index(known, clip, "animation")
    with name_errors(f"animation {known[number]!r}", InvalidClipError):
        return _read(document, number, known[number], 1.0 if unit is None else unit, fps)


def count_ignored(
    data: bytes, read_external: Callable[[str], bytes] | None = None
) -> dict[str, int]:
    """Count the content of a file that clips do not hold."""
    document = gltf_file.parse(data, read_external)
    meshes = document.items("meshes")
    if get_object(document.root, "asset").get("generator") == GENERATOR:
        meshes = [mesh for mesh in meshes if mesh.get("name") != FIGURE]
    return {
        "mesh": len(meshes),
        "blend shape": sum(map(count_morph_targets, meshes)),
        **{word: len(document.items(name)) for word, name in IGNORED_CONTENT.items()},
    }


def count_morph_targets(mesh: JsonObject) -> int:
    """Return the morph targets of a mesh, which all its primitives have."""
    parts = mesh.get("primitives")
    first = parts[0] if is_list(parts) and parts else None
    targets = first.get("targets") if is_object(first) else None
    return len(targets) if is_list(targets) else 0


def find_joint_nodes(document: Document) -> list[int]:
    """Return the node of each joint."""
    return _find_joints(document, parse_nodes(document), find_expressions(document))


def parse_node_pose(node: JsonObject, what: str) -> tuple[F64, F64, F64]:
    """Return a node's translation, rotation and scale."""
    if "matrix" not in node:
        return (
            get_numbers(node, "translation", what, (0.0,) * 3),
            get_numbers(node, "rotation", what, (0.0, 0.0, 0.0, 1.0)),
            get_numbers(node, "scale", what, (1.0,) * 3),
        )
    matrix = get_numbers(node, "matrix", what, tuple(np.eye(4).ravel())).reshape(4, 4).T
    base, place = matrix[:3, :3], matrix[:3, 3]
    with np.errstate(over="ignore", invalid="ignore"):
        turn = np.linalg.det(base)
    if turn == 0 or not np.isfinite(turn):
        return place, rotations.IDENTITY, np.ones(3)  # as in three.js
    scale = np.linalg.norm(base, axis=0)
    scale[0] = np.copysign(scale[0], turn)
    return place, rotations.from_matrix(base / scale), scale


def list_animations(document: Document) -> list[str]:
    """Return unique names of the animations of an open file."""
    given = [get_text(animation, "name") for animation in document.items("animations")]
    return list(make_unique(name or f"animation {n}" for n, name in enumerate(given)))


def _read(document: Document, number: int, name: str, unit: float, fps: float | None) -> Clip:
    every = parse_channels(document, number)
    if not every:
        raise FormatError(f"expected an animation of nodes, but {name!r} moves none")
    times = gltf_keys.frame_times(list(every.values()), fps)
    return sample_animation(document, every, times, name, unit)


def sample_animation(
    document: Document,
    every: dict[tuple[int, str], Keys],
    times: F64,
    name: str,
    unit: float,
) -> Clip:
    """Return the poses of an animation's channels at these times (T,).

    `unit` is the length of one file unit in meters.
    """
    nodes = parse_nodes(document)
    expressions = find_expressions(document)
    joint_nodes = _find_joints(document, nodes, expressions)
    if len(times) * len(joint_nodes) > MAX_POSES:
        raise CorruptionError(
            f"animation {name!r} has {len(times)} frames of {len(joint_nodes)} joints, "
            "more than the limit"
        )
    column = {node: j for j, node in enumerate(joint_nodes)}
    pose = {p: np.tile(getattr(nodes, p)[joint_nodes], (len(times), 1, 1)) for p in PATH_WIDTHS}
    for (node, path), keys in every.items():
        if path in PATH_WIDTHS and node in column:
            pose[path][:, column[node]] = keys.at(times)
    moving = _find_moving_joints(pose, nodes, joint_nodes, unit)
    return Clip.build(
        _build_skeleton(document, nodes, joint_nodes, moving, unit),
        rotations.normalize(pose["rotation"]),
        pose["translation"][:, moving] * unit,
        times=times,
        frame_time=_choose_frame_time(times),
        translated_joints=moving,
        scales=pose["scale"] if (pose["scale"] != 1).any() else None,
        unit=unit,
        tracks=_build_tracks(document, nodes, every, expressions, times),
        metadata=_build_metadata(document, nodes, name),
        interpolated=True,
    )


def _choose_frame_time(times: F64) -> float:
    if len(times) == 1:
        return 1 / gltf_keys.MIN_GRID_FPS
    step = float(times[-1] - times[0]) / (len(times) - 1)
    whole = 1 / max(1, round(1 / step))
    return whole if abs(whole - step) * len(times) < 1e-9 * step else step


def parse_nodes(document: Document) -> Nodes:
    """Return the tree of a file's nodes."""
    nodes = document.items("nodes")
    if not nodes:
        raise FormatError("expected an animation, but this glTF has no nodes")
    parents = [-1] * len(nodes)
    children: list[list[int]] = []
    for n, node in enumerate(nodes):
        children.append(_get_nodes(document, node, "children", f"nodes[{n}].children"))
        for child in children[n]:
            if parents[child] >= 0:
                raise CorruptionError(f"nodes[{child}] has two parents")
            parents[child] = n
    order: list[int] = []
    waiting = [n for n in reversed(range(len(nodes))) if parents[n] < 0]
    while waiting:
        order.append(waiting.pop())
        waiting.extend(reversed(children[order[-1]]))
    if len(order) < len(nodes):
        lost = min(set(range(len(nodes))) - set(order))
        raise CorruptionError(f"nodes[{lost}] is its own ancestor")
    poses = [parse_node_pose(node, f"nodes[{n}]") for n, node in enumerate(nodes)]
    return Nodes(
        [shorten_text(get_text(node, "name"), MAX_NAME) for node in nodes],
        parents,
        order,
        np.array([p[0] for p in poses]),
        rotations.normalize(np.array([p[1] for p in poses])),
        np.array([p[2] for p in poses]),
    )


def _find_joints(document: Document, nodes: Nodes, expressions: dict[int, str]) -> list[int]:
    """Return the nodes that become joints, parents first."""
    wanted: set[int] = set()
    for skin in document.items("skins"):
        wanted.update(_get_nodes(document, skin, "joints", "skins.joints"))
    for number in range(len(document.items("animations"))):
        for node, path, _ in _iterate_channels(document, number):
            if path in PATH_WIDTHS and node not in expressions:
                wanted.add(node)
    wanted.update(_find_human_bones(document).values())
    origins = {n for n, node in enumerate(document.items("nodes")) if _is_origin(node)}
    for node in [*wanted]:
        while (node := nodes.parents[node]) >= 0 and node not in wanted and node not in origins:
            wanted.add(node)
    if not wanted:
        raise FormatError("expected an animation of joints, but no node of this glTF moves")
    return [n for n in nodes.order if n in wanted]


def _is_origin(node: JsonObject) -> bool:
    """Return whether mocpack added a node as the common parent of several roots."""
    extras = node.get("extras")
    return (
        is_object(extras) and extras.get("mocpack") == ORIGIN_MARK and not set(node) - ORIGIN_FIELDS
    )


def _get_nodes(document: Document, holder: JsonObject, name: str, what: str) -> list[int]:
    """Return a field with a list of nodes, empty if it is missing."""
    numbers = holder.get(name, [])
    if not is_list(numbers):
        raise CorruptionError(f"{what} must be a list")
    return [document.number("nodes", number) for number in numbers]


def _iterate_channels(document: Document, number: int) -> Iterator[tuple[int, str, JsonObject]]:
    """Yield (node, path, channel) of the channels of an animation that move a node.

    Channels of extensions, such as one that animates a camera, have no node.
    """
    animation = document.items("animations")[number]
    for channel in get_objects(animation, "channels", f"animations[{number}]."):
        target = channel.get("target")
        if not is_object(target):
            raise CorruptionError(f"animations[{number}] has a channel without a target")
        path = get_text(target, "path")
        if target.get("node") is not None and path in (*PATH_WIDTHS, "weights"):
            yield document.number("nodes", target["node"]), path, channel


def parse_channels(document: Document, number: int) -> dict[tuple[int, str], Keys]:
    """Return the keys of each (node, path) that an animation moves."""
    animation = document.items("animations")[number]
    samplers = get_objects(animation, "samplers", f"animations[{number}].")
    inputs: dict[int, F64] = {}
    every: dict[tuple[int, str], Keys] = {}
    for node, path, channel in _iterate_channels(document, number):
        which = channel.get("sampler")
        if type(which) is not int or not 0 <= which < len(samplers):
            raise CorruptionError(
                f"animations[{number}] refers to sampler {which!r:.40}, which does not exist"
            )
        sampler, what = samplers[which], f"animations[{number}].samplers[{which}]"
        at = document.number("accessors", sampler.get("input"))
        if at not in inputs:
            inputs[at] = document.array(at, width=1)[:, 0]
        values = document.array(sampler.get("output"), width=PATH_WIDTHS.get(path, 1))
        kind = sampler.get("interpolation", "LINEAR")
        every[node, path] = Keys.build(inputs[at], values, kind, path, what)
    return every


def _find_moving_joints(
    pose: dict[str, F64], nodes: Nodes, joint_nodes: list[int], unit: float
) -> list[int]:
    """Return the joints that move away from their rest position by more than rounding."""
    size = {-1: 1.0}
    for n in nodes.order:
        size[n] = min(size[nodes.parents[n]] * float(np.abs(nodes.scale[n]).max()), 1e30)
    deviations = np.abs(pose["translation"] - nodes.translation[joint_nodes]).max((0, 2)) * unit
    return [
        j
        for j, n in enumerate(joint_nodes)
        if deviations[j] * size[nodes.parents[n]] > MIN_MOVEMENT_M
    ]


def _build_skeleton(
    document: Document, nodes: Nodes, joint_nodes: list[int], moving: Sequence[int], unit: float
) -> Skeleton:
    column = {node: j for j, node in enumerate(joint_nodes)}
    ends = sorted(
        (column[nodes.parents[n]], n)
        for n, node in enumerate(document.items("nodes"))
        if n not in column and nodes.parents[n] in column and not set(node) - END_SITE_FIELDS
    )
    return Skeleton(
        tuple(nodes.names[n] for n in joint_nodes),
        tuple(column.get(nodes.parents[n], -1) for n in joint_nodes),
        nodes.translation[joint_nodes] * unit,
        nodes.translation[[n for _, n in ends]].reshape(-1, 3) * unit,
        tuple(j for j, _ in ends),
        channels=default_channels(len(joint_nodes), moving),
        rest=nodes.rotation[joint_nodes],
    )


def _build_tracks(
    document: Document,
    nodes: Nodes,
    every: dict[tuple[int, str], Keys],
    expressions: dict[int, str],
    times: F64,
) -> dict[str, Track]:
    """Return morph weights by node and target, and the expressions of a VRM animation."""
    series: list[tuple[str, F64]] = []
    for (node, path), keys in every.items():
        if path == "translation" and node in expressions:
            series.append((f"expression.{expressions[node]}", keys.at(times)[:, 0]))
        elif path == "weights":
            values = keys.at(times)
            titles = weight_names(document, nodes, node, values.shape[1])
            series += [(title, values[:, k]) for k, title in enumerate(titles)]
    unique = make_unique(name for name, _ in series)
    weights = {title: values for title, (_, values) in zip(unique, series, strict=True)}
    return weight_tracks(weights, times, _choose_frame_time(times))


def weight_names(document: Document, nodes: Nodes, node: int, count: int) -> list[str]:
    """Return the track names of a node's morph weights."""
    mesh = document.items("nodes")[node].get("mesh")
    extras = None if mesh is None else document.item("meshes", mesh).get("extras")
    given = extras.get("targetNames") if is_object(extras) else None
    known = [str(n)[:100] for n in given] if is_list(given) else []
    clean = [n.encode("utf-8", "replace").decode() for n in known[:count]]
    titles = clean + [f"weight {k}" for k in range(len(clean), count)]
    owner = nodes.names[node] or f"node {node}"
    return [f"{owner}.{title}" for title in titles]


def _find_human_bones(document: Document) -> dict[str, int]:
    """Return the node of each human bone of a VRM animation."""
    bones = get_object(document.root, "extensions", VRM, "humanoid", "humanBones")
    return {bone: document.number("nodes", get_object(bones, bone).get("node")) for bone in bones}


def find_expressions(document: Document) -> dict[int, str]:
    """Return the expression of each node of a VRM animation; the node's x is the weight."""
    expressions: dict[int, str] = {}
    for group in ("preset", "custom"):
        named = get_object(document.root, "extensions", VRM, "expressions", group)
        for expression in named:
            node = document.number("nodes", get_object(named, expression).get("node"))
            expressions[node] = expression[:100].encode("utf-8", "replace").decode()
    return expressions


def _build_metadata(document: Document, nodes: Nodes, name: str) -> JsonObject:
    asset = get_object(document.root, "asset")
    stated = {key: get_text(asset, key) for key in ("copyright", "generator")}
    bones = {bone: nodes.names[node] for bone, node in _find_human_bones(document).items()}
    return {
        "source": "gltf",
        "animation": name,
        **{key: value for key, value in stated.items() if value},
        **({"vrm_humanoid": bones} if bones else {}),
    }
