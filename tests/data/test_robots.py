"""Real robots: Unitree's G1 and H1 with LAFAN1's motions, compared with MuJoCo's kinematics."""

import io
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import mocpack
from mocpack.io import write_bytes
from mocpack.model import rotations
from mocpack.model.clip import measure_error
from mocpack.robots import read_robot, robot_motion


def robot_from_metadata(data, name):
    [path] = (data / "robot").glob(f"{name.split('-')[0]}*.urdf")
    return path


@pytest.fixture
def robots(data):
    folder = Path(data) / "robot"
    if not folder.exists():
        pytest.skip("there is no folder robot")
    return folder


NAMES = ("g1-dance1_subject1", "h1-dance1_subject1")


@pytest.mark.parametrize("name", NAMES)
def test_the_angles_of_the_table_round_trip(robots, name):
    clip = mocpack.read(robots / f"{name}.csv", robot=robot_from_metadata(robots.parent, name))
    numbers = np.loadtxt(robots / f"{name}.csv", delimiter=",")
    np.testing.assert_allclose(clip.angles, numbers[:, 7:], atol=1e-9)
    np.testing.assert_allclose(clip.source_root()[0], numbers[:, :3], atol=1e-12)
    assert "full_turns_dropped" not in clip.metadata
    low, high = clip.skeleton.hinges.limits.T
    assert ((clip.angles > low - 0.35) & (clip.angles < high + 0.35)).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_robot_is_packed_within_its_bound_and_keeps_its_hinges(robots, name):
    clip = mocpack.read(
        robots / f"{name}.csv", robot=robot_from_metadata(robots.parent, name)
    ).frames(0, 300)
    back = mocpack.decode(mocpack.encode(clip, max_error="1mm", effort="fast"))
    assert measure_error(clip, back).max <= 1e-3
    assert back.skeleton.hinges == clip.skeleton.hinges


@pytest.mark.parametrize("dialect", ["mjlab", "beyondmimic"])
@pytest.mark.parametrize("name", NAMES)
def test_exported_bodies_stand_where_mujoco_puts_them_in_any_order(robots, tmp_path, name, dialect):
    mujoco = pytest.importorskip("mujoco")
    text = robot_from_metadata(robots.parent, name).read_text()
    text = re.sub(r"<(visual|collision)>.*?</\1>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    root = read_robot(robot_from_metadata(robots.parent, name)).skeleton.names[0]
    joints = re.findall(r"<joint .*?</joint>", text, flags=re.DOTALL)
    shuffled = [joints[k] for k in np.random.default_rng(0).permutation(len(joints))]
    rest = re.sub(r"<joint .*?</joint>", "", text, flags=re.DOTALL)
    free = (
        '<link name="world"/><joint name="free" type="floating"><parent link="world"/>'
        f'<child link="{root}"/></joint></robot>'
    )
    path = tmp_path / "robot.urdf"
    path.write_text(rest.replace("</robot>", "".join(shuffled) + free))
    own = mocpack.read(
        robots / f"{name}.csv", robot=robot_from_metadata(robots.parent, name)
    ).frames(0, 200)
    names = list(own.skeleton.hinges.names)
    other = read_robot(path)
    order = [names.index(joint) for joint in other.hinges.names]
    assert order != sorted(order)
    clip = mocpack.Clip.from_angles(
        other.skeleton, own.angles[:, order], *own.source_root(), up="z", frame_rate=30,
        metadata=other.metadata(),
    )  # fmt: skip
    model = mujoco.MjModel.from_xml_path(str(path))
    state = mujoco.MjData(model)
    with np.load(io.BytesIO(write_bytes(clip, ".npz", dialect))) as arrays:
        columns = [int(model.joint(str(j)).qposadr[0]) for j in arrays["joint_names"]]
        bodies = [model.body(str(b)).id for b in arrays["body_names"]]
        for t in range(0, 200, 7):
            state.qpos[:3] = arrays["body_pos_w"][t, 0]
            state.qpos[3:7] = arrays["body_quat_w"][t, 0]
            state.qpos[columns] = arrays["joint_pos"][t]
            mujoco.mj_kinematics(model, state)
            np.testing.assert_allclose(arrays["body_pos_w"][t], state.xpos[bodies], atol=1e-5)
            found = np.roll(arrays["body_quat_w"][t].astype(float), -1, axis=1)
            turned = np.roll(state.xquat[bodies], -1, axis=1)
            assert rotations.angle_between(rotations.normalize(found), turned).max() < 1e-5


def test_every_dialect_of_a_packed_robot_round_trips(robots, tmp_path):
    name = NAMES[0]
    robot = robot_from_metadata(robots.parent, name)
    clip = mocpack.read(robots / f"{name}.csv", robot=robot).frames(0, 200)
    packed = mocpack.decode(mocpack.encode(clip, max_error="1mm", effort="fast"))
    for dialect, ending in (
        ("mjlab", "npz"),
        ("beyondmimic", "npz"),
        ("qpos", "npz"),
        ("gmr", "pkl"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mocpack.errors.HingeWarning)
            mocpack.write(packed, tmp_path / f"m.{ending}", dialect=dialect)
        back = mocpack.read(tmp_path / f"m.{ending}", robot=robot, allow_pickle=True)
        np.testing.assert_allclose(back.angles, packed.hinge_angles().angles, atol=1e-5)
        np.testing.assert_allclose(
            robot_motion(back).body_poses[0], robot_motion(packed).body_poses[0], atol=1e-4
        )
