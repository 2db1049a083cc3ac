"""Skeletal clips as binary glTF 2.0: a node for each joint, one animation of float32 keys.

Written only. Metres, seconds, y up and (x, y, z, w) are glTF's own conventions too. Joints that
never turn or move have no keys, their pose is their node's. End sites are nodes without motion.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

from mocpack.arrays import F64
from mocpack.clip import Clip
from mocpack.rotations import IDENTITY

MAGIC, VERSION = b"glTF", 2
JSON_CHUNK, BIN_CHUNK = b"JSON", b"BIN\0"
FLOAT = 5126
SHAPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}


def probe(data: bytes) -> bool:
    """Say whether `data` is binary glTF."""
    return data.startswith(MAGIC)


def write(clip: Clip) -> bytes:
    """Return the clip as a .glb file; numbers are rounded to float32, as the format has it."""
    buffer = _Buffer()
    seconds = clip.times - min(0.0, clip.times[0])  # a key before 0 is not allowed
    times = buffer.add(seconds[:, np.newaxis], bounds=True)
    nodes = _nodes(clip)
    samplers: list[dict[str, Any]] = []
    channels: list[dict[str, Any]] = []
    for path, joint, keys in _tracks(clip):
        if np.ptp(keys, axis=0).any() or _leaves_rest(clip, path, joint):
            output = buffer.add(keys)
            channels.append({"sampler": len(samplers), "target": {"node": joint, "path": path}})
            samplers.append({"input": times, "output": output, "interpolation": "LINEAR"})
        else:
            nodes[joint][path] = keys[0].tolist()
    if not samplers:  # a clip that stands still is as long as it is all the same
        samplers.append({"input": times, "output": buffer.add(clip.rotations[:, 0])})
        channels.append({"sampler": 0, "target": {"node": 0, "path": "rotation"}})
    joints, roots = list(range(len(clip.skeleton))), list(clip.skeleton.roots)
    top = 0
    if len(roots) > 1:  # the joints of a skin have one node above them all
        top = len(nodes)
        nodes.append({"name": "origin", "children": roots})
    document = {
        "asset": {"version": "2.0", "generator": "mocpack"},
        "scene": 0,
        "scenes": [{"nodes": [top]}],
        "nodes": nodes,
        "skins": [{"joints": joints, "skeleton": top}],
        "animations": [{"name": "motion", "channels": channels, "samplers": samplers}],
        "accessors": buffer.accessors,
        "bufferViews": buffer.views,
        "buffers": [{"byteLength": len(buffer.data)}],
    }
    return _pack(document, bytes(buffer.data))


def _nodes(clip: Clip) -> list[dict[str, Any]]:
    """Return the joints' nodes in order, and after them those of the end sites."""
    skeleton = clip.skeleton
    children: list[list[int]] = [[] for _ in skeleton.names]
    for joint, parent in enumerate(skeleton.parents):
        if parent >= 0:
            children[parent].append(joint)
    ends: list[dict[str, Any]] = []
    for joint, place in zip(skeleton.end_site_joints, skeleton.end_sites, strict=True):
        children[joint].append(len(skeleton) + len(ends))
        ends.append({"name": f"{skeleton.names[joint]}_end", "translation": place.tolist()})
    nodes = []
    for j, below in enumerate(children):
        node: dict[str, Any] = {"translation": skeleton.offsets[j].tolist()}
        if skeleton.names[j]:
            node["name"] = skeleton.names[j]
        if (skeleton.rest[j] != IDENTITY).any():
            node["rotation"] = skeleton.rest[j].tolist()
        if (skeleton.scales[j] != 1).any():
            node["scale"] = skeleton.scales[j].tolist()
        nodes.append(node | ({"children": below} if below else {}))
    return [*nodes, *ends]


def _leaves_rest(clip: Clip, path: str, joint: int) -> bool:
    """Whether a joint keeps a rotation that is not its rest, which its node then keeps."""
    if path != "rotation" or not clip.skeleton.has_rest:
        return False
    return not np.allclose(clip.rotations[0, joint], clip.skeleton.rest[joint])


def _tracks(clip: Clip) -> list[tuple[str, int, F64]]:
    """Return (path, joint, keys (T, n)) of everything that may move."""
    turns = [("rotation", j, clip.rotations[:, j]) for j in range(len(clip.skeleton))]
    moves = enumerate(clip.translated_joints)
    places = [("translation", j, clip.translations[:, m]) for m, j in moves]
    if clip.extras.scales is None:
        return turns + places
    sizes = enumerate(clip.header.scaled_joints)
    return turns + places + [("scale", j, clip.extras.scales[:, s]) for s, j in sizes]


class _Buffer:
    """The file's numbers, and how its document refers to them."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []

    def add(self, values: F64, *, bounds: bool = False) -> int:
        """Append float32 rows (count, n); return the number of their accessor."""
        numbers = np.ascontiguousarray(values, "<f4")
        self.views.append({"buffer": 0, "byteOffset": len(self.data), "byteLength": numbers.nbytes})
        accessor = {
            "bufferView": len(self.views) - 1,
            "componentType": FLOAT,
            "count": len(numbers),
            "type": SHAPES[numbers.shape[1]],
        }
        if bounds:
            low, high = numbers.min(axis=0), numbers.max(axis=0)
            accessor |= {"min": low.tolist(), "max": high.tolist()}
        self.data += numbers.tobytes()
        self.accessors.append(accessor)
        return len(self.accessors) - 1


def _pack(document: dict[str, Any], body: bytes) -> bytes:
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), JSON_CHUNK) + text
    chunks += struct.pack("<I4s", len(body), BIN_CHUNK) + body
    return struct.pack("<4sII", MAGIC, VERSION, 12 + len(chunks)) + chunks
