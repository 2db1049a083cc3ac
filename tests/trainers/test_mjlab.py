"""The tracking command over many clips, in mjlab's own code: `make test-trainers` installs it."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import mocpack
from archives import write_archive
from mocpack.io.robots.files import read_robot
from mocpack.io.robots.motion import build_clip
from mocpack.robots import robot_motion
from motion_library_clips import robot_clip
from robots import urdf

commands = pytest.importorskip("mjlab.tasks.tracking.mdp.commands")
STEP_S = 0.02
FIELDS = ("joint_pos", "joint_vel", "body_pos_w", "body_quat_w", "body_lin_vel_w", "body_ang_vel_w")


def clip_at_50_hz(folder, *, seed, frames):
    clip = robot_clip(urdf(1), folder, seed=seed, frames=frames)
    robot = read_robot(folder / f"robot{seed}.urdf")
    return build_clip(robot, clip.hinge_angles().angles, *clip.source_root(), fps=50, source="made")


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips")
    return [clip_at_50_hz(folder, seed=k, frames=frames) for k, frames in enumerate((40, 25, 60))]


@pytest.fixture(scope="module")
def archive(tmp_path_factory, clips):
    folder = tmp_path_factory.mktemp("mjlab")
    return write_archive(folder / "all.mocps", {f"clip{k}": clip for k, clip in enumerate(clips)})


class Environment:
    """What the command needs of an environment: a robot that stays at rest."""

    def __init__(self, clip, count=64):
        motion = robot_motion(clip)
        self.bodies = [body.name for body in motion.robot.bodies]
        self.joints = [motion.hinges.names[h] for h in motion.hinges.by_joint]
        self.num_envs, self.device, self.step_dt = count, "cpu", STEP_S
        pose = torch.zeros(count, len(self.bodies), 4)
        pose[..., 0] = 1
        limits = torch.tensor([-9.0, 9.0]).expand(count, len(self.joints), 2)
        self.robot = SimpleNamespace(
            body_names=self.bodies,
            joint_names=self.joints,
            find_bodies=lambda names, preserve_order: (
                [self.bodies.index(n) for n in names],
                names,
            ),
            data=SimpleNamespace(
                body_link_pos_w=pose[..., :3], body_link_quat_w=pose, soft_joint_pos_limits=limits
            ),
            write_joint_state_to_sim=lambda *_, **__: None,
            write_root_state_to_sim=lambda *_, **__: None,
            reset=lambda env_ids: None,
        )
        origins = torch.zeros(count, 3)

        class Scene(dict):
            env_origins = origins

        self.scene = Scene(robot=self.robot)
        self.sim = SimpleNamespace(forward=lambda: None)
        failed = torch.zeros(count, dtype=torch.bool)
        self.termination_manager = SimpleNamespace(terminated=failed)


def make_command(path, environment, mode="uniform"):
    from mocpack.trainers.mjlab import MotionCommandCfg

    names = tuple(environment.bodies)
    cfg = MotionCommandCfg(
        motion_file=str(path),
        anchor_body_name=names[1],
        body_names=names[::-1],
        entity_name="robot",
        sampling_mode=mode,
        resampling_time_range=(1e9, 1e9),
    )
    return cfg.build(environment)


def test_values_are_those_of_mjlabs_own_loader(tmp_path, archive, clips):
    environment = Environment(clips[0])
    command = make_command(archive, environment)
    start = 0
    for k, clip in enumerate(clips):
        mocpack.write(clip, tmp_path / f"{k}.npz", dialect="mjlab")
        indexes = torch.tensor([environment.bodies.index(n) for n in command.cfg.body_names])
        theirs = commands.MotionLoader(tmp_path / f"{k}.npz", indexes)
        steps = torch.arange(len(clip)) + start
        for name in FIELDS:
            own, other = getattr(command.motion, name)[steps], getattr(theirs, name)
            if name == "body_quat_w":
                other = other * torch.sign((own * other).sum(dim=-1, keepdim=True))
            assert own.shape == other.shape
            assert (own - other).abs().max() < 2e-4, name
        start += len(clip)
    assert command.motion.time_step_total == start == sum(map(len, clips))


def test_a_clip_at_another_rate_is_interpolated(tmp_path):
    clip = robot_clip(urdf(1), tmp_path, frames=31)  # 1 s at 30 frames per second
    path = write_archive(tmp_path / "one.mocps", {"one": clip})
    command = make_command(path, Environment(clip))
    assert command.motion.time_step_total == 51
    found = command.motion.joint_pos[torch.tensor([0, 5, 50])]
    rows = list(robot_motion(clip).hinges.by_joint)
    angles = clip.hinge_angles().angles[:, rows]
    assert found.numpy() == pytest.approx(angles[[0, 3, 30]], abs=1e-5)


@pytest.mark.parametrize("mode", ["uniform", "adaptive", "start"])
def test_no_environment_goes_from_one_clip_to_the_next(archive, clips, mode):
    torch.manual_seed(0)
    environment = Environment(clips[0])
    command = make_command(archive, environment, mode)
    everyone = torch.arange(environment.num_envs)
    command._resample_command(everyone)
    resampled = torch.zeros(environment.num_envs, dtype=torch.bool)
    inner = command._resample_command

    def resample(env_ids):
        resampled[env_ids] = True
        inner(env_ids)

    command._resample_command = resample
    ends = np.cumsum([len(clip) for clip in clips]) - 1
    seen = set()
    for _ in range(200):
        before = command.time_steps.clone()
        resampled[:] = False
        command._update_command()
        went_on = command.time_steps == before + 1
        at_end = torch.as_tensor(np.isin(before.numpy(), ends))
        assert torch.equal(resampled, at_end)
        assert went_on[~at_end].all()
        seen |= set(command.motion.clip_of(command.time_steps).tolist())
        if mode == "start":
            firsts = command.motion.first(command.time_steps)
            assert torch.equal(command.time_steps[at_end], firsts[at_end])
        assert command.body_pos_w.isfinite().all()
        assert command.anchor_pos_w.shape == (environment.num_envs, 3)
    assert seen == {0, 1, 2}


def test_single_environments_step_and_end_like_all(archive, clips):
    environment = Environment(clips[0])
    command = make_command(archive, environment)
    command.time_steps[:] = 5
    command.time_steps[3] = len(clips[0]) - 1
    command._update_command(torch.tensor([0, 3]))
    assert command.time_steps[[0, 1, 2]].tolist() == [6, 5, 5]
    assert 0 <= int(command.time_steps[3]) < command.motion.time_step_total


def test_files_of_mjlab_are_read_as_before(tmp_path, clips):
    mocpack.write(clips[0], tmp_path / "one.npz", dialect="mjlab")
    command = make_command(tmp_path / "one.npz", Environment(clips[0]))
    assert type(command) is commands.MotionCommand


def test_a_robot_with_other_names_is_an_error(archive, clips):
    environment = Environment(clips[0])
    environment.joints[0] = "elbow"
    with pytest.raises(ValueError, match="elbow"):
        make_command(archive, environment)


def test_exported_policies_hold_the_first_clip(archive, clips):
    command = make_command(archive, Environment(clips[0]))
    assert command.motion.joint_pos.to("cpu").shape[0] == len(clips[0])
