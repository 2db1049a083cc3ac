"""Motions of robots as training code wants them: positions, bodies and velocities of a clip.

motion = robot_motion(mocpack.open("dance.mocp")[0:60])
motion.qpos  # (60, 36) of a G1
motion.bodies  # places (60, 30, 3) and rotations (60, 30, 4), in the robot's world
"""

from __future__ import annotations

from mocpack.io.robots.files import read_robot
from mocpack.io.robots.kinematics import RobotMotion, robot_motion
from mocpack.io.robots.model import Robot

__all__ = ["Robot", "RobotMotion", "read_robot", "robot_motion"]
