"""Random robots: every body has the position that MuJoCo computes."""

import numpy as np
import pytest

import robots
from mocpack.io.robots.files import read_robot
from mocpack.io.robots.kinematics import robot_motion
from mocpack.io.robots.qpos import clip_from_qpos
from mocpack.model import rotations

mujoco = pytest.importorskip("mujoco")


def positions_for(model, frames, seed):
    """Return smooth qpos (T, nq) whose quaternions are unit."""
    numbers = robots.angles_for(model.nq, frames=frames, seed=seed)
    for joint in range(model.njnt):
        kind, at = model.jnt_type[joint], model.jnt_qposadr[joint]
        at += 3 * (kind == mujoco.mjtJoint.mjJNT_FREE)
        if kind in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL):
            numbers[:, at : at + 4] *= 0.3
            numbers[:, at] += 1
            numbers[:, at : at + 4] /= np.linalg.norm(numbers[:, at : at + 4], axis=1)[:, None]
    return numbers


def velocities_for(model, numbers, rate):
    """Return qvel (T, nv) by central differences, as MuJoCo differs positions."""
    found = np.zeros((len(numbers), model.nv))
    last = len(numbers) - 1
    for t in range(len(numbers)):
        before, after = max(t - 1, 0), min(t + 1, last)
        seconds = (after - before) / rate
        mujoco.mj_differentiatePos(model, found[t], seconds, numbers[before], numbers[after])
    return found


def bodies_in_mujoco(model, numbers, speeds):
    data = mujoco.MjData(model)
    places, turns, linear, angular = [], [], [], []
    for row, speed in zip(numbers, speeds, strict=True):
        data.qpos[:], data.qvel[:] = row, speed
        mujoco.mj_forward(model, data)
        places.append(data.xpos[1:].copy())
        turns.append(np.roll(data.xquat[1:], -1, axis=1))
        found = np.zeros((model.nbody - 1, 6))
        for body in range(1, model.nbody):
            kind = mujoco.mjtObj.mjOBJ_XBODY
            mujoco.mj_objectVelocity(model, data, kind, body, found[body - 1], 0)
        linear.append(found[:, 3:])
        angular.append(found[:, :3])
    return map(np.array, (places, turns, linear, angular))


def names_in_mujoco(model):
    return [model.body(b).name for b in range(1, model.nbody)]


def check_against_mujoco(model, robot, seed):
    numbers = positions_for(model, 24, seed)
    clip = clip_from_qpos(robot, numbers, 30.0, order="wxyz", source="test")
    motion = robot_motion(clip)
    np.testing.assert_allclose(motion.qpos, numbers, atol=1e-9)
    assert [body.name for body in robot.bodies] == names_in_mujoco(model)
    speeds = velocities_for(model, numbers, 30.0)
    places, turns, linear, angular = bodies_in_mujoco(model, numbers, speeds)
    np.testing.assert_allclose(motion.body_poses[0], places, atol=1e-9)
    assert rotations.angle_between(motion.body_poses[1], turns).max() < 1e-7
    found_linear, found_angular = motion.body_velocities
    # angular velocities of the root and of balls are in other frames' differences, so a bit apart
    np.testing.assert_allclose(found_linear, linear, atol=2e-2 * np.abs(linear).max())
    np.testing.assert_allclose(found_angular, angular, atol=2e-2 * np.abs(angular).max())
    if mujoco.mjtJoint.mjJNT_BALL in model.jnt_type:
        return
    if robot.floating:  # with the root's own, what follows from it is the same
        speeds[:, :3] = found_linear[:, 0]
        back = rotations.conjugate(motion.body_poses[1][:, 0])
        speeds[:, 3:6] = rotations.rotate(back, found_angular[:, 0])
    _, _, linear, angular = bodies_in_mujoco(model, numbers, speeds)
    np.testing.assert_allclose(found_linear, linear, atol=1e-7)
    np.testing.assert_allclose(found_angular, angular, atol=1e-7)


def limits_in_mujoco(model):
    found = {}
    for joint in range(model.njnt):
        limits = model.jnt_range[joint] if model.jnt_limited[joint] else [-np.inf, np.inf]
        found[model.joint(joint).name] = limits
    return found


@pytest.mark.parametrize("kind", ["mjcf", "urdf"])
@pytest.mark.parametrize("seed", range(10))
def test_limits_and_axes_are_those_that_mujoco_compiles(tmp_path, kind, seed):
    path = tmp_path / f"robot.{'urdf' if kind == 'urdf' else 'xml'}"
    path.write_text(getattr(robots, kind)(seed))
    model, robot = mujoco.MjModel.from_xml_path(str(path)), read_robot(path)
    limits = limits_in_mujoco(model)
    for name, axis, own in zip(
        robot.hinges.names, robot.hinges.axes, robot.hinges.limits, strict=True
    ):
        np.testing.assert_allclose(own, limits[name], atol=1e-12)
        np.testing.assert_allclose(axis, model.joint(name).axis, atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_any_mjcf_matches_mujoco(tmp_path, seed):
    path = tmp_path / "robot.xml"
    path.write_text(robots.mjcf(seed, free=bool(seed % 3)))
    check_against_mujoco(mujoco.MjModel.from_xml_path(str(path)), read_robot(path), seed)


@pytest.mark.parametrize("seed", range(8))
def test_any_urdf_matches_mujoco(tmp_path, seed):
    path = tmp_path / "robot.urdf"
    path.write_text(robots.urdf(seed))
    check_against_mujoco(mujoco.MjModel.from_xml_path(str(path)), read_robot(path), seed)
