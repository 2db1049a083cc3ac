"""Motions of DeepMimic's humanoid: JSON of a frame's duration and 43 numbers of its pose.

The file has no skeleton; it is that of `humanoid3d.txt` of DeepMimic (Peng and others 2018, MIT).
Metres, y up; quaternions are (w, x, y, z) there, knees and elbows hinges about z.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from mocpack import rotations
from mocpack.arrays import F64
from mocpack.clip import Clip
from mocpack.errors import CorruptionError, FormatError, InvalidClipError
from mocpack.skeleton import DEFAULT_JOINT, DEFAULT_ROOT, Skeleton

# name, parent, place in the parent's frame, how many numbers it has in a frame
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
WRIST = (0.0, -0.258947, 0.0)  # below each elbow
ELBOWS = (7, 12)
NUMBERS_PER_FRAME = 1 + 3 + sum(row[3] for row in BODY)
EVEN_TOLERANCE = 1e-3  # of a duration: numbers are rounded to six decimals in these files


def read(data: bytes, *, unit: float | None = None) -> Clip:
    """Read a DeepMimic motion; lengths are metres unless `unit` says otherwise."""
    metres = 1.0 if unit is None else unit
    loop, rows = _parse(data)
    durations = rows[:, 0]
    if (durations[:-1] <= 0).any():
        at = int(np.argmax(durations[:-1] <= 0))
        raise CorruptionError(f"frame {at} lasts {durations[at]:.6g} s; it must be above 0")
    turns, column = np.empty((len(rows), len(BODY), 4)), 4
    for j, (_, _, _, width) in enumerate(BODY):
        part = rows[:, column : column + width]
        column += width
        turns[:, j] = (
            _hinge_to_quaternion(part) if width == 1 else rotations.normalize(np.roll(part, -1, 1))
        )
    try:
        return Clip.build(
            skeleton(metres),
            turns,
            rows[:, 1:4] * metres,
            unit=metres,
            loop=loop,
            **_choose_timing(durations[:-1]),
        )
    except InvalidClipError as error:
        raise CorruptionError(str(error)) from error


def skeleton(unit: float = 1.0) -> Skeleton:
    """Return the humanoid's skeleton, its lengths in so many metres."""
    places = unit * np.array([row[2] for row in BODY])
    return Skeleton(
        tuple(row[0] for row in BODY),
        tuple(row[1] for row in BODY),
        places,
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
    """Return the frame time, or the times where durations differ."""
    if not len(durations):
        return {"frame_rate": 30.0}
    if np.ptp(durations) <= EVEN_TOLERANCE * durations.mean():
        return {"frame_time": float(np.median(durations))}
    return {"times": np.concatenate([[0.0], np.cumsum(durations)])}


def _parse(data: bytes) -> tuple[bool, F64]:
    """Return whether the motion wraps, and its frames (T, 44)."""
    try:
        root = json.loads(data.decode("utf-8-sig"))
    except RecursionError:
        raise CorruptionError("its JSON is nested too deeply") from None
    except ValueError as error:
        raise CorruptionError(f"its JSON cannot be read: {str(error)[:200]}") from error
    frames = root.get("Frames") if isinstance(root, dict) else None
    if not isinstance(frames, list) or not all(isinstance(row, list) for row in frames):
        raise CorruptionError("Frames must be a list of frames")
    if not frames:
        raise FormatError("this DeepMimic file is static: it has no frames, so no animation")
    widths = {len(row) for row in frames}
    if widths != {NUMBERS_PER_FRAME}:
        raise CorruptionError(
            f"a frame of DeepMimic's humanoid has {NUMBERS_PER_FRAME} numbers, and these have "
            f"{', '.join(map(str, sorted(widths)[:5]))}: other bodies are not known"
        )
    if not all(type(value) in (int, float) for row in frames for value in row):
        raise CorruptionError("Frames must hold numbers alone")
    try:
        rows = np.array(frames, np.float64)
    except OverflowError:
        raise CorruptionError("Frames hold a number beyond 1e308") from None
    if not np.isfinite(rows).all():
        raise CorruptionError("Frames must hold finite numbers")
    return root.get("Loop") == "wrap", rows
