"""Write skeletal clips as glTF 2.0: a node per joint and one animation with float32 keys.

glTF shares mocpack's conventions: meters, seconds, y up, (x, y, z, w). Constant channels become the
node's pose and have no keys. End sites are nodes without motion. Bones are drawn as thin double
pyramids, so that viewers show something.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mocpack.common.arrays import F64
from mocpack.common.json_object import JsonObject
from mocpack.io import gltf_build
from mocpack.io.bvh_fit import list_children
from mocpack.io.gltf_build import Animation, Buffer
from mocpack.io.gltf_file import FIGURE, GENERATOR, MAGIC
from mocpack.model.clip import AnyClip, Clip
from mocpack.model.rotations import IDENTITY
from mocpack.model.skeleton import Skeleton

END_SITE_MARK, ORIGIN_MARK = "end site", "origin"  # values of extras.mocpack in such nodes
BONE_THICKNESS = 0.08  # relative to the bone length
DOT_SIZE_M = 0.01  # half the size of a joint without a bone, such as a marker
# Triangles of a double pyramid: two tips (0, 1) and a square (2 to 5) at a quarter of its length.
PYRAMID = np.array(
    [[0, 2, 3], [0, 3, 4], [0, 4, 5], [0, 5, 2], [1, 3, 2], [1, 4, 3], [1, 5, 4], [1, 2, 5]]
)


def probe(data: bytes) -> bool:
    """Return whether `data` is binary glTF."""
    return data.startswith(MAGIC)


def write(clip: Clip, *, figure: bool = True) -> bytes:
    """Return the clip as a .glb file, rounded to float32; without a mesh if `figure` is False."""
    return gltf_build.pack_binary(*build(clip, figure=figure))


def write_text(clip: Clip) -> bytes:
    """Return the clip as a .gltf file with its buffer inside."""
    return gltf_build.pack_text(*build(clip))


def animation_name(clip: AnyClip) -> str:
    """Return the name of the animation that a clip becomes."""
    return str(clip.metadata.get("animation") or "motion")


def build(clip: Clip, *, figure: bool = True) -> tuple[JsonObject, bytes]:
    """Return the glTF document of a clip and its buffer."""
    buffer = Buffer()
    nodes = build_nodes(clip.skeleton)
    animation = build_animation(clip, buffer, nodes, pose_still_joints=True)
    roots = list(clip.skeleton.roots)
    top = 0
    if len(roots) > 1:  # the joints of a skin need a common root
        top = len(nodes)
        nodes.append({"name": "origin", "children": roots, "extras": {"mocpack": ORIGIN_MARK}})
    shown = [top]
    document: JsonObject = {"asset": {"version": "2.0", "generator": GENERATOR}, "scene": 0}
    if figure:
        shown.append(len(nodes))
        nodes.append({"name": FIGURE, "mesh": 0, "skin": 0})
        document["meshes"] = [
            {"name": FIGURE, "primitives": [_build_figure(clip.skeleton, buffer)]}
        ]
    document |= {
        "scenes": [{"nodes": shown}],
        "nodes": nodes,
        "skins": [{"joints": list(range(len(clip.skeleton))), "skeleton": top}],
        "animations": [animation.build(animation_name(clip))],
        "accessors": buffer.accessors,
        "bufferViews": buffer.views,
    }
    return document, bytes(buffer.data)


def key_times(clip: Clip) -> F64:
    """Return the key times (T,) of a clip's frames, shifted so that none is negative."""
    return np.asarray(clip.times - min(0.0, clip.times[0]))


def iterate_channels(clip: Clip) -> Iterator[tuple[str, int, F64]]:
    """Yield (path, joint, keys (T, n)) of every channel that may move."""
    for j in range(len(clip.skeleton)):
        yield "rotation", j, clip.rotations[:, j]
    for m, j in enumerate(clip.translated_joints):
        yield "translation", j, clip.translations[:, m]
    if clip.take_data.scales is not None:
        for s, j in enumerate(clip.header.scaled_joints):
            yield "scale", j, clip.take_data.scales[:, s]


def build_animation(
    clip: Clip, buffer: Buffer, nodes: list[JsonObject], *, pose_still_joints: bool = False
) -> Animation:
    """Return the animation of a clip's joints, which are the first of the nodes.

    Channels that differ from the node's pose get keys. With `pose_still_joints`, constant channels
    change the node's pose instead, unless the skeleton has rest rotations of its own.
    """
    skeleton, times = clip.skeleton, buffer.add(key_times(clip), bounds=True)
    rest = {"translation": skeleton.offsets, "rotation": skeleton.rest, "scale": skeleton.scales}
    animation = Animation()
    for path, joint, keys in iterate_channels(clip):
        still = not np.ptp(keys, axis=0).any()
        if still and pose_still_joints and (path != "rotation" or not skeleton.has_rest):
            nodes[joint][path] = keys[0].tolist()
        elif not (still and np.allclose(keys[0], rest[path][joint])):
            animation.add(joint, path, times, buffer.add(keys))
            animation.samplers[-1]["interpolation"] = "LINEAR"
    if not animation.samplers:  # keeps the duration of a clip without motion
        animation.add(0, "rotation", times, buffer.add(clip.rotations[:, 0]))
    return animation


def build_nodes(skeleton: Skeleton) -> list[JsonObject]:
    """Return the joints' nodes in order, followed by those of the end sites."""
    children = list_children(skeleton)
    ends: list[JsonObject] = []
    for joint, place in zip(skeleton.end_site_joints, skeleton.end_sites, strict=True):
        children[joint].append(len(skeleton) + len(ends))
        name = f"{skeleton.names[joint]}_end"
        ends.append(
            {"name": name, "translation": place.tolist(), "extras": {"mocpack": END_SITE_MARK}}
        )
    nodes = []
    for j, below in enumerate(children):
        node: JsonObject = {"translation": skeleton.offsets[j].tolist()}
        if skeleton.names[j]:
            node["name"] = skeleton.names[j]
        if (skeleton.rest[j] != IDENTITY).any():
            node["rotation"] = skeleton.rest[j].tolist()
        if (skeleton.scales[j] != 1).any():
            node["scale"] = skeleton.scales[j].tolist()
        nodes.append(node | ({"children": below} if below else {}))
    return [*nodes, *ends]


def _build_figure(skeleton: Skeleton, buffer: Buffer) -> JsonObject:
    """Return the mesh of all bones, each in the space of its joint, so no bind pose is needed."""
    owners, corners = _place_bones(skeleton)
    faces = PYRAMID + 6 * np.arange(len(owners))[:, np.newaxis, np.newaxis]
    joints = np.zeros((len(owners), 6, 4))
    joints[..., 0] = np.array(owners)[:, np.newaxis]
    weights = np.zeros((6 * len(owners), 4))
    weights[:, 0] = 255
    vertices = gltf_build.VERTICES
    return {
        "attributes": {
            "POSITION": buffer.add(corners.reshape(-1, 3), bounds=True, target=vertices),
            "JOINTS_0": buffer.add(joints.reshape(-1, 4), gltf_build.SHORT, target=vertices),
            "WEIGHTS_0": buffer.add(weights, gltf_build.BYTE, target=vertices, normalized=True),
        },
        "indices": buffer.add(faces.ravel(), gltf_build.INDEX, target=gltf_build.INDICES),
    }


def _place_bones(skeleton: Skeleton) -> tuple[list[int], F64]:
    """Return the joint of each drawn bone, and its corners (B, 6, 3) in that joint's space."""
    bones = [(p, skeleton.offsets[j]) for j, p in enumerate(skeleton.parents) if p >= 0]
    bones += zip(skeleton.end_site_joints, skeleton.end_sites, strict=True)
    bones = [(j, bone) for j, bone in bones if np.linalg.norm(bone) > 0]
    drawn = {j for j, _ in bones}
    dot = np.array([0.0, 2 * DOT_SIZE_M, 0.0])
    if len(drawn) == 0 or skeleton.is_points:
        bones += [(j, dot) for j in range(len(skeleton)) if j not in drawn]
    return [j for j, _ in bones], np.array([_build_pyramid(bone) for _, bone in bones])


def _build_pyramid(bone: F64) -> F64:
    """Return the corners (6, 3) of a bone that starts at the origin."""
    length = np.linalg.norm(bone)
    least = np.eye(3)[np.abs(bone).argmin()]
    across = np.cross(bone, least)
    across *= BONE_THICKNESS * length / np.linalg.norm(across)
    beside = np.cross(bone, across) / length
    middle = bone / 4
    return np.array(
        [np.zeros(3), bone, middle + across, middle + beside, middle - across, middle - beside]
    )
