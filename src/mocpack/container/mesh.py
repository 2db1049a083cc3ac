"""The MESH chunk: the vertex count and the triangles of a vertex animation."""

from __future__ import annotations

import numpy as np

from mocpack.arrays import I32
from mocpack.coding.fields import FieldWriter, deflate


def pack_mesh(vertex_count: int, faces: I32) -> bytes:
    out = FieldWriter()
    out.varint(vertex_count)
    out.varint(len(faces))
    # differences are small, because neighbors in the list are neighbors on the mesh
    steps = np.diff(faces.astype(np.int64).ravel(), prepend=0)
    out.raw(deflate(steps.astype("<i4").tobytes()))
    return out.bytes()
