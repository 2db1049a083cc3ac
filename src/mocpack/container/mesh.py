"""The MESH chunk: the vertex count and the triangles of a vertex animation."""

from __future__ import annotations

import numpy as np

from mocpack.arrays import I32
from mocpack.coding.fields import FieldReader, FieldWriter, deflate, inflate

MAX_VERTICES = 1 << 24


def pack_mesh(vertex_count: int, faces: I32) -> bytes:
    out = FieldWriter()
    out.varint(vertex_count)
    out.varint(len(faces))
    # differences along the list of corners: neighbours in the list are neighbours on the mesh
    steps = np.diff(faces.astype(np.int64).ravel(), prepend=0)
    out.raw(deflate(steps.astype("<i4").tobytes()))
    return out.bytes()


def unpack_mesh(body: bytes) -> tuple[int, I32]:
    read = FieldReader(body, "MESH chunk")
    vertex_count = read.varint(MAX_VERTICES)
    face_count = read.varint(2 * MAX_VERTICES)
    size = 12 * face_count
    steps = inflate(read.rest(), size, what="MESH chunk")
    if len(steps) != size:
        FieldReader(steps, "MESH chunk").raw(size)
    corners = np.cumsum(np.frombuffer(steps, "<i4"), dtype=np.int64)
    return vertex_count, corners.astype(np.int32).reshape(-1, 3)
