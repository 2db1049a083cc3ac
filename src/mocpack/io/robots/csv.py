"""Robot motion tables: one row per frame with root x y z, its quaternion, then the angles.

The layout of LAFAN1 motions retargeted to Unitree's robots: no header, meters and radians,
quaternion (x, y, z, w), angles in the order of the URDF's joints, 30 frames per second. With a
header, columns are matched by name. `bones_seed` reads tables with the header of that dataset.
"""

from __future__ import annotations

import io

import numpy as np

from mocpack.common.arrays import F64
from mocpack.errors import CorruptionError, UsageError
from mocpack.io.robots import bones_seed
from mocpack.io.robots.model import Robot
from mocpack.io.robots.motion import (
    build_clip,
    match_columns_by_count,
    match_columns_by_name,
    parse_quaternions,
    split_root,
    to_angles,
)
from mocpack.model.clip import Clip

DEFAULT_ORDER = "xyzw"
ROOT_COLUMNS = ("x", "y", "z", "qx", "qy", "qz", "qw")
TIME_COLUMNS = ("frame", "time", "timestamp")
DECIMALS = 6  # of meters and radians: micrometers


def read(
    data: bytes,
    robot: Robot,
    *,
    unit: float | None = None,
    fps: float | None = None,
    quaternion: str | None = None,
) -> Clip:
    """Read a robot motion table; `unit` is the length of one unit of its positions in meters."""
    header, numbers = _parse_table(data)
    what = "the table"
    if header is not None and bones_seed.is_header(header):
        if quaternion is not None:
            raise UsageError("the table has Euler angles, so it takes no order of quaternions")
        return bones_seed.read_columns(robot, header, numbers, unit=unit, fps=fps)
    if header is None:
        positions, quaternions, angles = split_root(robot, numbers, what)
        columns = match_columns_by_count(robot, angles.shape[1], what)
    else:
        positions, quaternions, angles, columns = _split_named_columns(robot, header, numbers)
    turns = None
    if quaternions is not None:
        order = quaternion if header is None else DEFAULT_ORDER  # a header names the components
        turns = parse_quaternions(quaternions, order, DEFAULT_ORDER, "the root's quaternions")
    meters = 1.0 if unit is None else unit
    return build_clip(
        robot,
        to_angles(robot, angles, columns),
        None if positions is None else positions * meters,
        turns,
        fps=fps,
        source="robot csv",
    )


def write(numbers: F64) -> bytes:
    """Return a table of these numbers (T, N), without a header."""
    out = io.BytesIO()
    np.savetxt(out, numbers, fmt=f"%.{DECIMALS}f", delimiter=",")
    return out.getvalue()


def _parse_table(data: bytes) -> tuple[list[str] | None, F64]:
    """Return the header of a table, or None, and its numbers (T, N)."""
    first, _, rest = data.partition(b"\n")
    words = [word.strip() for word in first.decode("utf-8-sig", "replace").split(",")]
    header = None if all(map(_is_number, words)) else words
    body = data if header is None else rest
    if not body.strip():
        raise CorruptionError("the table must have at least 1 row, got none")
    try:
        numbers = np.loadtxt(io.BytesIO(body), delimiter=",", ndmin=2, comments=None)
    except (ValueError, UnicodeDecodeError) as error:
        raise CorruptionError(_describe_fault(data, header is not None, str(error))) from error
    if header is not None and len(header) != numbers.shape[1]:
        raise CorruptionError(
            f"the header has {len(header)} columns, but the rows have {numbers.shape[1]}"
        )
    return header, np.asarray(numbers, np.float64)


def _describe_fault(data: bytes, has_header: bool, reason: str) -> str:
    """Return where a table is not a row of numbers per line, or the reason if that is not it."""
    width = 0
    for number, line in enumerate(data.decode("utf-8-sig", "replace").split("\n"), 1):
        words = [word.strip() for word in line.split(",")]
        if not line.strip() or (has_header and number == 1):
            continue
        width = width or len(words)
        if len(words) != width:
            return f"line {number}: expected {width} numbers, got {len(words)}"
        for column, word in enumerate(words, 1):
            if not _is_number(word):
                return f"line {number}, column {column}: expected a number, got {word[:40]!r}"
    return f"the table must contain only numbers: {reason}"


def _split_named_columns(
    robot: Robot, header: list[str], numbers: F64
) -> tuple[F64 | None, F64 | None, F64, list[int]]:
    """Return positions, quaternions (x, y, z, w), angles and their columns of a table."""
    own = {name.lower(): at for at, name in enumerate(header)}
    names = (name for part in ROOT_COLUMNS for name in _list_root_names(part))
    root = [own[name] for name in names if name in own]
    others = [
        at for at, name in enumerate(header) if at not in root and name.lower() not in TIME_COLUMNS
    ]
    if len(root) not in (0, len(ROOT_COLUMNS)):
        raise CorruptionError(
            f"the header has {len(root)} of the root's columns; expected all of "
            f"{', '.join(ROOT_COLUMNS)}"
        )
    columns = match_columns_by_name(robot, [header[at] for at in others], "the table")
    angles = numbers[:, others]
    if not root:
        return None, None, angles, columns
    return numbers[:, root[:3]], numbers[:, root[3:]], angles, columns


def _list_root_names(part: str) -> tuple[str, ...]:
    axis = part[-1]
    if part.startswith("q"):
        return f"q{axis}", f"root_q{axis}", f"root_quat_{axis}", f"root_rot_{axis}", f"base_q{axis}"
    return axis, f"root_{axis}", f"root_pos_{axis}", f"base_{axis}"


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
