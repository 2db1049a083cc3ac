"""Point caches of LightWave (.mdd): big-endian; the time of each frame, then float32 vertices."""

from __future__ import annotations

import struct

import numpy as np

from mocpack.clip import VertexClip, VertexHeader
from mocpack.errors import CorruptionError, InvalidClipError, TruncatedError

HEADER = struct.Struct(">ii")  # frames, points
UNEVEN_TOLERANCE = 1e-3  # of a frame: how far times may be from even before we refuse
DEFAULT_FRAME_RATE = 24.0  # of a file with a single frame


def probe(data: bytes) -> bool:
    """Say whether `data` has exactly the size that a MDD file's first two numbers announce."""
    if len(data) < HEADER.size:
        return False
    frames, points = HEADER.unpack_from(data)
    size = HEADER.size + 4 * frames * (1 + 3 * points)
    return bool(frames > 0 and points > 0 and len(data) == size)


def read(data: bytes, *, unit: float | None = None) -> VertexClip:
    """Return the vertex animation; `unit` is the length of one of its units in metres."""
    if len(data) < HEADER.size:
        raise TruncatedError("the file ends inside its header")
    frames, points = HEADER.unpack_from(data)
    if frames < 1 or points < 1:
        raise CorruptionError(f"{frames} frames of {points} points are announced")
    size = HEADER.size + 4 * frames * (1 + 3 * points)
    if len(data) < size:
        raise TruncatedError(
            f"{frames} frames of {points} points are announced, {len(data)} of {size} bytes "
            "are there"
        )
    if len(data) > size:
        raise CorruptionError(f"{len(data) - size} bytes follow the last frame")
    times = np.frombuffer(data, ">f4", frames, HEADER.size).astype(np.float64)
    vertices = np.frombuffer(data, ">f4", 3 * frames * points, HEADER.size + 4 * frames)
    scaled = vertices.reshape(frames, points, 3).astype(np.float64) * (unit or 1.0)
    try:
        no_faces = np.zeros((0, 3), np.int32)
        header = VertexHeader(points, no_faces, frames, _frame_time(times), {"source": "mdd"})
        return VertexClip(header, scaled)
    except InvalidClipError as error:
        raise CorruptionError(str(error)) from error


def write(clip: VertexClip) -> bytes:
    """Return the vertices as a MDD file; faces have no place in it."""
    times = np.arange(clip.frame_count) * clip.frame_time
    parts = (times.astype(">f4"), clip.vertices.astype(">f4"))
    head = HEADER.pack(clip.frame_count, clip.header.vertex_count)
    return head + b"".join(part.tobytes() for part in parts)


def _frame_time(times: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    if len(times) == 1:
        return 1 / DEFAULT_FRAME_RATE
    if not np.isfinite(times).all():
        raise CorruptionError("the times of the frames are not finite")
    step = float(times[-1] - times[0]) / (len(times) - 1)
    if not step > 0 or np.abs(np.diff(times) - step).max() > max(UNEVEN_TOLERANCE * step, 1e-5):
        raise CorruptionError("the frames are not evenly timed")
    return step
