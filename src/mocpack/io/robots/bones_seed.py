"""Robot motion tables of BONES-SEED and of NVIDIA's SOMA retargeter.

A header names the columns: ``Frame``, ``root_translateX`` to ``Z`` in centimeters,
``root_rotateX`` to ``Z`` in degrees, then one column per joint in degrees, with or without the
suffix ``_dof``. Root rotations are about the fixed axes x, y, z in this order, R = Rz·Ry·Rx. There
are 120 frames per second.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np

from mocpack.common.arrays import F64
from mocpack.common.choice import list_names
from mocpack.errors import CorruptionError, UnsupportedClipError, UsageError
from mocpack.io.assumptions import warn_of_frame_rate
from mocpack.io.robots.kinematics import RobotMotion
from mocpack.io.robots.model import Robot
from mocpack.io.robots.motion import build_clip, match_columns_by_name, to_angles
from mocpack.model import rotations
from mocpack.model.clip import Clip

ROOT_COLUMNS = tuple(f"root_{part}{axis}" for part in ("translate", "rotate") for axis in "XYZ")
FRAME_COLUMN = "Frame"
FPS, CENTIMETER = 120.0, 0.01
MIN_ROOT_HEIGHT = 3.0  # units; a robot's root is higher in centimeters and lower in meters
DECIMALS = 6  # of centimeters and degrees


def is_header(names: Sequence[str]) -> bool:
    """Return whether a header names a column of the root as BONES-SEED does."""
    return any(name.lower() == column.lower() for name in names for column in ROOT_COLUMNS)


def read_columns(
    robot: Robot, header: Sequence[str], numbers: F64, *, unit: float | None, fps: float | None
) -> Clip:
    """Return the motion of named columns (T, N); `unit` is a unit of positions in meters."""
    place = {name.lower(): at for at, name in enumerate(header)}
    missing = [name for name in ROOT_COLUMNS if name.lower() not in place]
    if missing:
        raise CorruptionError(f"the table does not have the root's columns {list_names(missing)}")
    root = numbers[:, [place[name.lower()] for name in ROOT_COLUMNS]]
    own = {name.lower() for name in (FRAME_COLUMN, *ROOT_COLUMNS)}
    joints = [at for at, name in enumerate(header) if name.lower() not in own]
    columns = match_columns_by_name(robot, [header[at] for at in joints], "the table")
    slides = _list_slides(robot)
    if slides:
        raise UsageError(f"the table holds angles, but these joints slide: {list_names(slides)}")
    if FRAME_COLUMN.lower() in place and fps is None:
        _check_frames(numbers[:, place[FRAME_COLUMN.lower()]])
    height = float(np.median(root[:, 2]))
    if unit is None and abs(height) < MIN_ROOT_HEIGHT:
        raise CorruptionError(
            f"root_translateZ must be in centimeters, but its median is {height:.3g}; pass --unit "
            "m if it is in meters. Angles must be in degrees"
        )
    return build_clip(
        robot,
        to_angles(robot, np.deg2rad(numbers[:, joints]), columns),
        root[:, :3] * (CENTIMETER if unit is None else unit),
        rotations.from_euler(np.deg2rad(root[:, :2:-1]), "ZYX"),
        fps=fps,
        default_fps=FPS,
        source="BONES-SEED csv",
    )


def write(motion: RobotMotion) -> bytes:
    """Return a motion as a table with a header; the format has no place for a frame rate."""
    slides = _list_slides(motion.robot)
    if slides or motion.robot.floating is False:
        raise UnsupportedClipError(
            "BONES-SEED tables need a robot with a floating base and rotating joints"
            + (f"; these slide: {list_names(slides)}" if slides else "")
        )
    warn_of_frame_rate(motion.frame_rate, FPS, "a BONES-SEED table")
    positions, turns = motion.root_pose
    angles = [rotations.as_euler(turns, "ZYX")[:, ::-1], motion.angles]
    table = np.concatenate([positions / CENTIMETER, *map(np.rad2deg, angles)], axis=1)
    names = [FRAME_COLUMN, *ROOT_COLUMNS, *(f"{name}_dof" for name in motion.robot.hinges.names)]
    out = io.BytesIO()
    np.savetxt(
        out,
        np.concatenate([np.arange(len(table))[:, np.newaxis], table], axis=1),
        fmt=["%d"] + [f"%.{DECIMALS}f"] * table.shape[1],
        delimiter=",",
        header=",".join(names),
        comments="",
    )
    return out.getvalue()


def _check_frames(numbers: F64) -> None:
    """Raise if frames are missing or repeated, because the motion would change its speed."""
    wrong = np.flatnonzero(~(np.diff(numbers) == 1))
    if len(wrong):
        before, after = numbers[wrong[0] : wrong[0] + 2]
        raise CorruptionError(
            f"{FRAME_COLUMN} must count up by 1, got {after:.6g} after {before:.6g} in row "
            f"{wrong[0] + 2}; pass --fps if the rows are evenly spaced"
        )


def _list_slides(robot: Robot) -> list[str]:
    hinges = robot.hinges
    return [name for name, slides in zip(hinges.names, hinges.slides, strict=True) if slides]
