"""LightWave point caches (.mdd), big-endian: the time of each frame, then float32 vertices."""

from __future__ import annotations

import struct

import numpy as np

from mocpack.errors import CorruptionError, TruncatedError
from mocpack.model.clip import VertexClip, VertexHeader

HEADER = struct.Struct(">ii")  # frames, points
UNEVEN_TOLERANCE = 1e-3  # of a frame; larger deviations from even times are an error
DEFAULT_FRAME_RATE = 24.0  # of a file with a single frame


def probe(data: bytes) -> bool:
    """Return whether the size of `data` is what the first two numbers of an MDD file imply."""
    if len(data) < HEADER.size:
        return False
    frames, points = HEADER.unpack_from(data)
    size = HEADER.size + 4 * frames * (1 + 3 * points)
    return bool(frames > 0 and points > 0 and len(data) == size)


def read(data: bytes, *, unit: float | None = None) -> VertexClip:
    """Return the vertex animation; `unit` is the length of one file unit in meters."""
    if len(data) < HEADER.size:
        raise TruncatedError("file is truncated inside its header")
    frames, points = HEADER.unpack_from(data)
    if frames < 1 or points < 1:
        raise CorruptionError(
            f"the header must state at least 1 frame and 1 point, got {frames} frames of "
            f"{points} points"
        )
    size = HEADER.size + 4 * frames * (1 + 3 * points)
    if len(data) < size:
        raise TruncatedError(
            f"the header states {frames} frames of {points} points, but the file has "
            f"{len(data)} of {size} bytes"
        )
    if len(data) > size:
        raise CorruptionError(f"{len(data) - size} unexpected bytes after the last frame")
    times = np.frombuffer(data, ">f4", frames, HEADER.size).astype(np.float64)
    vertices = np.frombuffer(data, ">f4", 3 * frames * points, HEADER.size + 4 * frames)
    scaled = vertices.reshape(frames, points, 3).astype(np.float64) * (unit or 1.0)
    no_faces = np.zeros((0, 3), np.int32)
    header = VertexHeader(points, no_faces, frames, _frame_time(times), {"source": "mdd"})
    return VertexClip(header, scaled)


def write(clip: VertexClip) -> bytes:
    """Return the vertices as an MDD file; the format has no faces."""
    times = np.arange(clip.frame_count) * clip.frame_time
    parts = (times.astype(">f4"), clip.vertices.astype(">f4"))
    head = HEADER.pack(clip.frame_count, clip.header.vertex_count)
    return head + b"".join(part.tobytes() for part in parts)


def _frame_time(times: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    if len(times) == 1:
        return 1 / DEFAULT_FRAME_RATE
    if not np.isfinite(times).all():
        raise CorruptionError("times of frames must be finite")
    step = float(times[-1] - times[0]) / (len(times) - 1)
    if not step > 0 or np.abs(np.diff(times) - step).max() > max(UNEVEN_TOLERANCE * step, 1e-5):
        raise CorruptionError("frames must be evenly spaced in time")
    return step
