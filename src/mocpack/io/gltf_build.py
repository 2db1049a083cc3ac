"""Build glTF files: arrays in a buffer, then binary or text output."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from mocpack.io.gltf_file import BIN_CHUNK, JSON_CHUNK, MAGIC, VERSION, Object

# float32; unsigned integers of 8, 16 and 32 bits
FLOAT, BYTE, SHORT, INDEX = 5126, 5121, 5123, 5125
KINDS = {FLOAT: "<f4", BYTE: "<u1", SHORT: "<u2", INDEX: "<u4"}
SHAPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}
VERTICES, INDICES = 34962, 34963  # targets of mesh buffer views
INLINE = "data:application/octet-stream;base64,"


class Buffer:
    """Appends arrays to a buffer and describes them for the glTF document.

    Attributes
    ----------
    data : bytearray
        All bytes of the buffer, starting with those given.
    views, accessors : list of dict
        Of the new arrays.
    """

    def __init__(self, data: bytes = b"", *, view_count: int = 0, accessor_count: int = 0) -> None:
        self.data = bytearray(data)
        self.views: list[Object] = []
        self.accessors: list[Object] = []
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
        view = {"buffer": 0, "byteOffset": len(self.data), "byteLength": numbers.nbytes}
        self.views.append(view | ({} if target is None else {"target": target}))
        accessor: Object = {
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


def pack_binary(document: Object, body: bytes) -> bytes:
    """Return a .glb file of a document whose first buffer is `body`."""
    first: Object = {"byteLength": len(body)}
    text = _encode_json({**document, "buffers": [first, *document.get("buffers", [])[1:]]})
    text += b" " * (-len(text) % 4)
    body += bytes(-len(body) % 4)
    chunks = struct.pack("<I4s", len(text), JSON_CHUNK) + text
    chunks += struct.pack("<I4s", len(body), BIN_CHUNK) + body
    return struct.pack("<4sII", MAGIC, VERSION, 12 + len(chunks)) + chunks


def pack_text(document: Object, body: bytes) -> bytes:
    """Return a .gltf file of a document whose first buffer is `body`, embedded as base64."""
    first: Object = {"uri": INLINE + base64.b64encode(body).decode(), "byteLength": len(body)}
    return _encode_json({**document, "buffers": [first, *document.get("buffers", [])[1:]]}) + b"\n"


def _encode_json(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
