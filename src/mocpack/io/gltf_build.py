"""Build glTF files: arrays in a buffer, then binary or text output."""

from __future__ import annotations

import base64
import json
import struct

import numpy as np
import numpy.typing as npt

from mocpack.common.json_object import JsonObject
from mocpack.io.gltf_file import BIN_CHUNK, JSON_CHUNK, MAGIC, VERSION, get_objects

# float32; unsigned integers of 8, 16 and 32 bits
FLOAT, BYTE, SHORT, INDEX = 5126, 5121, 5123, 5125
KINDS = {FLOAT: "<f4", BYTE: "<u1", SHORT: "<u2", INDEX: "<u4"}
SHAPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}
VERTICES, INDICES = 34962, 34963  # targets of mesh buffer views
INLINE = "data:application/octet-stream;base64,"


class Buffer:
    """Appends arrays to a buffer and describes them for the glTF document."""

    def __init__(self, data: bytes = b"", *, view_count: int = 0, accessor_count: int = 0) -> None:
        self.data = bytearray(data)
        self.views: list[JsonObject] = []
        self.accessors: list[JsonObject] = []
        self._view_count, self._accessor_count = view_count, accessor_count

    def add(
        self,
        values: npt.ArrayLike,
        component: int = FLOAT,
        *,
        bounds: bool = False,
        target: int | None = None,
        normalized: bool = False,
    ) -> int:
        """Append rows (count, n) or numbers (count,); return the index of their accessor."""
        numbers = np.ascontiguousarray(values, KINDS[component])
        rows = numbers.reshape(len(numbers), -1)
        self.data += bytes(-len(self.data) % 4)
        view: JsonObject = {"buffer": 0, "byteOffset": len(self.data), "byteLength": numbers.nbytes}
        self.views.append(view | ({} if target is None else {"target": target}))
        accessor: JsonObject = {
            "bufferView": self._view_count + len(self.views) - 1,
            "componentType": component,
            "count": len(rows),
            "type": SHAPES[rows.shape[1]],
        }
        if normalized:
            accessor["normalized"] = True
        if bounds:
            accessor |= {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()}
        self.data += numbers.tobytes()
        self.accessors.append(accessor)
        return self._accessor_count + len(self.accessors) - 1


class Animation:
    """Collects the channels of an animation and their samplers."""

    def __init__(self) -> None:
        self.channels: list[JsonObject] = []
        self.samplers: list[JsonObject] = []

    def add(self, node: int, path: str, times: int, values: int) -> None:
        """Add the keys of a node, whose times and values are these accessors."""
        target: JsonObject = {"node": node, "path": path}
        self.channels.append({"sampler": len(self.samplers), "target": target})
        self.samplers.append({"input": times, "output": values})

    def build(self, name: str) -> JsonObject:
        """Return the animation of a document."""
        return {"name": name, "channels": self.channels, "samplers": self.samplers}


def pack_binary(document: JsonObject, body: bytes) -> bytes:
    """Return a .glb file of a document whose first buffer is `body`."""
    text = _encode_json(document, {"byteLength": len(body)})
    text += b" " * (-len(text) % 4)
    body += bytes(-len(body) % 4)
    chunks = struct.pack("<I4s", len(text), JSON_CHUNK) + text
    chunks += struct.pack("<I4s", len(body), BIN_CHUNK) + body
    return struct.pack("<4sII", MAGIC, VERSION, 12 + len(chunks)) + chunks


def pack_text(document: JsonObject, body: bytes) -> bytes:
    """Return a .gltf file of a document whose first buffer is `body`, embedded as base64."""
    uri = INLINE + base64.b64encode(body).decode()
    return _encode_json(document, {"uri": uri, "byteLength": len(body)}) + b"\n"


def _encode_json(document: JsonObject, first_buffer: JsonObject) -> bytes:
    buffers = [first_buffer, *get_objects(document, "buffers")[1:]]
    document = {**document, "buffers": buffers}
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
