"""DeepMimic motions of its humanoid: JSON with a duration and 43 pose numbers per frame.

The file has no skeleton: it is that of DeepMimic's `humanoid3d.txt` (Peng et al. 2018, MIT).
Lengths are meters, y is up, quaternions are (w, x, y, z), knees and elbows are hinges about z.
"""

from __future__ import annotations

import json

import numpy as np

from mocpack.common.arrays import F64
from mocpack.common.json_object import Json, is_list, is_object
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
    frame_time, times = _choose_timing(durations[:-1])
    return Clip.build(
        skeleton(meters),
        local_rotations,
        rows[:, 1:4] * meters,
        unit=meters,
        loop=loop,
        frame_time=frame_time,
        times=times,
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
        (DEFAULT_ROOT, *(DEFAULT_JOINT if row[3] == 4 else ("Zrotation",) for row in BODY[1:])),
    )


def _hinge_to_quaternion(angles: F64) -> F64:
    half = angles[:, 0] / 2
    return np.stack([0 * half, 0 * half, np.sin(half), np.cos(half)], axis=1)


def _choose_timing(durations: F64) -> tuple[float | None, F64 | None]:
    """Return the frame time, or the times of all frames if durations differ."""
    if not len(durations):
        return 1 / 30, None
    if np.ptp(durations) <= EVEN_TOLERANCE * durations.mean():
        return float(np.median(durations)), None
    return None, np.append(0.0, np.cumsum(durations))


def _parse(data: bytes) -> tuple[bool, F64]:
    """Return whether the motion loops, and its frames (T, 44)."""
    try:
        root: Json = json.loads(data.decode("utf-8-sig"))
    except RecursionError:
        raise CorruptionError("JSON is nested too deeply") from None
    except ValueError as error:
        raise CorruptionError(f"invalid JSON: {str(error)[:200]}") from error
    fields = root if is_object(root) else {}
    frames = fields.get("Frames")
    rows = [row for row in frames if is_list(row)] if is_list(frames) else []
    if not is_list(frames) or len(rows) < len(frames):
        raise CorruptionError("Frames must be a list of lists")
    if not rows:
        raise FormatError("expected an animation, but this DeepMimic file has no frames")
    widths = {len(row) for row in rows}
    if widths != {NUMBERS_PER_FRAME}:
        raise CorruptionError(
            f"DeepMimic's humanoid has {NUMBERS_PER_FRAME} numbers per frame, got "
            f"{', '.join(map(str, sorted(widths)[:5]))}; other bodies are not supported"
        )
    if not all(type(value) in (int, float) for row in rows for value in row):
        raise CorruptionError("Frames must contain only numbers")
    try:
        numbers = np.array(rows, np.float64)
    except OverflowError:
        raise CorruptionError("Frames contains a number beyond 1e308") from None
    if not np.isfinite(numbers).all():
        raise CorruptionError("Frames must contain only finite numbers")
    return fields.get("Loop") == "wrap", numbers
