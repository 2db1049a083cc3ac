"""Robot files and motions: columns by name, errors that list names, hostile XML."""

import json

import numpy as np
import pytest
from command_line import run_text as run

import mocpack
import robots
from mocpack.errors import CorruptionError, FormatError, UnsupportedClipError, UsageError
from mocpack.io.robots.files import read_robot
from mocpack.io.robots.kinematics import robot_motion
from mocpack.io.robots.model import robot_from_metadata
from mocpack.io.robots.qpos import clip_from_qpos
from mocpack.io.robots.xml_tree import parse
from mocpack.model import rotations
from mocpack.robots import QposWindows
from mocpack.testing import walk
from naming import names, naming

ARM = """<robot name="arm">
<link name="base"/><link name="upper"/><link name="lower"/><link name="hand"/><link name="tip"/>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
 <origin xyz="0 0 0.3" rpy="0 0 1.5"/><axis xyz="0 2 0"/><limit lower="-1" upper="2.5"/></joint>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
 <origin xyz="0 0.1 0.2"/><axis xyz="0 0 -1"/></joint>
<joint name="slide" type="prismatic"><parent link="lower"/><child link="hand"/><axis xyz="1 0 0"/>
 <limit lower="0" upper="0.2"/></joint>
<joint name="weld" type="fixed"><parent link="hand"/><child link="tip"/>
 <origin xyz="0.1 0 0"/></joint>
</robot>"""


@pytest.fixture
def arm(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    return path


def rows(angles, places=None, turns=None):
    places = np.zeros((len(angles), 3)) if places is None else places
    turns = np.tile([0, 0, 0, 1.0], (len(angles), 1)) if turns is None else turns
    return np.concatenate([places, turns, angles], axis=1)


def table(numbers, header=None):
    lines = [] if header is None else [",".join(header)]
    return "\n".join([*lines, *(",".join(f"{x:.6f}" for x in row) for row in numbers)]).encode()


def test_a_urdf_is_a_skeleton_with_hinges_in_the_order_of_the_file(arm):
    robot = read_robot(arm)
    assert robot.skeleton.names == ("base", "upper", "lower", "hand")
    assert robot.hinges.names == ("elbow", "shoulder", "slide")
    assert robot.hinges.joints == (2, 1, 3)
    np.testing.assert_array_equal(robot.hinges.axes, [[0, 1, 0], [0, 0, -1], [1, 0, 0]])
    np.testing.assert_array_equal(robot.hinges.limits, [[-1, 2.5], [-np.inf, np.inf], [0, 0.2]])
    # the fixed link is a bone end
    assert robot.skeleton.end_site_joints == (3,)
    np.testing.assert_array_equal(robot.skeleton.end_sites, [[0.1, 0, 0]])
    assert [body.name for body in robot.bodies] == ["base", "upper", "lower", "hand"]


def test_a_table_without_header_has_root_and_angles_in_the_order_of_the_urdf(arm, tmp_path):
    angles = np.array([[0.5, -0.3, 0.1], [0.6, -0.2, 0.15]])
    places = np.array([[0.1, 0.2, 0.9], [0.1, 0.25, 0.9]])
    turn = [0.0, 0.0, np.sin(0.2), np.cos(0.2)]
    path = tmp_path / "dance.csv"
    path.write_bytes(table(rows(angles, places, np.array([turn, turn]))))
    clip = mocpack.read(path, robot=arm)
    assert clip.frame_rate == 30
    assert mocpack.read(path, robot=arm, fps=50).frame_rate == pytest.approx(50)
    np.testing.assert_allclose(clip.angles, angles, atol=1e-9)
    found, turned = clip.source_root()
    np.testing.assert_allclose(found, places, atol=1e-12)
    np.testing.assert_allclose(np.abs(turned), np.abs([turn, turn]), atol=1e-6)
    # z is up in the robot's world, y inside
    np.testing.assert_allclose(clip.positions()[:, 0, 1], 0.9, atol=1e-12)


def test_named_columns_may_be_in_any_order(arm):
    numbers = np.array([[0.1, 7, 0.2, 0.3, 0, 0, 0, 1.0, 0.4, 0.05]])
    header = ["x", "frame", "y", "z", "qx", "qy", "qz", "qw", "shoulder_joint", "slide"]
    numbers = np.concatenate([numbers, [[0.6]]], axis=1)
    clip = mocpack.read_data(table(numbers, [*header, "elbow_dof"]), name="a.csv", robot=arm)
    np.testing.assert_allclose(clip.angles, [[0.6, 0.4, 0.05]], atol=1e-12)


def test_a_table_without_a_robot_says_how_to_name_one():
    with pytest.raises(FormatError, match="--robot"):
        mocpack.read_data(table(np.ones((2, 10))), name="a.csv")


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (
            table(np.zeros((2, 9))),
            "9 'arm' 10 elbow shoulder slide",
        ),
        (table(rows(np.zeros((2, 3)), turns=np.full((2, 4), 0.1))), "frame 0 [0.1"),
        (table(np.full((2, 10), np.nan)), "frame 0 [nan"),
        (b"1,2,3,4,5,6,7,8,9,10\n1,2\n", "a.csv line 2 10 numbers"),
        (b"1,2,3,4,5,6,7,8,9,10\na,b,c,d,e,f,g,h,i,j\n", "a.csv 'a' line 2 column 1"),
        (b"elbow,shoulder,slide\n1,2,3\n\n1,2,x\n", "a.csv 'x' line 4 column 3"),
        (table(np.zeros((1, 3)), ["elbow", "shoulder", "knee"]), "'arm' slide knee"),
        (table(np.zeros((1, 4)), ["x", "elbow", "shoulder", "slide"]), "a.csv 1 qx qw"),
        (table(np.zeros((1, 4)), ["elbow", "elbow", "shoulder", "slide"]), "a.csv 'elbow'"),
        (b"elbow,shoulder,slide\n", "a.csv row"),
    ],
)
def test_a_table_that_does_not_fit_lists_names(arm, data, named):
    with pytest.raises(CorruptionError, match=naming(named)):
        mocpack.read_data(data, name="a.csv", robot=arm)


def test_quaternions_that_look_like_the_other_order_are_an_error_unless_said(arm):
    upright = np.tile([1.0, 0, 0, 0], (3, 1))  # w first
    data = table(rows(np.zeros((3, 3)), turns=upright))
    with pytest.raises(CorruptionError, match=naming("--quaternion wxyz xyzw")):
        mocpack.read_data(data, name="a.csv", robot=arm)
    clip = mocpack.read_data(data, name="a.csv", robot=arm, quaternion="wxyz")
    assert abs(clip.source_root()[1][0, 3]) == pytest.approx(1)
    lying = mocpack.read_data(data, name="a.csv", robot=arm, quaternion="xyzw")
    assert abs(lying.source_root()[1][0, 0]) == pytest.approx(1)
    with pytest.raises(UsageError, match=naming("xyzw wxyz 'zyx'")):
        mocpack.read_data(data, name="a.csv", robot=arm, quaternion="zyx")


def test_a_fixed_robot_needs_no_root(arm):
    clip = mocpack.read_data(table(np.full((2, 3), 0.1), ["elbow", "shoulder", "slide"]),
                             name="a.csv", robot=arm)  # fmt: skip
    np.testing.assert_allclose(clip.angles, 0.1, atol=1e-12)
    np.testing.assert_allclose(clip.positions()[:, 0], 0, atol=1e-15)


def test_joints_that_mimic_follow_theirs(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(robots.urdf(3, mimic=True))
    robot = read_robot(path)
    [(name, (of, factor, added))] = robot.mimics.items()
    free = [n for n in robot.hinges.names if n != name]
    numbers = rows(robots.angles_for(len(free)))
    clip = mocpack.read_data(table(numbers), name="a.csv", robot=path)
    names = robot.hinges.names
    followed = clip.angles[:, names.index(of)]
    np.testing.assert_allclose(
        clip.angles[:, names.index(name)], factor * followed + added, atol=1e-9
    )
    np.testing.assert_allclose(clip.angles[:, names.index(free[2])], numbers[:, 9], atol=1e-5)
    whole = rows(robots.angles_for(len(names)))
    assert mocpack.read_data(table(whole), name="a.csv", robot=path).angles.shape[1] == len(names)


def test_the_packed_file_carries_the_robot(arm, tmp_path):
    made = tmp_path / "made.xml"
    made.write_text(robots.mjcf(1))
    robot = read_robot(made)
    width = robot_motion(rest_clip(robot)).qpos.shape[1]
    clip = rest_clip(robot)
    back = mocpack.decode(mocpack.encode(clip, "lossless"))
    found = robot_from_metadata(back.skeleton, back.metadata)
    assert found.name == "made"
    assert [b.name for b in found.bodies] == [b.name for b in robot.bodies]
    for body, expected in zip(found.bodies, robot.bodies, strict=True):
        assert body.joint == expected.joint
        np.testing.assert_array_equal(body.position, expected.position)
        np.testing.assert_array_equal(body.rotation, expected.rotation)
    assert robot_motion(back).qpos.shape[1] == width


def rest_clip(robot):
    frames, balls = 5, len(robot.ball_joints)
    rng = np.random.default_rng(0)
    root = np.tile([0.1, 0.2, 0.9, 1, 0, 0, 0], (frames, 1))
    quaternions = np.tile([1.0, 0, 0, 0], (frames, balls))
    order = []
    angles = 0.1 * rng.normal(size=(frames, len(robot.hinges)))
    at_ball, at_row = 0, 0
    for j in range(len(robot.skeleton)):
        if j in robot.ball_joints:
            order.append(quaternions[:, 4 * at_ball : 4 * at_ball + 4])
            at_ball += 1
        for h in robot.hinges.by_joint:
            if robot.hinges.joints[h] == j:
                order.append(angles[:, [at_row]])
                at_row += 1
    numbers = np.concatenate([root, *order], axis=1)
    return clip_from_qpos(robot, numbers, 50.0, source="test")


def test_full_turns_that_cannot_be_kept_are_stated_in_the_metadata(arm):
    angles = np.array([[0.5, 7.0, 0.1], [0.5, 7.1, 0.1]])  # the shoulder is a wheel
    clip = mocpack.read_data(table(rows(angles)), name="a.csv", robot=arm)
    assert clip.metadata["full_turns_dropped"] == ["shoulder"]
    np.testing.assert_allclose(clip.angles[:, 1], angles[:, 1] - 2 * np.pi, atol=1e-9)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("<robot><link name='a'/>", "robot.xml XML line 1 column 23"),
        ("", "robot.xml XML line 1 column 0"),
        ("<html/>", "<html> URDF MJCF"),
        ("<robot/>", "robot.xml link none"),
        ("<robot><link name='a'/></robot>", "joint"),
        ("<robot><link name='a'/><link name='a'/></robot>", "robot.xml 'a'"),
        ("<robot><link name='a'/><link name='b'/></robot>", "robot.xml link a b"),
        ("<robot><link/></robot>", "<link>"),
        (ARM.replace('xyz="0 0 0.3"', 'xyz="0 0"'), "xyz <origin> 3 '0 0'"),
        (ARM.replace('xyz="0 0 0.3"', 'xyz="0 0 nan"'), "xyz <origin> 3 '0 0 nan'"),
        (ARM.replace('xyz="0 2 0"', 'xyz="0 0 0"'), "'elbow' axis"),
        (ARM.replace('lower="-1"', 'lower="9"'), "limits 'elbow' 9.0 2.5"),
        (ARM.replace('type="revolute"', 'type="planar"'), "'elbow' 'planar' revolute"),
        (ARM.replace('<parent link="upper"/>', '<parent link="nose"/>'), "'elbow' 'nose'"),
        (ARM.replace('<child link="lower"/>', '<child link="upper"/>'), "child joints"),
        (
            ARM.replace('<parent link="base"/>', '<parent link="tip"/>'),
            "robot.xml links",
        ),
        ("<mujoco/>", "robot.xml none"),
        ("<mujoco><worldbody><body><joint type='rope'/></body></worldbody></mujoco>", "'rope'"),
        (
            "<mujoco><worldbody><body><joint class='x'/></body></worldbody></mujoco>",
            "robot.xml 'x'",
        ),
        ("<mujoco><include file='nowhere.xml'/></mujoco>", "'nowhere.xml'"),
        ("<mujoco><worldbody><replicate count='9'/></worldbody></mujoco>", "<replicate>"),
    ],
)
def test_a_robot_that_cannot_be_read_is_a_clear_error(tmp_path, text, named):
    path = tmp_path / "robot.xml"
    path.write_text(text)
    with pytest.raises(FormatError, match=naming(named)):
        read_robot(path)


def test_entities_are_refused_before_they_swell(tmp_path):
    laughs = "".join(
        f'<!ENTITY a{k} "{f"&a{k - 1};" * 10}">' if k else '<!ENTITY a0 "ha">' for k in range(12)
    )
    for text in (
        f"<!DOCTYPE robot [{laughs}]><robot>&a11;</robot>",
        '<!DOCTYPE robot SYSTEM "file:///etc/passwd"><robot/>',
        '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot>&x;</robot>',
    ):
        with pytest.raises(FormatError, match="document type"):
            parse(text.encode())


def test_depth_and_count_of_elements_are_limited():
    with pytest.raises(FormatError, match=naming("XML 500")):
        parse(b"<a>" * 600 + b"</a>" * 600)


def test_a_file_that_includes_itself_is_refused(tmp_path):
    path = tmp_path / "robot.xml"
    path.write_text('<mujoco><include file="robot.xml"/></mujoco>')
    with pytest.raises(FormatError, match=naming("robot.xml 100")):
        read_robot(path)


def test_included_files_are_found_beside(tmp_path):
    (tmp_path / "defaults.xml").write_text(
        '<mujoco><default><joint axis="0 1 0"/></default></mujoco>'
    )
    (tmp_path / "robot.xml").write_text(
        '<mujoco><compiler angle="radian"/><include file="defaults.xml"/><worldbody><body name="a">'
        '<body name="b"><joint name="j" range="-1 1"/></body></body></worldbody></mujoco>'
    )
    robot = read_robot(tmp_path / "robot.xml")
    np.testing.assert_array_equal(robot.hinges.axes, [[0, 1, 0]])
    np.testing.assert_array_equal(robot.hinges.limits, [[-1, 1]])
    assert robot.floating is False


def test_a_folder_of_tables_is_packed_when_its_robot_is_named(arm, tmp_path):
    folder = tmp_path / "clips"
    folder.mkdir()
    for k in range(2):
        numbers = rows(0.05 + np.abs(robots.angles_for(3, frames=60, seed=k)) / 20)
        (folder / f"{k}.csv").write_bytes(table(numbers))
    words = ["compress", folder, "-o", tmp_path / "out", "--json", "--effort", "fast"]
    done = run(*words, "--robot", arm)
    assert [row["ok"] for row in json.loads(done.stdout)] == [True, True]
    back = mocpack.read(tmp_path / "out" / "0.mocp")
    assert back.skeleton.hinges.names == ("elbow", "shoulder", "slide")
    done = run("compress", folder, "-o", tmp_path / "none")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_the_world_is_turned_and_links_are_not(arm):
    numbers = rows(np.array([[0.3, 0.2, 0.1]]), np.array([[1.0, 2.0, 3.0]]))
    clip = mocpack.read_data(table(numbers), name="a.csv", robot=arm)
    motion = robot_motion(clip)
    np.testing.assert_allclose(motion.body_poses[0][0, 0], [1, 2, 3], atol=1e-12)
    np.testing.assert_allclose(motion.body_poses[0][0, 1], [1, 2.1, 3.2], atol=1e-12)
    assert rotations.angle_between(motion.root_pose[1][0], np.array([0, 0, 0, 1.0])) < 1e-7


def test_hinges_are_looked_for_on_the_command_line_and_named(tmp_path):
    bend = np.zeros((40, 3, 3))
    bend[:, 0] = np.random.default_rng(0).normal(size=(40, 3)) / 9
    bend[:, 1, 0] = np.linspace(0.1, 1.5, 40)
    skeleton = mocpack.Skeleton(("a", "knee", "c"), (-1, 0, 1), 0.4 * np.eye(3))
    clip = mocpack.Clip.build(skeleton, rotations.from_rotvec(bend), np.zeros((40, 3)))
    mocpack.write(clip, tmp_path / "leg.npz")
    done = run("compress", tmp_path / "leg.npz", "--find-hinges", "--json")
    [row] = json.loads(done.stdout)
    assert list(row["hinges_found"]) == ["knee"]
    done = run("compress", tmp_path / "leg.npz", "--find-hinges", "-f")
    assert names(done.stdout, "hinges knee")
    assert mocpack.read(tmp_path / "leg.mocp").skeleton.hinges.names == ("knee",)


def robot_from(tmp_path, text, name="robot.urdf"):
    path = tmp_path / name
    path.write_text(text)
    return read_robot(path)


def test_meshes_and_simulator_elements_of_a_urdf_are_ignored(tmp_path):
    shape = (
        '<visual><origin rpy="9 9 9"/><geometry><mesh filename="package://arm/nowhere.stl"/>'
        '</geometry></visual><collision><geometry><box size="1 1 1"/></geometry></collision>'
    )
    dressed = ARM.replace('<link name="upper"/>', f'<link name="upper">{shape}</link>').replace(
        "</robot>",
        '<gazebo reference="upper"><joint name="elbow"/></gazebo><transmission name="t">'
        '<joint name="shoulder"/></transmission><material name="red"/></robot>',
    )
    plain, found = robot_from(tmp_path, ARM), robot_from(tmp_path, dressed)
    assert found.hinges == plain.hinges
    assert found.skeleton == plain.skeleton


def test_a_root_that_floats_by_a_joint_is_the_link_below_it(tmp_path):
    world = (
        '<link name="world"/><joint name="free" type="floating"><parent link="world"/>'
        '<child link="base"/></joint></robot>'
    )
    robot = robot_from(tmp_path, ARM.replace("</robot>", world))
    assert robot.floating
    assert robot.skeleton == robot_from(tmp_path, ARM).skeleton


@pytest.mark.parametrize("kind", ["floating", "planar", "screw", ""])
def test_joints_inside_a_urdf_that_no_hinge_can_be_are_named(tmp_path, kind):
    with pytest.raises(FormatError, match=naming(f"'slide' '{kind}'")):
        robot_from(tmp_path, ARM.replace('type="prismatic"', f'type="{kind}"'))


def test_a_urdf_joint_without_axis_turns_about_x_and_one_without_limit_has_none(tmp_path):
    text = ARM.replace('<axis xyz="0 2 0"/>', "").replace('<limit lower="-1" upper="2.5"/>', "")
    robot = robot_from(tmp_path, text)
    np.testing.assert_array_equal(robot.hinges.axes[0], [1, 0, 0])
    np.testing.assert_array_equal(robot.hinges.limits[0], [-np.inf, np.inf])


def test_a_continuous_joint_has_no_limits_even_if_the_file_states_some(tmp_path):
    wheel = '<axis xyz="0 0 -1"/><limit lower="-1" upper="1" effort="9" velocity="9"/>'
    robot = robot_from(tmp_path, ARM.replace('<axis xyz="0 0 -1"/>', wheel))
    np.testing.assert_array_equal(robot.hinges.limits[1], [-np.inf, np.inf])


def test_two_joints_of_one_name_are_refused(tmp_path):
    with pytest.raises(FormatError, match=naming("robot.urdf 'elbow'")):
        robot_from(tmp_path, ARM.replace('"shoulder"', '"elbow"'))
    twice = (
        '<mujoco><worldbody><body name="a"><joint name="j"/><body name="b"><joint name="j"/></body>'
        "</body></worldbody></mujoco>"
    )
    with pytest.raises(FormatError, match=naming("robot.xml 'j'")):
        robot_from(tmp_path, twice, "robot.xml")


def test_a_mimic_of_a_missing_joint_is_refused(tmp_path):
    mimic = '<axis xyz="1 0 0"/><mimic joint="nose"/>'
    text = ARM.replace('<axis xyz="1 0 0"/>', mimic)
    with pytest.raises(FormatError, match="'slide' mimics 'nose'"):
        robot_from(tmp_path, text)


NESTED = """<mujoco><compiler {compiler}/><default><joint axis="1 0 0"/>
<default class="leg"><joint range="-90 45" ref="10"/><default class="knee"><joint axis="0 1 0"/>
<default class="slim"><joint range="-30 30"/></default></default></default></default>
<worldbody><body name="trunk"><freejoint/>
<body name="thigh" childclass="leg"><joint name="hip"/>
 <body name="shin"><joint name="knee" class="knee"/>
  <body name="foot" childclass="slim"><joint name="ankle"/>
   <joint name="toe" axis="0 0 1" limited="false"/></body></body></body>
<body name="arm"><joint name="shoulder" class="main"/></body>
</body></worldbody></mujoco>"""


def test_defaults_of_mjcf_are_those_of_the_classes_around_them(tmp_path):
    robot = robot_from(tmp_path, NESTED.format(compiler=""), "robot.xml")
    assert robot.hinges.names == ("hip", "knee", "ankle", "toe", "shoulder")
    x, y, z = np.eye(3)
    np.testing.assert_array_equal(robot.hinges.axes, [x, y, y, z, x])
    right, free = np.radians([-90, 45]), [-np.inf, np.inf]
    slim = np.radians([-30, 30])
    np.testing.assert_allclose(robot.hinges.limits, [right, right, slim, free, free])


def test_ranges_of_mjcf_are_limits_only_where_the_file_says_so(tmp_path):
    compiler = 'angle="radian" autolimits="false"'
    text = NESTED.format(compiler=compiler).replace('range="-30 30"', 'range="-1 1" limited="true"')
    limits = robot_from(tmp_path, text, "robot.xml").hinges.limits
    np.testing.assert_array_equal(limits[2], [-1, 1])
    assert np.isinf(limits[[0, 1, 3, 4]]).all()


def test_unnamed_joints_of_mjcf_get_different_names(tmp_path):
    text = (
        '<mujoco><worldbody><body name="a"><body name="b"><joint/><joint axis="0 1 0"/></body>'
        '<body name="c"><joint/></body></body></worldbody></mujoco>'
    )
    names = robot_from(tmp_path, text, "robot.xml").hinges.names
    assert len(names) == 3
    assert len(set(names)) == 3


def test_several_joints_of_one_body_keep_their_order(tmp_path):
    joints = "".join(f'<joint name="j{k}" axis="{axis}"/>' for k, axis in enumerate(
        ("1 0 0", "0 1 0", "0 0 1", "1 0 0")))  # fmt: skip
    text = f'<mujoco><worldbody><body name="a">{joints}</body></worldbody></mujoco>'
    robot = robot_from(tmp_path, text, "robot.xml")
    assert robot.hinges.names == ("j0", "j1", "j2", "j3")
    assert [body.name for body in robot.bodies] == ["a"]
    assert robot.floating is False


def test_a_table_with_a_column_too_many_lists_all_joints_in_their_order(arm):
    with pytest.raises(CorruptionError, match=naming("11 'arm' 10 elbow shoulder slide")):
        mocpack.read_data(table(rows(np.zeros((2, 4)))), name="a.csv", robot=arm)


@pytest.mark.parametrize("seed", range(6))
def test_windows_of_positions_are_those_of_the_motion(tmp_path, seed):
    made = tmp_path / ("robot.xml" if seed % 2 else "robot.urdf")
    made.write_text(robots.mjcf(seed, free=seed != 3) if seed % 2 else robots.urdf(seed))
    clip = rest_clip(read_robot(made)) if seed != 3 else fixed_clip(read_robot(made))
    path = tmp_path / "clip.mocp"
    path.write_bytes(mocpack.encode(clip, max_error="1mm"))
    with mocpack.open(path) as motion:
        found = QposWindows(motion).read(1, 4)
        expected = robot_motion(motion.frames(1, 4)).qpos
    np.testing.assert_allclose(found, expected, atol=1e-12)


def fixed_clip(robot):
    width = 4 * len(robot.ball_joints) + len(robot.hinges)
    numbers = np.zeros((5, width))
    at, by_joint = 0, [robot.hinges.joints[h] for h in robot.hinges.by_joint]
    for j in range(len(robot.skeleton)):
        if j in robot.ball_joints:
            numbers[:, at] = 1
            at += 4
        count = by_joint.count(j)
        numbers[:, at : at + count] = 0.1 * np.arange(5)[:, np.newaxis]
        at += count
    return clip_from_qpos(robot, numbers, 50.0, source="test")


def test_windows_of_positions_need_a_robot(tmp_path):
    path = tmp_path / "walk.mocp"
    path.write_bytes(mocpack.encode(walk(0.2), max_error="5mm"))
    with mocpack.open(path) as motion, pytest.raises(UnsupportedClipError, match=naming("hinges")):
        QposWindows(motion)
