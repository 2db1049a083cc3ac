"""Motions of robots as training code wants them: positions, bodies and velocities of a clip.

>>> motion = robot_motion(mocpack.open("dance.mocp").frames(0, 60))  # doctest: +SKIP
>>> motion.qpos.shape, motion.bodies[0].shape  # doctest: +SKIP
((60, 36), (60, 30, 3))
"""

from __future__ import annotations

from mocpack.io.robots.files import read_robot
from mocpack.io.robots.kinematics import RobotMotion, robot_motion
from mocpack.io.robots.model import Robot

__all__ = ["Robot", "RobotMotion", "read_robot", "robot_motion"]
