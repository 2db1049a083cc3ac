"""Read the meshes of glTF 2.0 files, bound to the joints of clips that `gltf` reads.

A skinned mesh follows the joints of its skin. A mesh without a skin follows the joint above its
node. Materials and morph targets are ignored: the mesh is for viewing a motion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from mocpack.common.arrays import F64, I64
from mocpack.common.json_object import Json, JsonObject, is_list, is_object
from mocpack.errors import CorruptionError, FormatError
from mocpack.io import gltf, gltf_file
from mocpack.io.gltf_file import Document
from mocpack.model import rotations
from mocpack.model.clip import Clip

TRIANGLES, STRIP, FAN = 4, 5, 6  # primitive modes with a surface
MAX_INFLUENCES = 4  # joints per vertex
MAX_VERTICES, MAX_BINDS = 1 << 20, 1 << 15
DRACO = "KHR_draco_mesh_compression"


@dataclass(frozen=True)
class Skin:
    """A surface and its binding to the joints of a clip.

    A posed vertex is the sum over k of ``weights[k]`` (R (B v) + p). B is the matrix of
    ``binds[k]``; R and p are rotation and position of its joint in the world.
    """

    vertices: F64  # (V, 3), in the mesh's own space
    triangles: I64  # (F, 3)
    binds: I64  # (V, 4)
    weights: F64  # (V, 4)
    joints: I64  # (B,), the clip's joint of each bind
    matrices: F64  # (B, 3, 4), from the mesh's space to the joint's, in meters


def read_skin(
    data: bytes, clip: Clip, read_external: Callable[[str], bytes] | None = None
) -> Skin | None:
    """Return the meshes of a file that move with a clip of it, or None if there are none.

    Scales are those of the clip's first frame; later changes are ignored.
    """
    document = gltf_file.parse(data, read_external)
    nodes = gltf.find_joint_nodes(document)
    if len(nodes) != len(clip.skeleton):
        raise CorruptionError(
            f"the file has {len(nodes)} joints, but the clip has {len(clip.skeleton)}"
        )
    column = {node: j for j, node in enumerate(nodes)}
    parts = [part for part in _iterate_parts(document, column) if len(part.triangles)]
    return _merge_parts(parts, _compute_stretch_matrices(clip), clip.unit) if parts else None


def _merge_parts(parts: list[Skin], stretch: F64, unit: float) -> Skin:
    firsts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    slots = np.cumsum([0, *(len(part.joints) for part in parts)])
    rows = np.concatenate([np.c_[p.joints, p.matrices.reshape(-1, 12)] for p in parts])
    rows, same = np.unique(rows, axis=0, return_inverse=True)  # parts of one mesh share rows
    if firsts[-1] > MAX_VERTICES or len(rows) > MAX_BINDS:
        raise FormatError(
            f"meshes have {firsts[-1]} vertices and {len(rows)} binds, more than can be shown "
            f"({MAX_VERTICES} and {MAX_BINDS})"
        )
    joints = rows[:, 0].astype(np.int64)
    return Skin(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([p.triangles + first for p, first in zip(parts, firsts, strict=False)]),
        np.concatenate([same[p.binds + slot] for p, slot in zip(parts, slots, strict=False)]),
        np.concatenate([part.weights for part in parts]),
        joints,
        unit * (stretch[joints] @ rows[:, 1:].reshape(-1, 3, 4)),
    )


def _compute_stretch_matrices(clip: Clip) -> F64:
    """Return the joint matrices (J, 3, 3) of the first frame without their rotation."""
    first = clip[0]
    turns = rotations.as_matrix(first.world()[1][0])
    return np.asarray(np.swapaxes(turns, -1, -2) @ first.world_matrices()[1][0])


def _iterate_parts(document: Document, column: dict[int, int]) -> Iterator[Skin]:
    parents = gltf.parse_nodes(document).parents
    for number, node in enumerate(document.items("nodes")):
        if "mesh" not in node:
            continue
        if "skin" in node:
            joints, matrices = _read_skin_binding(document, node["skin"], column)
        else:
            binding = _find_carrier(document, number, parents, column)
            if binding is None:
                continue  # scenery: no joint moves it
            joints, matrices = binding
        primitives = document.item("meshes", node["mesh"]).get("primitives", [])
        if not is_list(primitives):
            raise CorruptionError(f"meshes[{node['mesh']}].primitives must be a list")
        for primitive in primitives:
            yield _read_part(document, primitive, joints, matrices, "skin" in node)


def _read_skin_binding(document: Document, number: Json, column: dict[int, int]) -> tuple[I64, F64]:
    """Return the clip's joints of a skin, and their inverse bind matrices (B, 3, 4)."""
    skin = document.item("skins", number)
    nodes = skin.get("joints", [])
    if not is_list(nodes) or not nodes:
        raise CorruptionError(f"skins[{number}].joints must be a list of nodes")
    joints = np.array([column[document.number("nodes", node)] for node in nodes])
    if skin.get("inverseBindMatrices") is None:
        return joints, np.tile(np.eye(3, 4), (len(joints), 1, 1))
    matrices = document.array(skin["inverseBindMatrices"], width=16)
    if len(matrices) < len(joints):
        raise CorruptionError(
            f"skins[{number}] has {len(joints)} joints but {len(matrices)} matrices"
        )
    # Stored column by column; the last row is 0, 0, 0, 1.
    return joints, matrices[: len(joints)].reshape(-1, 4, 4).swapaxes(1, 2)[:, :3]


def _find_carrier(
    document: Document, number: int, parents: list[int], column: dict[int, int]
) -> tuple[I64, F64] | None:
    """Return the joint above a node, and the matrix (1, 3, 4) from the node to it."""
    matrix = np.eye(4)
    while number not in column:
        place, turn, scale = gltf.parse_node_pose(
            document.items("nodes")[number], f"nodes[{number}]"
        )
        own = np.eye(4)
        own[:3, :3], own[:3, 3] = rotations.as_matrix(rotations.normalize(turn)) * scale, place
        matrix, number = own @ matrix, parents[number]
        if number < 0:
            return None
    return np.array([column[number]]), matrix[np.newaxis, :3]


def _read_part(
    document: Document, primitive: Json, joints: I64, matrices: F64, is_skinned: bool
) -> Skin:
    attributes = primitive.get("attributes") if is_object(primitive) else None
    if not is_object(primitive) or not is_object(attributes):
        raise CorruptionError("a mesh primitive must be an object with attributes")
    extensions = primitive.get("extensions")
    if is_object(extensions) and DRACO in extensions:
        raise FormatError(f"a mesh is compressed with {DRACO}, which mocpack does not support")
    vertices = document.array(attributes.get("POSITION"), width=3)
    if not np.isfinite(vertices).all():
        raise CorruptionError("mesh vertices must be finite")
    if is_skinned:
        binds, weights = _read_influences(document, attributes, len(vertices), len(joints))
    else:
        binds = np.zeros((len(vertices), MAX_INFLUENCES), np.int64)
        weights = np.tile(np.eye(1, MAX_INFLUENCES), (len(vertices), 1))
    return Skin(
        vertices,
        _read_triangles(document, primitive, len(vertices)),
        binds,
        weights,
        joints,
        matrices,
    )


def _read_influences(
    document: Document, attributes: JsonObject, count: int, joints: int
) -> tuple[I64, F64]:
    """Return the four joints with the largest weights of each vertex, and weights that sum to 1."""
    sets = [k for k in range(8) if f"JOINTS_{k}" in attributes]
    if not sets:
        raise CorruptionError("a skinned mesh must have JOINTS_0")
    binds = np.concatenate([document.array(attributes[f"JOINTS_{k}"], width=4) for k in sets], 1)
    weights = np.concatenate(
        [document.array(attributes.get(f"WEIGHTS_{k}"), width=4) for k in sets], 1
    )
    if len(binds) != count or len(weights) != count:
        raise CorruptionError(
            f"{count} vertices need as many rows of joints and weights, got {len(binds)} and "
            f"{len(weights)}"
        )
    if not (np.isfinite(weights).all() and binds.max(initial=0) < joints):
        raise CorruptionError(f"vertex joints must be below {joints} and weights finite")
    most = np.argsort(-weights, axis=1, kind="stable")[:, :MAX_INFLUENCES]
    binds, weights = (np.take_along_axis(a, most, 1) for a in (binds, np.maximum(weights, 0)))
    total = weights.sum(1, keepdims=True)
    weights = np.where(
        total > 0, weights / np.where(total > 0, total, 1), np.eye(1, MAX_INFLUENCES)
    )
    return binds.astype(np.int64), weights


def _read_triangles(document: Document, primitive: JsonObject, count: int) -> I64:
    """Return the triangles (F, 3) of a primitive; lines and points have none."""
    if primitive.get("indices") is None:
        corners = np.arange(count)
    else:
        corners = document.array(primitive["indices"], width=1)[:, 0].astype(np.int64)
    if corners.max(initial=0) >= count:
        raise CorruptionError(f"a triangle refers to vertex {corners.max()} of {count}")
    mode = primitive.get("mode", TRIANGLES)
    if mode == TRIANGLES:
        return corners[: len(corners) // 3 * 3].reshape(-1, 3)
    if len(corners) < 3 or mode not in (STRIP, FAN):
        return np.zeros((0, 3), np.int64)
    if mode == FAN:
        first = np.full(len(corners) - 2, corners[0])
        return np.stack([first, corners[1:-1], corners[2:]], 1)
    strip = np.stack([corners[:-2], corners[1:-1], corners[2:]], 1)
    strip[1::2] = strip[1::2, [1, 0, 2]]  # every second triangle has the opposite orientation
    return strip
