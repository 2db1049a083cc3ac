"""Clips of robots and of a walking person for the tests of the motion library."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mocpack.io.robots.files import read_robot
from mocpack.io.robots.motion import build_clip
from mocpack.model import rotations
from mocpack.model.clip import Clip
from mocpack.testing import walk
from robots import angles_for, mjcf, urdf

FRAMES = 40


def robot_clip(text: str, folder: Path, *, seed: int = 0, frames: int = FRAMES) -> Clip:
    """Return a motion of a robot, of its angles, root and ball joints, at 30 frames per second."""
    path = folder / f"robot{seed}{'.xml' if text.startswith('<mujoco') else '.urdf'}"
    path.write_text(text)
    robot = read_robot(path)
    rng = np.random.default_rng(seed)
    angles = angles_for(len(robot.hinges), frames=frames, seed=seed)
    angles = np.where(robot.hinges.slides, 0.1 * angles, angles)
    walked = np.cumsum(0.02 * rng.normal(size=(frames, 3)), axis=0)
    turned = np.cumsum(0.05 * rng.normal(size=(frames, 3)), axis=0)
    is_fixed = robot.floating is False
    local = np.tile(robot.skeleton.rest, (frames, 1, 1))
    for joint in robot.ball_joints:
        swing = rng.normal(size=3) * np.sin(0.1 * np.arange(frames)[:, np.newaxis])
        local[:, joint] = rotations.multiply(local[:, joint], rotations.from_rotvec(swing))
    return build_clip(
        robot,
        angles,
        None if is_fixed else walked + np.array([3, -2, 0.8]),
        None if is_fixed else rotations.from_rotvec(turned),
        fps=30,
        source="made",
        local=local,
    )


def robot_clips(folder: Path) -> dict[str, Clip]:
    """Return motions of robots with hinges, sliders, ball joints and fixed bodies, by name.

    The base of the last one is on hinges.
    """
    texts = [urdf(1), urdf(2), mjcf(3), mjcf(5), mjcf(7, free=False)]
    return {f"robot{k}": robot_clip(text, folder, seed=k) for k, text in enumerate(texts)}


def walking_clips() -> dict[str, Clip]:
    """Return motions of a person, by name."""
    return {f"walk{k}": walk(seconds, seed=k) for k, seconds in enumerate((1.0, 2.0, 0.5))}
