"""Reads the animation of a plain binary glTF back: the keys of each node, at the times asked for.

As much of glTF as its optimisers write after their compression is undone: float and normalised
integer accessors, straight lines and steps between keys.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from mocpack import rotations
from mocpack.arrays import F64
from mocpack.clip import Clip, ClipHeader
from mocpack.errors import CorruptionError

TYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
REST = {"rotation": (0.0, 0.0, 0.0, 1.0), "translation": (0.0, 0.0, 0.0)}
MAX_KEYS = 1 << 26


def read_motion(data: bytes, header: ClipHeader) -> Clip:
    """Return the motion of the nodes that bear the names of the header's joints."""
    try:
        document, body = _parse(data)
        # glTF's times are float32: ask for the very ones that the keys have
        times = (np.arange(header.frame_count) * header.frame_time).astype("<f4").astype(np.float64)
        names = [node.get("name") for node in document["nodes"]]
        nodes = [names.index(name) for name in header.skeleton.names]
        keys = dict(_keys(document, body))
        turns = [_sampled(document, keys, n, "rotation", times) for n in nodes]
        moves = [
            _sampled(document, keys, nodes[j], "translation", times)
            for j in header.translated_joints
        ]
    except (KeyError, IndexError, ValueError, TypeError, struct.error) as error:
        raise CorruptionError(f"glTF: {type(error).__name__}: {error}") from error
    places = np.stack(moves, axis=1) if moves else np.zeros((header.frame_count, 0, 3))
    return Clip(header, rotations.normalize(np.stack(turns, axis=1)), places)


def _parse(data: bytes) -> tuple[dict[str, Any], bytes]:
    magic, _, size = struct.unpack_from("<4sII", data)
    if magic != b"glTF" or size > len(data):
        raise ValueError("not a whole .glb file")
    length = struct.unpack_from("<I", data, 12)[0]
    document = json.loads(data[20 : 20 + length])
    return document, data[28 + length : size]


def _keys(
    document: dict[str, Any], body: bytes
) -> Iterator[tuple[tuple[int, str], tuple[F64, F64, str]]]:
    """Yield ((node, path), (times, values, interpolation)) of the first animation."""
    animation = document["animations"][0]
    for channel in animation["channels"]:
        sampler = animation["samplers"][channel["sampler"]]
        times = _accessor(document, body, sampler["input"])[:, 0]
        values = _accessor(document, body, sampler["output"])
        target = channel["target"]
        yield (
            (target["node"], target["path"]),
            (
                times,
                values,
                sampler.get("interpolation", "LINEAR"),
            ),
        )


def _accessor(document: dict[str, Any], body: bytes, number: int) -> F64:
    accessor = document["accessors"][number]
    view = document["bufferViews"][accessor["bufferView"]]
    kind, width = np.dtype(TYPES[accessor["componentType"]]), WIDTHS[accessor["type"]]
    start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
    stride = view.get("byteStride", kind.itemsize * width)
    count = accessor["count"]
    if not 0 < count <= MAX_KEYS or start + (count - 1) * stride + kind.itemsize * width > len(
        body
    ):
        raise ValueError(f"accessor {number} lies outside the file")
    values = np.ndarray((count, width), kind, body, start, (stride, kind.itemsize))
    numbers = values.astype(np.float64)
    if accessor.get("normalized"):
        numbers = np.maximum(numbers / np.iinfo(kind).max, -1.0)
    return numbers


def _sampled(
    document: dict[str, Any],
    keys: dict[tuple[int, str], tuple[F64, F64, str]],
    node: int,
    path: str,
    times: F64,
) -> F64:
    """Return a node's values (T, n) at `times`; those of its rest pose if it has no keys."""
    if (node, path) not in keys:
        rest = document["nodes"][node].get(path, REST[path])
        return np.tile(np.array(rest, np.float64), (len(times), 1))
    at, values, interpolation = keys[node, path]
    after = np.clip(np.searchsorted(at, times, side="right"), 1, max(len(at) - 1, 1))
    before, after = after - 1, np.minimum(after, len(at) - 1)
    gap = at[after] - at[before]
    share = np.clip((times - at[before]) / np.where(gap > 0, gap, 1.0), 0.0, 1.0)
    if interpolation == "STEP":
        share = np.floor(share)
    elif interpolation != "LINEAR":
        raise ValueError(f"{interpolation} keys are not read")
    if path == "rotation":
        return np.asarray(rotations.slerp(values[before], values[after], share))
    share = share[:, np.newaxis]
    return np.asarray((1 - share) * values[before] + share * values[after])
