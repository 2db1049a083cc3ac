"""Vertex animations as .npz: ``vertices (F, V, 3)``, optional ``faces (N, 3)``, ``frame_rate``."""

from __future__ import annotations

import numpy as np

from mocpack.common.json_object import JsonObject
from mocpack.errors import CorruptionError
from mocpack.io import npz
from mocpack.model.clip import VertexClip, VertexHeader


def probe(data: bytes) -> bool:
    """Return whether `data` is an .npz file of a vertex animation."""
    return npz.probe(data, "vertices")


def read(data: bytes, *, unit: float | None = None, fps: float | None = None) -> VertexClip:
    """Return the vertex animation; `unit` is the length of one file unit in meters.

    `fps` is the frame rate of a file that states none.
    """
    arrays = npz.Arrays(data)
    vertices = arrays.numbers("vertices") * (1.0 if unit is None else unit)
    faces = arrays.numbers("faces", np.zeros((0, 3)), kinds="iu")
    metadata: JsonObject = {"source": "npz"}
    frame_time = arrays.frame_time(fps, metadata)
    if vertices.ndim != 3 or vertices.shape[2] != 3:
        raise CorruptionError(f"expected vertices of shape (F, V, 3), got {vertices.shape}")
    if faces.size and not 0 <= faces.min() <= faces.max() < vertices.shape[1]:
        raise CorruptionError(f"faces must refer to vertices 0..{vertices.shape[1] - 1}")
    header = VertexHeader(
        vertices.shape[1], faces.astype(np.int32), len(vertices), frame_time, metadata
    )
    return VertexClip(header, vertices)


def write(clip: VertexClip) -> bytes:
    """Return the vertex animation as .npz, in float64."""
    return npz.pack(
        {
            "vertices": clip.vertices,
            "faces": clip.faces,
            "frame_rate": clip.frame_rate,
            "frame_time": clip.frame_time,
        }
    )
