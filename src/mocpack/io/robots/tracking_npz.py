"""The .npz files of mjlab and BeyondMimic for training motion-tracking policies.

``fps``, ``joint_pos`` (T, N), ``joint_vel``, ``body_pos_w`` (T, B, 3), ``body_quat_w`` (T, B, 4) as
(w, x, y, z), ``body_lin_vel_w``, ``body_ang_vel_w``. mjlab uses MuJoCo's order of joints and
bodies, BeyondMimic Isaac's. Reading keeps only angles and root; writing computes the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mocpack.io import npz
from mocpack.io.npz import Arrays
from mocpack.io.robots.kinematics import RobotMotion
from mocpack.io.robots.model import Robot
from mocpack.io.robots.orders import BodyMotion, clip_from_bodies
from mocpack.io.robots.qpos import read_frame_rate, read_quaternion_order, read_table, read_words
from mocpack.model.clip import Clip

DEFAULT_ORDER = "wxyz"


def read(
    data: bytes, robot: Robot, *, fps: float | None = None, quaternion: str | None = None
) -> Clip:
    """Read a tracking file; its bodies reveal the order of its columns."""
    arrays = Arrays(data)
    given = BodyMotion(
        read_table(arrays, "joint_pos"),
        arrays.numbers("body_pos_w"),
        arrays.numbers("body_quat_w"),
        read_words(arrays, "joint_names"),
        read_words(arrays, "body_names"),
        quaternion or read_quaternion_order(arrays),
        DEFAULT_ORDER,
    )
    return clip_from_bodies(robot, given, read_frame_rate(arrays, fps), "tracking npz")


def write(motion: RobotMotion, rows: Sequence[int], bodies: Sequence[int]) -> bytes:
    """Return a tracking file with angles and bodies in these orders."""
    at, body = list(rows), list(bodies)
    positions, turns = motion.body_poses
    linear, angular = motion.body_velocities
    names = motion.robot.hinges.names
    return npz.pack(
        {
            "fps": np.array([motion.frame_rate], np.float32),
            "joint_pos": motion.angles[:, at].astype(np.float32),
            "joint_vel": motion.joint_velocities[:, at].astype(np.float32),
            "body_pos_w": positions[:, body].astype(np.float32),
            "body_quat_w": np.roll(turns[:, body], 1, axis=2).astype(np.float32),
            "body_lin_vel_w": linear[:, body].astype(np.float32),
            "body_ang_vel_w": angular[:, body].astype(np.float32),
            "joint_names": np.array([names[h] for h in at], np.str_),
            "body_names": np.array([motion.robot.bodies[b].name for b in body], np.str_),
            "quaternion_order": DEFAULT_ORDER,
        }
    )
