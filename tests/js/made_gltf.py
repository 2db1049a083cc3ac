"""glTF files made by hand for tests, independent of mocpack's writer."""

import json
import struct

import numpy as np


class Made:
    """A glTF file in the making: nodes, and animations of them."""

    def __init__(self, nodes, **others):
        self.body = bytearray()
        self.document = {
            "asset": {"version": "2.0"},
            "nodes": nodes,
            "animations": [],
            "accessors": [],
            "bufferViews": [],
            "buffers": [{}],
            **others,
        }

    def view(self, values):
        self.body += b"\0" * (-len(self.body) % 4)
        self.document["bufferViews"].append(
            {"buffer": 0, "byteOffset": len(self.body), "byteLength": values.nbytes}
        )
        self.body += values.tobytes()
        return len(self.document["bufferViews"]) - 1

    def array(self, values, component=5126, **others):
        kind = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5126: "<f4"}[component]
        numbers = np.array(values, kind)
        width = {1: "SCALAR", 2: {3: "VEC3", 4: "VEC4", 16: "MAT4"}.get(numbers.shape[-1])}[
            numbers.ndim
        ]
        self.document["accessors"].append(
            {
                "bufferView": self.view(numbers),
                "componentType": component,
                "count": len(numbers),
                "type": width,
                **others,
            }
        )
        return len(self.document["accessors"]) - 1

    def animate(self, *channels, name=None):
        """Add an animation of channels (node, path, times, values, interpolation)."""
        found = {"channels": [], "samplers": []} | ({} if name is None else {"name": name})
        for node, path, times, values, kind in channels:
            arrays = [v if isinstance(v, int) else self.array(v) for v in (times, values)]
            found["samplers"].append(
                {"input": arrays[0], "output": arrays[1], "interpolation": kind}
            )
            target = {"node": node, "path": path}
            found["channels"].append({"sampler": len(found["samplers"]) - 1, "target": target})
        self.document["animations"].append(found)
        return self

    def glb(self):
        self.document["buffers"][0]["byteLength"] = len(self.body)
        text = json.dumps(self.document).encode()
        text += b" " * (-len(text) % 4)
        body = bytes(self.body) + b"\0" * (-len(self.body) % 4)
        chunks = struct.pack("<I4s", len(text), b"JSON") + text
        chunks += struct.pack("<I4s", len(body), b"BIN\0") + body
        return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks

    def gltf(self, uri):
        buffer = {"uri": uri, "byteLength": len(self.body)}
        return json.dumps(self.document | {"buffers": [buffer]}).encode()
