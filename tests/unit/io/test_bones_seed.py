"""Tables of BONES-SEED: centimeters, degrees and Euler angles, columns by name."""

import numpy as np
import pytest
from command_line import run, run_text

import mocpack
from mocpack.errors import CorruptionError, FormatError, UnsupportedClipError, UsageError
from mocpack.io import probes
from naming import names, naming

URDF = """<robot name="legs">
<link name="pelvis"/><link name="thigh"/><link name="shin"/><link name="foot"/>
<joint name="hip_pitch_joint" type="revolute"><parent link="pelvis"/><child link="thigh"/>
 <origin xyz="0 0.1 0"/><axis xyz="0 1 0"/><limit lower="-3" upper="3"/></joint>
<joint name="knee_joint" type="revolute"><parent link="thigh"/><child link="shin"/>
 <origin xyz="0 0 -0.4"/><axis xyz="0 1 0"/><limit lower="-3" upper="3"/></joint>
<joint name="ankle_roll_joint" type="revolute"><parent link="shin"/><child link="foot"/>
 <origin xyz="0 0 -0.4"/><axis xyz="1 0 0"/><limit lower="-3" upper="3"/></joint>
</robot>"""
ROOT = [f"root_{part}{axis}" for part in ("translate", "rotate") for axis in "XYZ"]
JOINTS = ["hip_pitch_joint", "knee_joint", "ankle_roll_joint"]
HEADER = ["Frame", *ROOT, *(f"{name}_dof" for name in JOINTS)]
ROWS = np.array(
    [
        [0, 10.0, -20.0, 85.0, 5.0, -10.0, 120.0, 30.0, -45.0, 8.0],
        [1, 10.5, -20.0, 85.5, 6.0, -11.0, 121.0, 31.0, -46.0, 7.0],
        [2, 11.0, -20.0, 86.0, 7.0, -12.0, 122.0, 32.0, -47.0, 6.0],
    ]
)


@pytest.fixture
def robot(tmp_path):
    path = tmp_path / "legs.urdf"
    path.write_text(URDF)
    return path


def table(rows=ROWS, header=HEADER):
    lines = [",".join(f"{number:.9g}" for number in row) for row in rows]
    return "\n".join([",".join(header), *lines, ""]).encode()


def read(robot, rows=ROWS, header=HEADER, **options):
    return mocpack.read_data(table(rows, header), name="a.csv", robot=robot, **options)


def matrix(axis, degrees):
    c, s = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    made = np.eye(3)
    first, second = [(1, 2), (2, 0), (0, 1)]["xyz".index(axis)]
    made[first, first] = made[second, second] = c
    made[first, second], made[second, first] = -s, s
    return made


def test_lengths_are_centimeters_angles_degrees_and_the_root_turns_about_fixed_axes(robot):
    clip = read(robot)
    assert clip.frame_rate == 120
    np.testing.assert_allclose(clip.angles, np.deg2rad(ROWS[:, 7:]), atol=1e-9)
    positions, _ = clip.source_root()
    np.testing.assert_allclose(positions, ROWS[:, 1:4] / 100, atol=1e-12)
    # the foot by matrices: about x first, z last
    x, y, z = ROWS[1, 4:7]
    root = matrix("z", z) @ matrix("y", y) @ matrix("x", x)
    thigh = root @ matrix("y", 31.0)
    shin = thigh @ matrix("y", -46.0)
    foot = positions[1] + root @ [0, 0.1, 0] + thigh @ [0, 0, -0.4] + shin @ [0, 0, -0.4]
    np.testing.assert_allclose(clip.source_points()[1, 3], foot, atol=1e-9)


def test_columns_are_matched_by_name_in_any_order_with_and_without_the_suffix(robot):
    expected = read(robot)
    order = [0, 6, 9, 3, 1, 2, 8, 4, 5, 7]
    for names_of in (HEADER, ["Frame", *ROOT, *JOINTS], [name.upper() for name in HEADER]):
        found = read(robot, ROWS[:, order], [names_of[at] for at in order])
        np.testing.assert_array_equal(found.angles, expected.angles)
        np.testing.assert_array_equal(found.positions(), expected.positions())
    np.testing.assert_array_equal(read(robot, ROWS[:, 1:], HEADER[1:]).angles, expected.angles)


def test_a_table_is_recognized_by_its_header_not_its_name(robot):
    assert probes.is_robot_table(table())
    assert mocpack.read_data(table(), name="a.txt", robot=robot).frame_count == 3
    with pytest.raises(FormatError, match=naming("--robot")):
        mocpack.read_data(table(), name="a.csv")


def test_rate_and_unit_are_those_that_the_user_names(robot):
    assert read(robot, fps=30).frame_rate == pytest.approx(30)
    meters = ROWS * ([1] + [0.01] * 3 + [1] * 6)
    positions, _ = read(robot, meters, unit="m").source_root()
    np.testing.assert_allclose(positions, ROWS[:, 1:4] / 100, atol=1e-12)
    with pytest.raises(CorruptionError, match=naming("a.csv root_translateZ 0.855 --unit")):
        read(robot, meters)
    with pytest.raises(UsageError, match=naming("a.csv")):
        read(robot, quaternion="wxyz")


def test_a_written_motion_round_trips(robot, tmp_path):
    clip = read(robot)
    mocpack.write(clip, tmp_path / "back.csv", dialect="bones-seed")
    lines = (tmp_path / "back.csv").read_text().splitlines()
    assert lines[0] == ",".join(HEADER)
    found = np.array([[float(word) for word in line.split(",")] for line in lines[1:]])
    np.testing.assert_allclose(found, ROWS, atol=1e-6)
    back = mocpack.read(tmp_path / "back.csv", robot=robot)
    np.testing.assert_allclose(back.positions(), clip.positions(), atol=1e-7)
    np.testing.assert_allclose(back.angles, clip.angles, atol=1e-7)


def test_a_packed_table_keeps_its_bound_and_every_command_takes_it(robot, tmp_path):
    (tmp_path / "wave.csv").write_bytes(table(np.repeat(ROWS[:1], 40, axis=0) + _ramp(40)))
    done = run(
        "compress", tmp_path / "wave.csv", "--robot", robot, "--max-error", "1mm", "-o",
        tmp_path / "wave.mocp",
    )  # fmt: skip
    assert done.returncode == 0
    clip, back = mocpack.read(tmp_path / "wave.csv", robot=robot), mocpack.read(
        tmp_path / "wave.mocp"
    )  # fmt: skip
    assert np.linalg.norm(back.positions() - clip.positions(), axis=-1).max() <= 1e-3
    written = run(
        "decompress", tmp_path / "wave.mocp", "-o", tmp_path / "b.csv", "--as", "bones-seed"
    )
    assert written.returncode == 0
    assert mocpack.read(tmp_path / "b.csv", robot=robot).frame_count == 40
    assert names(run_text("formats").stdout, "--as bones-seed")


def _ramp(count):
    steps = np.arange(count)[:, np.newaxis]
    return steps * [1, 0.5, 0.1, 0.1, 0.2, 0.1, 0.5, 0.3, -0.2, 0.1]


def without(*names_of):
    keep = [at for at, name in enumerate(HEADER) if name not in names_of]
    return ROWS[:, keep], [HEADER[at] for at in keep]


def changed(row, column, value):
    rows = ROWS.copy()
    rows[row, column] = value
    return rows, HEADER


@pytest.mark.parametrize(
    ("rows", "header", "named"),
    [
        (*without("root_rotateY"), "root_rotateY"),
        (*without("root_translateX", "root_translateZ"), "root_translateX root_translateZ"),
        (*without("knee_joint_dof"), "'legs' knee_joint"),
        (ROWS, [*HEADER[:-1], "elbow_joint_dof"], "'legs' ankle_roll_joint elbow_joint_dof"),
        (ROWS, [*HEADER[:-1], "knee_joint"], "'knee_joint'"),
        (ROWS, HEADER[:-1], "9 10"),
        (*changed(1, 8, np.nan), "joint"),
        (*changed(1, 2, np.inf), "root"),
        (*changed(1, 5, np.nan), "root"),
        (*changed(1, 0, 4), "Frame 4 0 2 --fps"),
        (*changed(2, 0, np.nan), "Frame nan 1"),
        (ROWS[:0], HEADER, "1"),
    ],
)
def test_errors_are_sentences(robot, rows, header, named):
    with pytest.raises(CorruptionError, match=naming(f"a.csv {named}")):
        read(robot, rows, header)


@pytest.mark.parametrize("word", ["", "abc", "1e999x", "0x10"])
def test_a_cell_that_is_not_a_number_is_refused(robot, word):
    data = table().replace(b"-45", word.encode())
    with pytest.raises(CorruptionError, match=naming("a.csv")):
        mocpack.read_data(data, name="a.csv", robot=robot)


def test_joints_that_slide_are_refused(robot, tmp_path):
    robot.write_text(
        URDF.replace('"ankle_roll_joint" type="revolute"', '"ankle_roll_joint" type="prismatic"')
    )
    with pytest.raises(UsageError, match=naming("a.csv ankle_roll_joint")):
        read(robot)
    rows = np.concatenate([np.zeros((3, 2)), np.ones((3, 1)), np.tile([0, 0, 0, 1.0], (3, 1))], 1)
    plain = "\n".join(
        ",".join(map(str, row)) for row in np.concatenate([rows, np.zeros((3, 3))], 1)
    )
    clip = mocpack.read_data(plain.encode(), name="b.csv", robot=robot)
    with pytest.raises(UnsupportedClipError, match=naming("ankle_roll_joint")):
        mocpack.write(clip, tmp_path / "c.csv", dialect="bones-seed")
