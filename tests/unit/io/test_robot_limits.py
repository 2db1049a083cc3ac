"""A table whose columns or units are wrong exceeds the robot's joint limits and is refused."""

import numpy as np
import pytest
from command_line import run_text as run

import mocpack
from mocpack.errors import CorruptionError
from mocpack.io.robots.files import read_robot
from mocpack.io.robots.motion import build_clip
from mocpack.io.table import ROBOT_DIALECTS
from naming import names, naming

FRAMES = 60
LIMITS = {"hip": (-1.5, 1.5), "knee": (0.0, 2.4), "ankle": (-0.6, 0.4), "wheel": None}


def link(k, name):
    kind = "continuous" if LIMITS[name] is None else "revolute"
    low, high = LIMITS[name] or (0, 0)
    return (
        f'<link name="{name}_link"/><joint name="{name}_joint" type="{kind}">'
        f'<parent link="{["base", *(f"{n}_link" for n in LIMITS)][k]}"/>'
        f'<child link="{name}_link"/><origin xyz="0 0 -0.4"/><axis xyz="0 1 0"/>'
        f'<limit lower="{low}" upper="{high}"/></joint>'
    )


@pytest.fixture
def leg(tmp_path):
    path = tmp_path / "leg.urdf"
    links = "".join(link(k, name) for k, name in enumerate(LIMITS))
    path.write_text(f'<robot name="leg"><link name="base"/>{links}</robot>')
    return path


def motion():
    """Angles within the limits, in radians, and the wheel's turns."""
    time = np.arange(FRAMES)[:, np.newaxis] / 30
    middle, size = np.array([0.1, 1.5, -0.3, 0.0]), np.array([1.0, 0.7, 0.2, 3.0])
    return middle + size * np.sin(time * [2, 3, 4, 1])


def table(angles):
    root = np.tile([0, 0, 0.9, 0, 0, 0, 1.0], (len(angles), 1))
    rows = np.concatenate([root, angles], axis=1)
    return "\n".join(",".join(f"{x:.6f}" for x in row) for row in rows).encode()


def read(leg, angles, **options):
    return mocpack.read_data(table(angles), name="a.csv", robot=leg, fps=30, **options)


@pytest.mark.parametrize(
    ("angles", "named"),
    [
        (np.rad2deg(motion()), "a.csv 'leg' hip_joint knee_joint ankle_joint --ignore-limits"),
        (motion()[:, ::-1], "a.csv 'leg' knee_joint --ignore-limits"),
        (motion()[:, [0, 2, 1, 3]], "a.csv knee_joint ankle_joint"),
    ],
    ids=["degrees", "reversed", "swapped"],
)
def test_angles_outside_the_limits_are_refused_and_the_joints_named(leg, angles, named):
    read(leg, motion())
    with pytest.raises(CorruptionError, match=naming(named)):
        read(leg, angles)
    kept = read(leg, angles, ignore_limits=True)
    assert kept.frame_count == FRAMES


@pytest.mark.parametrize("dialect", ROBOT_DIALECTS)
def test_every_dialect_is_checked(leg, tmp_path, dialect):
    robot = read_robot(leg)
    root = np.tile([0, 0, 0.9], (FRAMES, 1)), np.tile([0, 0, 0, 1.0], (FRAMES, 1))
    path = tmp_path / f"m{ROBOT_DIALECTS[dialect][0]}"
    given = {"robot": leg, "allow_pickle": True, "fps": 30}
    for angles, is_right in ((motion(), True), (motion()[:, [0, 2, 1, 3]], False)):
        clip = build_clip(robot, angles, *root, fps=30.0, source="test")
        mocpack.write(clip, path, dialect=dialect)
        if is_right:
            back = mocpack.read(path, **given)
        else:
            with pytest.raises(CorruptionError, match=naming(f"m{path.suffix} knee_joint")):
                mocpack.read(path, **given)
            back = mocpack.read(path, ignore_limits=True, **given)
        np.testing.assert_allclose(back.angles[:, :3], angles[:, :3], atol=1e-5)


def test_a_few_frames_and_full_turns_outside_are_accepted(leg):
    angles = motion()
    angles[: FRAMES // 20, 2] = 0.9
    angles[:, 0] += 2 * np.pi
    np.testing.assert_allclose(read(leg, angles).angles[:, 2], angles[:, 2], atol=1e-6)


def test_the_command_line_refuses_and_has_the_option(leg, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(table(np.rad2deg(motion())))
    words = ["compress", path, "--robot", leg, "--fps", "30", "-o", tmp_path / "a.mocp"]
    done = run(*words)
    assert done.returncode == 2
    assert names(done.stderr, "a.csv knee_joint --ignore-limits")
    assert run(*words, "--ignore-limits").returncode == 0
