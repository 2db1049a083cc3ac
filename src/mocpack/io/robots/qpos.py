"""MuJoCo's generalized positions (qpos): root, ball joints and angles of a frame in one row.

In the order of MuJoCo's joints, depth first: a free root has a position and a quaternion (w, x, y,
z), a ball joint a quaternion, a hinge an angle, a slide a distance.
"""

from __future__ import annotations

import numpy as np

from mocpack.common.arrays import F64
from mocpack.errors import CorruptionError
from mocpack.io.npz import Arrays
from mocpack.io.robots.model import Robot
from mocpack.io.robots.motion import build_clip, match_columns_by_name, parse_quaternions
from mocpack.model import rotations
from mocpack.model.clip import Clip

DEFAULT_ORDER = "wxyz"
RATE_KEYS = ("fps", "frame_rate", "framerate", "frequency")
STEP_KEYS = ("dt", "timestep", "frame_time")


def read(
    data: bytes, robot: Robot, *, fps: float | None = None, quaternion: str | None = None
) -> Clip:
    """Read an .npz file with `qpos` (T, nq) and optionally `fps`."""
    arrays = Arrays(data)
    return clip_from_qpos(
        robot,
        read_table(arrays, "qpos"),
        read_frame_rate(arrays, fps),
        names=read_words(arrays, "joint_names"),
        order=quaternion or read_quaternion_order(arrays),
        source="qpos npz",
    )


def clip_from_qpos(
    robot: Robot,
    numbers: F64,
    fps: float | None,
    *,
    names: list[str] | None = None,
    order: str | None = None,
    source: str,
) -> Clip:
    """Return the clip of rows (T, nq); `names` are joint names in column order, if known."""
    rows, balls = list(robot.hinges.by_joint), robot.ball_joints
    root = 0 if robot.floating is False else 7
    width = root + 4 * len(balls) + len(rows)
    if robot.floating is None and numbers.shape[1] == width - root:
        root, width = 0, width - root
    if numbers.shape[1] != width:
        raise CorruptionError(
            f"qpos has {numbers.shape[1]} columns, but the robot {robot.name!r} has {width}: "
            f"root {root}, ball joints {4 * len(balls)}, angles {len(rows)} "
            f"({', '.join(robot.hinges.names[h] for h in rows)})"
        )
    positions = numbers[:, :3] if root else None
    turns = None
    if root:
        turns = parse_quaternions(numbers[:, 3:7], order, DEFAULT_ORDER, "the root's quaternions")
    angles = np.zeros((len(numbers), len(rows)))
    local = np.tile(robot.skeleton.rest, (len(numbers), 1, 1))
    at = root
    columns: list[int] = []
    for j in range(len(robot.skeleton)):
        if j in balls:
            ball = parse_quaternions(
                numbers[:, at : at + 4], order or DEFAULT_ORDER, DEFAULT_ORDER, "a ball's turns"
            )
            local[:, j] = rotations.multiply(robot.skeleton.rest[j], ball)
            at += 4
        for h in rows:
            if robot.hinges.joints[h] == j:
                columns.append(at)
                angles[:, h] = numbers[:, at]
                at += 1
    if names is not None:
        if len(names) != len(rows):
            names = (
                names[-len(rows) :] if len(names) == len(rows) + 1 else names
            )  # without the root's name
        order_in_file = match_columns_by_name(robot, names, "joint_names")
        angles = numbers[:, [columns[column] for column in order_in_file]]
    return build_clip(robot, angles, positions, turns, fps=fps, source=source, local=local)


def read_frame_rate(arrays: Arrays, fps: float | None) -> float | None:
    """Return the frame rate given by the user or the file, or None."""
    if fps is not None:
        return fps
    for name in RATE_KEYS:
        if name in arrays:
            return arrays.number(name, 0.0)
    for name in STEP_KEYS:
        if name in arrays:
            step = arrays.number(name, 0.0)
            if not step > 0:
                raise CorruptionError(f"{name} must be above 0, got {step}")
            return 1 / step
    return None


def read_table(arrays: Arrays, name: str) -> F64:
    rows = arrays.numbers(name)
    if rows.ndim != 2 or not len(rows):
        raise CorruptionError(f"{name} must be a table with one row per frame, got {rows.shape}")
    return rows


def read_words(arrays: Arrays, name: str) -> list[str] | None:
    """Return an array of texts as a list, or None if it is missing."""
    return arrays.texts(name) if name in arrays else None


def read_quaternion_order(arrays: Arrays) -> str | None:
    return "".join(arrays.texts("quaternion_order")) or None
