"""The baseline of robot labs: rounding, differences and xz."""

import importlib.util
import sys

import numpy as np
import pytest

import mocpack
import robots
from mocpack.bench.datasets import CHECKOUT
from mocpack.errors import UnsupportedClipError
from mocpack.io.robots.files import read_robot
from mocpack.model.clip import measure_error
from mocpack.testing import walk


@pytest.fixture
def codec():
    path = CHECKOUT / "benchmarks" / "rounded_xz.py"
    spec = importlib.util.spec_from_file_location("benchmarks_rounded_xz", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass looks itself up there
    spec.loader.exec_module(module)
    return module.RoundedXz()


def robot_clip(folder):
    (folder / "robot.urdf").write_text(robots.urdf(2))
    robot = read_robot(folder / "robot.urdf")
    angles = robots.angles_for(len(robot.hinges))
    root = np.zeros((len(angles), 3)), np.tile([0.0, 0.0, 0.0, 1.0], (len(angles), 1))
    others = {"up": "z", "frame_rate": 30, "metadata": robot.metadata()}
    return mocpack.Clip.from_angles(robot.skeleton, angles, *root, **others)


def test_a_robots_motion_round_trips_within_the_step(codec, tmp_path):
    clip = robot_clip(tmp_path)
    back = codec.decode(codec.encode(clip), clip.header)
    assert measure_error(clip, back).max < 0.02
    assert np.array_equal(back.rotations, codec.rounded(clip).rotations)


def test_a_clip_without_hinges_is_refused(codec):
    with pytest.raises(UnsupportedClipError, match="hinges"):
        codec.encode(walk(0.2))
