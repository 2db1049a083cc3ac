"""Training files of robots: written, read back and checked by their body positions."""

import io
import pickle

import numpy as np
import pytest

import mocpack
import robots
from mocpack.errors import (
    CorruptionError,
    FormatError,
    HingeWarning,
    UnsupportedClipError,
    UsageError,
)
from mocpack.io import npz, write_bytes
from mocpack.io.robots.files import read_robot
from mocpack.io.robots.kinematics import robot_motion
from mocpack.io.robots.motion import build_clip
from mocpack.io.robots.orders import (
    list_bodies_breadth_first,
    list_hinges_breadth_first,
    list_hinges_depth_first,
)
from mocpack.io.table import ROBOT_DIALECTS
from mocpack.model import rotations
from mocpack.testing import walk
from naming import naming

SLIDING = [name for name in ROBOT_DIALECTS if name != "bones-seed"]  # dialects of joints that slide


@pytest.fixture(scope="module")
def robot_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("robot") / "robot.urdf"
    path.write_text(robots.urdf(5, links=14))
    return path


@pytest.fixture(scope="module")
def clip(robot_file):
    return motion_of(read_robot(robot_file))


def motion_of(robot, frames=50):
    rng = np.random.default_rng(2)
    angles = robots.angles_for(len(robot.hinges), frames=frames, seed=4)
    time = np.arange(frames)[:, None] / 50
    turns = rotations.from_rotvec(0.4 * np.sin(time * [2, 3, 1] + rng.uniform(0, 6, 3)))
    places = np.concatenate([time, np.sin(time), 0.8 + 0 * time], axis=1)
    return build_clip(robot, angles, places, turns, fps=50.0, source="test")


def poses(clip):
    motion = robot_motion(clip)
    return motion.body_poses


@pytest.mark.parametrize("name", SLIDING)
def test_a_motion_of_every_dialect_needs_the_robot_that_it_moves(clip, tmp_path, name):
    path = tmp_path / f"motion{ROBOT_DIALECTS[name][0]}"
    mocpack.write(clip, path, dialect=name)
    with pytest.raises(FormatError, match=naming("--robot")):
        mocpack.read(path, allow_pickle=True)


@pytest.mark.parametrize("name", SLIDING)
def test_a_unit_scales_a_table_and_is_refused_of_files_in_meters(clip, robot_file, tmp_path, name):
    path = tmp_path / f"motion{ROBOT_DIALECTS[name][0]}"
    mocpack.write(clip, path, dialect=name)
    given = {"robot": robot_file, "unit": "cm", "allow_pickle": True}
    if name != "csv":
        with pytest.raises(UsageError, match=naming(f"{path.name} unit")):
            mocpack.read(path, **given)
        return
    places, _ = mocpack.read(path, **given).source_root()
    np.testing.assert_allclose(places, clip.source_root()[0] / 100, atol=1e-8)


@pytest.mark.parametrize("name", SLIDING)
def test_every_dialect_round_trips_by_itself(clip, robot_file, tmp_path, name):
    path = tmp_path / f"motion{ROBOT_DIALECTS[name][0]}"
    mocpack.write(clip, path, dialect=name)
    fps = 50 if name == "csv" else None
    back = mocpack.read(path, robot=robot_file, fps=fps, allow_pickle=True)
    assert back.frame_rate == pytest.approx(50)
    assert back.skeleton.hinges == clip.skeleton.hinges
    np.testing.assert_allclose(back.angles, clip.angles, atol=2e-6)
    for found, expected in zip(back.source_root(), clip.source_root(), strict=True):
        np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=2e-6)


def test_the_tracking_file_has_the_fields_and_shapes_that_training_reads(clip):
    arrays = npz.Arrays(write_bytes(clip, ".npz", "mjlab"))
    bodies, angles = len(robot_motion(clip).robot.bodies), clip.angles.shape[1]
    shapes = {
        "joint_pos": (50, angles),
        "joint_vel": (50, angles),
        "body_pos_w": (50, bodies, 3),
        "body_quat_w": (50, bodies, 4),
        "body_lin_vel_w": (50, bodies, 3),
        "body_ang_vel_w": (50, bodies, 3),
    }
    for name, shape in shapes.items():
        assert arrays.read(name).shape == shape
        assert arrays.read(name).dtype == np.float32
    assert arrays.number("fps", 0) == 50
    w = arrays.read("body_quat_w")[:, 0, 0]
    assert (np.abs(w) > 0.8).all()  # the root hardly turns, so that w comes first


def test_isaac_counts_joints_and_bodies_breadth_first(tmp_path):
    path = tmp_path / "tree.urdf"
    lines = [f'<link name="{name}"/>' for name in "rabcd"]
    for child, parent in (("a", "r"), ("c", "a"), ("b", "r"), ("d", "b")):
        lines.append(
            f'<joint name="j{child}" type="continuous"><parent link="{parent}"/>'
            f'<child link="{child}"/><axis xyz="1 0 0"/></joint>'
        )
    path.write_text(f"<robot>{''.join(lines)}</robot>")
    robot = read_robot(path)
    names = robot.hinges.names
    assert [names[h] for h in list_hinges_depth_first(robot)] == ["ja", "jc", "jb", "jd"]
    assert [names[h] for h in list_hinges_breadth_first(robot)] == ["ja", "jb", "jc", "jd"]
    assert [robot.bodies[b].name for b in list_bodies_breadth_first(robot)] == list("rabcd")


@pytest.mark.parametrize("dialect", ["mjlab", "beyondmimic"])
@pytest.mark.parametrize("order", ["wxyz", "xyzw"])
def test_without_names_the_order_of_columns_is_found_by_the_bodies(
    clip, robot_file, dialect, order
):
    arrays = npz.Arrays(write_bytes(clip, ".npz", dialect))
    kept = {n: arrays.read(n) for n in ("fps", "joint_pos", "body_pos_w", "body_quat_w")}
    if order == "xyzw":
        kept["body_quat_w"] = np.roll(kept["body_quat_w"], -1, axis=2)
    back = mocpack.read_data(npz.pack(kept), name="m.npz", robot=robot_file)
    np.testing.assert_allclose(back.angles, clip.angles, atol=2e-6)


def test_bodies_in_another_order_are_an_error_that_lists_names(clip, robot_file):
    arrays = npz.Arrays(write_bytes(clip, ".npz", "mjlab"))
    kept = {n: arrays.read(n) for n in ("fps", "joint_pos", "body_pos_w", "body_quat_w")}
    kept["body_pos_w"] = kept["body_pos_w"][:, ::-1]
    with pytest.raises(CorruptionError, match=naming("m.npz 'link8' 'made' joint1")):
        mocpack.read_data(npz.pack(kept), name="m.npz", robot=robot_file)
    kept["body_pos_w"] = arrays.read("body_pos_w")[:, :-1]
    with pytest.raises(CorruptionError, match=naming("(50, 3) 10, 4) 11,")):
        mocpack.read_data(npz.pack(kept), name="m.npz", robot=robot_file)
    kept["body_quat_w"] = kept["body_quat_w"][:, :-1]
    with pytest.raises(CorruptionError, match=naming("m.npz 10 'made' 11 link0")):
        mocpack.read_data(npz.pack(kept), name="m.npz", robot=robot_file)


def test_names_that_say_another_order_than_the_bodies_are_an_error(clip, robot_file):
    arrays = npz.Arrays(write_bytes(clip, ".npz", "mjlab"))
    kept = {n: arrays.read(n, kinds="fiuUS") for n in arrays.names()}
    names = kept["joint_names"].copy()
    names[[0, 1]] = names[[1, 0]]
    with pytest.raises(CorruptionError, match=naming("m.npz 'link12' 'made'")):
        mocpack.read_data(npz.pack(kept | {"joint_names": names}), name="m.npz", robot=robot_file)
    strange = np.array([*kept["joint_names"][:-1], "tail"])
    with pytest.raises(CorruptionError, match=naming("m.npz 'made' joint2 tail")):
        mocpack.read_data(npz.pack(kept | {"joint_names": strange}), name="m.npz", robot=robot_file)


def test_qpos_of_another_width_is_an_error_that_lists_names(robot_file):
    data = npz.pack({"qpos": np.zeros((3, 5))})
    with pytest.raises(CorruptionError, match=naming("qpos 5 'made' 17 joint1")):
        mocpack.read_data(data, name="m.npz", robot=robot_file)
    with pytest.raises(FormatError, match="--robot"):
        mocpack.read_data(data, name="m.npz")


def test_a_pickle_is_read_only_when_allowed(clip, robot_file):
    data = write_bytes(clip, ".pkl", "gmr")
    with pytest.raises(FormatError, match="--allow-pickle"):
        mocpack.read_data(data, name="m.pkl", robot=robot_file)


def test_asap_pickles_of_joblib_are_read_by_name(clip, robot_file):
    joblib = pytest.importorskip("joblib")
    motion = robot_motion(clip)
    root, turned = motion.root_pose
    one = {
        "root_trans_offset": root.astype(np.float32),
        "root_rot": turned,
        "dof": motion.angles[:, list_hinges_depth_first(motion.robot)],
        "fps": 50,
        "pose_aa": np.zeros((50, 3, 3), np.float32),
    }
    for compress in (0, 3):
        for several in (False, True):
            buffer = io.BytesIO()
            joblib.dump({"a": one} | ({"b": one} if several else {}), buffer, compress=compress)
            name = "b" if several else None
            given = {"robot": robot_file, "allow_pickle": True, "clip": name}
            back = mocpack.read_data(buffer.getvalue(), name="m.pkl", **given)
            np.testing.assert_allclose(back.angles, clip.angles, atol=1e-9)
            assert back.frame_rate == pytest.approx(50)
    with pytest.raises(UsageError, match=naming("m.pkl 2 --clip a b")):
        mocpack.read_data(buffer.getvalue(), name="m.pkl", robot=robot_file, allow_pickle=True)


def test_wrong_body_positions_in_a_pickle_are_an_error(clip, robot_file):
    found = pickle.loads(write_bytes(clip, ".pkl", "gmr"))
    del found["joint_names"]
    found["dof_pos"] = found["dof_pos"][:, ::-1]
    with pytest.raises(CorruptionError, match=naming("m.pkl 'link5' 'made'")):
        mocpack.read_data(pickle.dumps(found), name="m.pkl", robot=robot_file, allow_pickle=True)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"dof_pos": None}, "dof_pos NoneType"),
        ({"dof_pos": np.zeros((50, 2))}, "dof_pos 2 10"),
        ({"dof_pos": np.zeros((50, 2)), "joint_names": None}, "2 'made' 10 joint10"),
        ({"joint_names": 7}, "joint_names int"),
        ({"root_rot": np.zeros((50, 4))}, "frame 0 [0."),
        ({"root_rot": np.zeros((3, 4))}, "root_rot (50, 4) (3,"),
        ({"fps": 0}, "0.001..1000000 0"),
        ({"fps": "fast"}, "fps str"),
        ({"root_pos": np.full((50, 3), np.nan)}, "root positions"),
    ],
)
def test_a_pickle_that_is_no_motion_is_a_clear_error(clip, robot_file, change, named):
    found = pickle.loads(write_bytes(clip, ".pkl", "gmr")) | change
    found["local_body_pos"] = None
    with pytest.raises(CorruptionError, match=naming(named)):
        mocpack.read_data(pickle.dumps(found), name="m.pkl", robot=robot_file, allow_pickle=True)


def test_a_codec_that_leaves_the_hinges_warns_and_the_file_is_on_them(clip):
    tilted = clip.rotations.copy()
    joint = clip.skeleton.hinges.joints[0]
    tilted[:, joint] = rotations.multiply(
        tilted[:, joint], rotations.from_rotvec(np.array([0.02, 0.02, -0.02]))
    )
    bent = mocpack.Clip(clip.header, tilted, clip.translations)
    with pytest.warns(HingeWarning, match=naming("hinges")):
        data = write_bytes(bent, ".npz", "mjlab")
    places = npz.Arrays(data).read("body_pos_w")
    straight = mocpack.Clip.from_angles(
        bent.skeleton, bent.hinge_angles().angles, *bent.source_root(), up="z"
    )
    np.testing.assert_allclose(places, poses(straight)[0], atol=1e-5)


def test_clips_of_other_bodies_cannot_be_written_as_robot_motions(tmp_path):
    with pytest.raises(UnsupportedClipError, match=naming("hinges")):
        mocpack.write(walk(0.1), tmp_path / "a.npz", dialect="mjlab")
    with pytest.raises(UnsupportedClipError, match=naming("hinges")):
        mocpack.write(walk(0.1), tmp_path / "a.csv")
    with pytest.raises(UsageError, match=naming("'isaac' mjlab csv")):
        mocpack.write(walk(0.1), tmp_path / "a.npz", dialect="isaac")
    with pytest.raises(UsageError, match=naming("mjlab .npz '.csv'")):
        mocpack.write(walk(0.1), tmp_path / "a.csv", dialect="mjlab")
