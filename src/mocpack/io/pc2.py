"""Point caches of 3ds Max and Blender (.pc2): little-endian float32 vertices, frame by frame.

The format has no frame rate; mocpack assumes 24. The sampling step is kept in the metadata.
"""

from __future__ import annotations

import struct

import numpy as np

from mocpack.common.json_object import Json, JsonObject, get_member
from mocpack.errors import CorruptionError, InvalidClipError, TruncatedError
from mocpack.io.assumptions import choose_frame_rate, warn_of_frame_rate
from mocpack.model.clip import VertexClip

MAGIC = b"POINTCACHE2\0"
HEADER = struct.Struct("<12siiffi")  # magic, version, points, start, step, samples
VERSION = 1
DEFAULT_FRAME_RATE = 24.0


def probe(data: bytes) -> bool:
    """Return whether `data` is a PC2 file."""
    return data.startswith(MAGIC)


def read(data: bytes, *, unit: float | None = None, fps: float | None = None) -> VertexClip:
    """Return the vertex animation; `unit` is the length of one file unit in meters.

    `fps` is its frame rate, which the file does not state.
    """
    if len(data) < HEADER.size:
        raise TruncatedError("file is truncated inside its header")
    magic, version, points, start, step, samples = HEADER.unpack_from(data)
    if magic != MAGIC or version != VERSION:
        raise CorruptionError(f"expected a PC2 file of version 1, got version {version}")
    if points < 1 or samples < 1:
        raise CorruptionError(
            f"the header must state at least 1 frame and 1 point, got {samples} frames of "
            f"{points} points"
        )
    size = 12 * points * samples
    if len(data) - HEADER.size < size:
        raise TruncatedError(
            f"the header states {samples} frames of {points} points, but "
            f"{len(data) - HEADER.size} of {size} bytes follow"
        )
    vertices = np.frombuffer(data, "<f4", 3 * points * samples, HEADER.size)
    scaled = vertices.reshape(samples, points, 3).astype(np.float64) * (unit or 1.0)
    metadata: JsonObject = {"source": "pc2", "pc2_start": start, "pc2_step": step}
    rate = choose_frame_rate(fps, DEFAULT_FRAME_RATE, metadata)
    return VertexClip.build(scaled, frame_rate=rate, metadata=metadata)


def write(clip: VertexClip) -> bytes:
    """Return the vertices as a PC2 file; the format has no faces and no frame rate."""
    warn_of_frame_rate(clip.frame_rate, DEFAULT_FRAME_RATE, "a PC2 file")
    times: dict[str, Json] = {"pc2_start": 0.0, "pc2_step": 1.0, **clip.metadata}
    start, step = (
        get_member(times, n, float, "metadata", InvalidClipError) for n in ("pc2_start", "pc2_step")
    )
    points, samples = clip.header.vertex_count, clip.frame_count
    head = HEADER.pack(MAGIC, VERSION, points, start, step, samples)
    return head + clip.vertices.astype("<f4").tobytes()
