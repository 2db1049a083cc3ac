"""Random robots keep both bounds in Python and in C."""

from pathlib import Path

import numpy as np
import pytest
from native_reader import read_clip

import mocpack
import robots
from mocpack.io.robots.motion import build_clip
from mocpack.metrics.angles import largest_angle
from mocpack.model.clip import measure_error
from mocpack.robots import read_robot

MAX_ERROR, MAX_ANGLE = 1e-3, 0.005


def made(folder: Path, seed: int) -> mocpack.Clip:
    """Return a motion of a robot made from a seed: URDF, or MJCF without joints that are balls."""
    path = folder / ("robot.urdf" if seed % 2 else "robot.xml")
    path.write_text(robots.urdf(seed, links=8 + seed) if seed % 2 else robots.mjcf(seed, bodies=8))
    robot = read_robot(path)
    angles = robots.angles_for(len(robot.hinges), frames=45, seed=seed)
    lowest, highest = robot.hinges.limits.T
    angles = np.clip(angles, lowest, highest)
    angles[:, robot.hinges.slides] *= 0.1
    time = np.arange(len(angles))[:, np.newaxis] / 30
    places = np.concatenate([time, 0.1 * np.sin(3 * time), 0.9 + 0 * time], axis=1)
    turns = mocpack.rotations.from_rotvec(0.3 * np.sin(time * [2.0, 3.0, 1.0]))
    return build_clip(robot, angles, places, turns, fps=30.0, source="test")


@pytest.mark.parametrize("seed", range(20))
def test_any_robot_keeps_its_bounds_in_python_and_in_c(read_in_c, tmp_path, seed):
    clip = made(tmp_path, seed)
    for given in ({}, {"max_angle": mocpack.rad(MAX_ANGLE)}):
        path = tmp_path / "robot.mocp"
        path.write_bytes(mocpack.encode(clip, max_error="1mm", **given))
        back = mocpack.read(path)
        native = read_clip(read_in_c, path, back)
        np.testing.assert_allclose(native.rotations, back.rotations, atol=1e-9)
        for found in (back, native):
            assert measure_error(clip, found).max <= MAX_ERROR
            assert not given or largest_angle(clip, found) <= MAX_ANGLE
            angles, limits = found.hinge_angles().angles, clip.skeleton.hinges.limits
            kept = clip.hinge_angles().angles
            within = ((kept >= limits[:, 0] - 1e-9) & (kept <= limits[:, 1] + 1e-9)).all(axis=0)
            past = np.maximum(limits[:, 0] - angles, angles - limits[:, 1])[:, within]
            assert past.max(initial=0.0) <= 1e-9
