"""Robot motions for training code: positions, body poses and velocities of a clip.

motion = robot_motion(mocpack.open("dance.mocp")[0:60])
motion.qpos  # (60, 36) for a G1
motion.body_poses  # positions (60, 30, 3) and rotations (60, 30, 4), in the robot's world

If you need only `qpos`, `QposWindows` is faster.
"""

from __future__ import annotations

import numpy as np

from mocpack import _core
from mocpack.common.arrays import F64
from mocpack.errors import UnsupportedClipError
from mocpack.io.robots.files import read_robot
from mocpack.io.robots.kinematics import RobotMotion, robot_motion
from mocpack.io.robots.model import Robot, find_ball_joints, has_floating_base
from mocpack.model import rotations, space
from mocpack.motion import Motion

__all__ = ["QposWindows", "Robot", "RobotMotion", "read_robot", "robot_motion"]


class QposWindows:
    """Read windows of MuJoCo's positions from an open file.

    windows = QposWindows(mocpack.open("dance.mocp"))
    windows.read(120, 180)  # (60, 36) for a G1; equals robot_motion(motion.frames(120, 180)).qpos

    Parameters
    ----------
    motion : Motion
        A robot's motion: its skeleton has hinges.
    """

    def __init__(self, motion: Motion) -> None:
        self.motion = motion
        header = motion.header
        hinges = getattr(header.skeleton, "hinges", None)
        if hinges is None:
            raise UnsupportedClipError(
                "expected a robot's motion, but the skeleton of this file has no hinges"
            )
        # The fast path: a floating root with only hinge joints below it. Then qpos is the root
        # followed by the angles, joint by joint.
        self._is_floating_tree = (
            has_floating_base(header.metadata)
            and header.translated_joints[:1] == (0,)
            and header.handedness == "right"
            and len(header.skeleton.roots) == 1
            and 0 not in hinges.joints
            and not find_ball_joints(header.skeleton)
        )
        if self._is_floating_tree:
            self._native = header.skeleton.to_core(header.translated_joints)
            self._width = 7 + len(hinges)
            self._axes = space.conversion_matrix(header.up, "right")
            self._turn = rotations.conjugate(rotations.from_matrix(self._axes))

    def read(self, start: int, stop: int) -> F64:
        """Return frames `start` to `stop` (exclusive) as (T, nq), quaternions (w, x, y, z)."""
        if not self._is_floating_tree:
            return robot_motion(self.motion.frames(start, stop)).qpos
        turns, places = self.motion.arrays(start, stop)
        qpos = np.empty((len(turns), self._width))
        qpos[:, :3] = places[:, 0] @ self._axes
        root_rotations = rotations.multiply(self._turn, turns[:, 0])
        qpos[:, 3], qpos[:, 4:7] = root_rotations[:, 3], root_rotations[:, :3]
        qpos[:, 7:] = _core.hinge_angles(self._native, turns, places)
        return qpos
