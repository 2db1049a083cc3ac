"""DeepMimic motions of its humanoid: JSON with a duration and 43 pose numbers per frame.

The file has no skeleton; it comes from DeepMimic's `humanoid3d.txt` (Peng et al. 2018, MIT
license).
Lengths are meters, y is up, quaternions are (w, x, y, z), knees and elbows are hinges about z.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from mocpack.common.arrays import F64
from mocpack.errors import CorruptionError, FormatError
from mocpack.model import rotations
from mocpack.model.clip import Clip
from mocpack.model.skeleton import DEFAULT_JOINT, DEFAULT_ROOT, Skeleton

# (name, parent, position in the parent's frame, numbers per frame)
BODY = (
    ("root", -1, (0.0, 0.0, 0.0), 4),
    ("chest", 0, (0.0, 0.236151, 0.0), 4),
    ("neck", 1, (0.0, 0.223894, 0.0), 4),
    ("right_hip", 0, (0.0, 0.0, 0.084887), 4),
    ("right_knee", 3, (0.0, -0.421546, 0.0), 1),
    ("right_ankle", 4, (0.0, -0.40987, 0.0), 4),
    ("right_shoulder", 1, (-0.02405, 0.2435, 0.18311), 4),
    ("right_elbow", 6, (0.0, -0.274788, 0.0), 1),
    ("left_hip", 0, (0.0, 0.0, -0.084887), 4),
    ("left_knee", 8, (0.0, -0.421546, 0.0), 1),
    ("left_ankle", 9, (0.0, -0.40987, 0.0), 4),
    ("left_shoulder", 1, (-0.02405, 0.2435, -0.18311), 4),
    ("left_elbow", 11, (0.0, -0.274788, 0.0), 1),
)
WRIST = (0.0, -0.258947, 0.0)  # position below each elbow
ELBOWS = (7, 12)
NUMBERS_PER_FRAME = 1 + 3 + sum(row[3] for row in BODY)
EVEN_TOLERANCE = 1e-3  # of the mean duration; these files round to six decimals


def read(data: bytes, *, unit: float | None = None) -> Clip:
    """Read a DeepMimic motion; `unit` is the length of one file unit in meters, 1 by default."""
    meters = 1.0 if unit is None else unit
    loop, rows = _parse(data)
    durations = rows[:, 0]
    if (durations[:-1] <= 0).any():
        at = int(np.argmax(durations[:-1] <= 0))
        raise CorruptionError(f"frame {at} must last longer than 0 s, got {durations[at]:.6g} s")
    local_rotations, column = np.empty((len(rows), len(BODY), 4)), 4
    for j, (_, _, _, width) in enumerate(BODY):
        part = rows[:, column : column + width]
        column += width
        local_rotations[:, j] = (
            _hinge_to_quaternion(part) if width == 1 else rotations.normalize(np.roll(part, -1, 1))
        )
    return Clip.build(
        skeleton(meters),
        local_rotations,
        rows[:, 1:4] * meters,
        unit=meters,
        loop=loop,
        **_choose_timing(durations[:-1]),
    )


def skeleton(unit: float = 1.0) -> Skeleton:
    """Return the humanoid's skeleton; `unit` scales its lengths."""
    positions = unit * np.array([row[2] for row in BODY])
    return Skeleton(
        tuple(row[0] for row in BODY),
        tuple(row[1] for row in BODY),
        positions,
        unit * np.array([WRIST, WRIST]),
        ELBOWS,
        tuple(_choose_channels(j, row[3]) for j, row in enumerate(BODY)),
    )


def _choose_channels(joint: int, width: int) -> tuple[str, ...]:
    if joint == 0:
        return DEFAULT_ROOT
    return DEFAULT_JOINT if width == 4 else ("Zrotation",)


def _hinge_to_quaternion(angles: F64) -> F64:
    half = angles[:, 0] / 2
    return np.stack([0 * half, 0 * half, np.sin(half), np.cos(half)], axis=1)


def _choose_timing(durations: F64) -> dict[str, Any]:
    """Return the frame time, or the frame times if durations differ."""
    if not len(durations):
        return {"frame_rate": 30.0}
    if np.ptp(durations) <= EVEN_TOLERANCE * durations.mean():
        return {"frame_time": float(np.median(durations))}
    return {"times": np.concatenate([[0.0], np.cumsum(durations)])}


def _parse(data: bytes) -> tuple[bool, F64]:
    """Return whether the motion loops, and its frames (T, 44)."""
    try:
        root = json.loads(data.decode("utf-8-sig"))
    except RecursionError:
        raise CorruptionError("JSON is nested too deeply") from None
    except ValueError as error:
        raise CorruptionError(f"invalid JSON: {str(error)[:200]}") from error
    frames = root.get("Frames") if isinstance(root, dict) else None
    if not isinstance(frames, list) or not all(isinstance(row, list) for row in frames):
        raise CorruptionError("Frames must be a list of lists")
    if not frames:
        raise FormatError("expected an animation, but this DeepMimic file has no frames")
    widths = {len(row) for row in frames}
    if widths != {NUMBERS_PER_FRAME}:
        raise CorruptionError(
            f"DeepMimic's humanoid has {NUMBERS_PER_FRAME} numbers per frame, got "
            f"{', '.join(map(str, sorted(widths)[:5]))}; other bodies are not supported"
        )
    if not all(type(value) in (int, float) for row in frames for value in row):
        raise CorruptionError("Frames must contain only numbers")
    try:
        rows = np.array(frames, np.float64)
    except OverflowError:
        raise CorruptionError("Frames contains a number beyond 1e308") from None
    if not np.isfinite(rows).all():
        raise CorruptionError("Frames must contain only finite numbers")
    return root.get("Loop") == "wrap", rows
