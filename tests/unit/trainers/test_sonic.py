"""The library for SONIC, on a stand-in for the part of SONIC that reads pickles."""

import importlib
import pickle
import sys
import types

import numpy as np
import pytest

from archives import write_archive
from mocpack.errors import UsageError
from mocpack.model import rotations
from mocpack.robots import robot_motion
from motion_library_clips import robot_clip
from robots import urdf


class StandIn:
    """What SONIC 1983e88 does with clips when it starts and when it reloads them."""

    def __init__(self, motion_file):
        self.load_data(motion_file)

    def load_data(self, motion_file):
        clips = sys.modules["gear_sonic.utils.motion_lib.motion_lib_base"].joblib.load(motion_file)
        self.clips = np.array(list(clips.values()))
        self.keys = np.array(list(clips))

    def reload(self, clip):
        found = self.clips[clip]
        assert "path" not in found
        assert "action" not in found.keys()  # noqa: SIM118
        assert "fps" in found.keys()  # noqa: SIM118
        frames = found["root_trans_offset"].shape[0]
        return {name: found[name][:frames] for name in ("root_trans_offset", "pose_aa", "dof")}


@pytest.fixture
def sonic(monkeypatch):
    names = ["gear_sonic", "gear_sonic.utils", "gear_sonic.utils.motion_lib"]
    made = {name: types.ModuleType(name) for name in names}
    base = types.ModuleType(f"{names[2]}.motion_lib_base")
    base.joblib = types.SimpleNamespace(load=lambda path: pickle.loads(path.read_bytes()))
    robot = types.ModuleType(f"{names[2]}.motion_lib_robot")
    robot.MotionLibRobot = StandIn
    made[names[2]].motion_lib_base, made[names[2]].motion_lib_robot = base, robot
    for name, module in {**made, base.__name__: base, robot.__name__: robot}.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "mocpack.trainers.sonic", raising=False)
    yield importlib.import_module("mocpack.trainers.sonic")
    sys.modules.pop("mocpack.trainers.sonic", None)


def test_clips_of_an_archive_are_those_of_a_pickle(sonic, tmp_path):
    clips = {f"clip{k}": robot_clip(urdf(1), tmp_path, seed=k, frames=20 + k) for k in range(3)}
    found = sonic.MotionLibRobot(str(write_archive(tmp_path / "all.mocps", clips)))
    assert found.keys.tolist() == list(clips)
    for number, clip in enumerate(clips.values()):
        motion, arrays = robot_motion(clip), found.reload(number)
        places, turns = motion.root_pose
        rows = list(motion.hinges.by_joint)
        assert found.clips[number]["fps"] == pytest.approx(30)
        assert arrays["root_trans_offset"] == pytest.approx(places, abs=1e-5)
        assert arrays["dof"] == pytest.approx(motion.angles[:, rows], abs=1e-5)
        pose = arrays["pose_aa"]
        assert pose.shape == (len(clip), 1 + len(rows), 3)
        root = rotations.from_rotvec(pose[:, 0].astype(np.float64))
        assert np.abs((root * turns).sum(axis=1)) == pytest.approx(1, abs=1e-6)
        expected = motion.angles[:, rows, np.newaxis] * motion.hinges.axes[rows]
        assert pose[:, 1:] == pytest.approx(expected, abs=1e-5)
        with pytest.raises(KeyError):
            found.clips[number]["smpl_joints"]


def test_pickles_are_read_as_before_and_after_an_archive(sonic, tmp_path):
    archive = write_archive(tmp_path / "all.mocps", {"a": robot_clip(urdf(1), tmp_path)})
    sonic.MotionLibRobot(str(archive))
    path = tmp_path / "clips.pkl"
    path.write_bytes(pickle.dumps({"walk": {"fps": 50.0}}))
    assert sonic.MotionLibRobot(path).keys.tolist() == ["walk"]


def test_clips_of_two_robots_are_an_error(sonic, tmp_path):
    clips = {f"robot{k}": robot_clip(urdf(k), tmp_path, seed=k) for k in (1, 2)}
    with pytest.raises(UsageError, match="2 robots"):
        sonic.MotionLibRobot(str(write_archive(tmp_path / "all.mocps", clips)))
