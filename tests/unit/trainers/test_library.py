"""States of a motion library equal kinematics in double precision and trainers' definitions."""

import json
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mocpack
from archives import write_archive
from mocpack.corpora import open_corpus, pack
from mocpack.errors import DeviceWarning, LimitWarning, UsageError
from mocpack.io.robots.files import read_robot
from mocpack.io.robots.motion import build_clip
from mocpack.io.robots.orders import list_bodies_breadth_first, list_hinges_breadth_first
from mocpack.model import rotations
from mocpack.model.clip import Clip
from mocpack.model.space import conversion_matrix
from mocpack.model.take_data import TakeData, Track
from mocpack.robots import robot_motion
from mocpack.testing import walk
from mocpack.trainers import MotionLibrary, MotionState, library
from mocpack.trainers.velocities import VELOCITIES
from motion_library_clips import FRAMES, robot_clip, robot_clips, walking_clips
from naming import naming
from robots import urdf

MAX_POSITION_M, MAX_ROTATION = 1e-5, 2e-6
MAX_SPEED_M_S, MAX_SPIN_RAD_S = 5e-5, 1e-4


def packed(folder, clips):
    return write_archive(folder / "all.mocps", clips)


@pytest.fixture(scope="module")
def robots(tmp_path_factory):
    folder = tmp_path_factory.mktemp("robots")
    return packed(folder, robot_clips(folder))


@pytest.fixture(scope="module")
def walks(tmp_path_factory):
    return packed(tmp_path_factory.mktemp("walks"), walking_clips())


def with_tracks(clip, tracks):
    return replace(clip, take_data=TakeData(tracks=tracks))


def clips_of(path):
    """The decoded clips of an archive."""
    with open_corpus(path) as corpus:
        return [motion[:] for motion in corpus]


def all_frames(found, clip, **options):
    count = int(found.frame_counts[clip])
    return found.frames(np.full(count, clip), np.arange(count), **options)


def assert_same_rotations(found, expected):
    assert np.abs(np.abs((found * expected).sum(axis=-1)) - 1).max() < MAX_ROTATION
    assert np.linalg.norm(found, axis=-1) == pytest.approx(1, abs=1e-6)


def assert_is_motion(state, motion):
    """A state equals a robot's motion, which is computed in double precision."""
    bodies, hinges = len(motion.robot.bodies), len(motion.hinges)
    rows = list(motion.hinges.by_joint)
    positions, turns = motion.body_poses
    linear, angular = motion.body_velocities
    assert np.abs(state.positions[:, :bodies] - positions).max() < MAX_POSITION_M
    assert_same_rotations(state.rotations[:, :bodies], turns)
    assert np.abs(state.linear_velocities[:, :bodies] - linear).max() < MAX_SPEED_M_S
    assert np.abs(state.angular_velocities[:, :bodies] - angular).max() < MAX_SPIN_RAD_S
    assert state.angles[:, :hinges] == pytest.approx(motion.angles[:, rows], abs=1e-5)
    rates = motion.joint_velocities[:, rows]
    assert state.angle_velocities[:, :hinges] == pytest.approx(rates, abs=1e-4)


def test_states_at_frames_equal_a_robots_own_kinematics(robots):
    found = MotionLibrary(robots, "cpu")
    for clip, source in enumerate(clips_of(robots)):
        motion = robot_motion(source)
        state = all_frames(found, clip)
        assert_is_motion(state, motion)
        bodies = len(motion.robot.bodies)
        assert found.body_names[found.skeletons[clip]] == tuple(b.name for b in motion.robot.bodies)
        # what other skeletons have in addition is empty
        assert not state.positions[:, bodies:].any()
        assert (state.rotations[:, bodies:] == [0, 0, 0, 1]).all()
        assert not state.angles[:, len(motion.hinges) :].any()


def test_states_between_frames_are_kinematics_of_interpolated_joints(robots):
    found = MotionLibrary(robots, "cpu")
    rng = np.random.default_rng(0)
    for clip, source in enumerate(clips_of(robots)):
        motion = robot_motion(source)
        times = rng.uniform(0, found.lengths[clip], 50)
        state = found.state(np.full(50, clip), times)
        at = times * motion.frame_rate
        first = np.minimum(at.astype(int), len(motion.angles) - 2)
        share = (at - first)[:, np.newaxis]
        local = rotations.slerp(source.rotations[first], source.rotations[first + 1], share)
        places = source.translations[first] * (1 - share[..., np.newaxis])
        places = places + source.translations[first + 1] * share[..., np.newaxis]
        angles = motion.angles[first] * (1 - share) + motion.angles[first + 1] * share
        mixed = Clip(replace(source.header, frame_count=50), local, places)
        between = type(motion)(mixed, angles)
        positions, turns = between.body_poses
        bodies = positions.shape[1]
        assert np.abs(state.positions[:, :bodies] - positions).max() < MAX_POSITION_M
        assert_same_rotations(state.rotations[:, :bodies], turns)
        rates = motion.joint_velocities[:, list(motion.hinges.by_joint)]
        expected = rates[first] * (1 - share) + rates[first + 1] * share
        assert state.angle_velocities[:, : expected.shape[1]] == pytest.approx(expected, abs=1e-4)


def test_states_of_other_bodies_equal_their_own_kinematics(walks):
    found = MotionLibrary(walks, "cpu")
    for clip, own in enumerate(clips_of(walks)):
        state = all_frames(found, clip)
        upright = conversion_matrix("z", "right")
        positions, turns = own.world()
        assert np.abs(state.positions - positions @ upright).max() < MAX_POSITION_M
        back = rotations.conjugate(rotations.from_matrix(upright))
        assert_same_rotations(state.rotations, rotations.multiply(back, turns))
        # derivatives of rigid bodies differ from differences of positions by a third-order term
        speeds = np.gradient(positions @ upright, axis=0) * own.frame_rate
        assert np.abs(state.linear_velocities - speeds)[1:-1].max() < 0.05 * np.abs(speeds).max()
        assert state.angles.shape[1] == 0


def test_velocities_of_other_bodies_follow_from_local_rotations(walks):
    found = MotionLibrary(walks, "cpu")
    own, state = clips_of(walks)[0], all_frames(found, 0)
    upright = conversion_matrix("z", "right")
    positions, turns = own.world()
    linear, angular = np.zeros_like(positions), np.zeros_like(positions)
    count = len(own)
    before, after = np.maximum(np.arange(count) - 1, 0), np.minimum(np.arange(count) + 1, count - 1)
    rate = (own.frame_rate / (after - before))[:, np.newaxis]
    for joint, parent in enumerate(own.skeleton.parents):
        local = own.rotations[:, joint]
        change = rotations.multiply(local[after], rotations.conjugate(local[before]))
        spin = rotations.as_rotvec(change) * rate
        if parent < 0:
            angular[:, joint] = spin
            linear[:, joint] = (positions[after, joint] - positions[before, joint]) * rate
            continue
        lever = positions[:, joint] - positions[:, parent]
        linear[:, joint] = linear[:, parent] + np.cross(angular[:, parent], lever)
        angular[:, joint] = angular[:, parent] + rotations.rotate(turns[:, parent], spin)
    assert np.abs(state.linear_velocities - linear @ upright).max() < MAX_SPEED_M_S
    assert np.abs(state.angular_velocities - angular @ upright).max() < MAX_SPIN_RAD_S


def forward(values, rate, last):
    steps = (values[1:] - values[:-1]) * rate
    return np.concatenate([steps, last(steps)])


def spins(turns, rate, step=1):
    change = rotations.multiply(turns[step:], rotations.conjugate(turns[:-step]))
    change = np.where(change[..., 3:] < 0, -change, change)
    return rotations.as_rotvec(change) * rate / step


def smooth(values, weights, mode):
    radius = len(weights) // 2
    widths = ((radius, radius), *((0, 0),) * (values.ndim - 1))
    wide = np.pad(values, widths, mode=mode)
    return sum(w * wide[k : k + len(values)] for k, w in enumerate(weights))


def sonic_velocities(positions, turns, angles, rate):
    weights = np.exp(-0.5 * (np.arange(-8, 9) / 2) ** 2)
    weights /= weights.sum()
    linear = smooth(np.gradient(positions, axis=0) * rate, weights, "edge")
    steps = spins(turns, rate)
    angular = smooth(np.concatenate([steps, 0 * steps[-1:]]), weights, "edge")
    return linear, angular, forward(angles, rate, lambda steps: steps[-2:-1])


def smallest(candidates):
    stacked = np.stack(candidates)
    sizes = np.linalg.norm(stacked, axis=-1)
    return np.take_along_axis(stacked, sizes.argmin(axis=0)[np.newaxis, ..., np.newaxis], 0)[0]


def protomotions_velocities(positions, turns, angles, rate):
    linear, angular = [], []
    for h in (1, 2, 3):
        steps = (positions[h:] - positions[:-h]) * rate / h
        linear.append(np.concatenate([steps, np.repeat(steps[-1:], h, axis=0)]))
        steps = spins(turns, rate, h)
        angular.append(np.concatenate([steps, np.repeat(steps[-1:], h, axis=0)]))
    return smallest(linear), smallest(angular), forward(angles, rate, lambda steps: steps[-1:])


@pytest.mark.parametrize(
    ("name", "define"), [("sonic", sonic_velocities), ("protomotions", protomotions_velocities)]
)
def test_velocities_of_bodies_are_those_of_the_trainer(robots, name, define):
    found = MotionLibrary(robots, "cpu", velocity=name)
    for clip, source in enumerate(clips_of(robots)):
        motion = robot_motion(source)
        rows = list(motion.hinges.by_joint)
        positions, turns = motion.body_poses
        linear, angular, rates = define(positions, turns, motion.angles[:, rows], motion.frame_rate)
        state, bodies = all_frames(found, clip), positions.shape[1]
        assert np.abs(state.linear_velocities[:, :bodies] - linear).max() < 2e-4
        assert np.abs(state.angular_velocities[:, :bodies] - angular).max() < 2e-4
        assert state.angle_velocities[:, : len(rows)] == pytest.approx(rates, abs=2e-4)
        # between frames they are interpolated
        middle = (np.arange(len(positions) - 1) + 0.25) / motion.frame_rate
        between = found.state(np.full(len(middle), clip), middle)
        expected = 0.75 * linear[:-1] + 0.25 * linear[1:]
        assert np.abs(between.linear_velocities[:, :bodies] - expected).max() < 2e-4
        expected = 0.75 * angular[:-1] + 0.25 * angular[1:]
        assert np.abs(between.angular_velocities[:, :bodies] - expected).max() < 2e-4


@pytest.mark.parametrize("name", ["protomotions", "sonic", "twist"])
def test_velocities_are_those_that_the_trainers_code_computed(robots, name):
    # velocities.json: the code of the version that it states, on the motion of the first clip
    given = json.loads(Path(__file__).with_name("velocities.json").read_text())[name]
    found = MotionLibrary(robots, "cpu", velocity=name)
    state = found.frames(np.zeros(len(given["frames"]), np.int64), given["frames"])
    bodies, count = given["bodies"], len(given["angle"][0])
    assert state.linear_velocities[:, bodies] == pytest.approx(np.array(given["linear"]), abs=2e-4)
    assert state.angular_velocities[:, bodies] == pytest.approx(
        np.array(given["angular"]), abs=2e-4
    )
    assert state.angle_velocities[:, :count] == pytest.approx(np.array(given["angle"]), abs=2e-4)


def test_velocities_of_twist_average_19_forward_differences(robots):
    found = MotionLibrary(robots, "cpu", velocity="twist")
    box = np.full(19, 1 / 19)
    motion = robot_motion(clips_of(robots)[0])
    state, rate = all_frames(found, 0), motion.frame_rate

    def average(values):
        return smooth(forward(values, rate, lambda steps: steps[-1:]), box, "constant")

    positions, turns = motion.body_poses
    assert state.linear_velocities[:, 0] == pytest.approx(average(positions[:, 0]), abs=1e-4)
    steps = spins(turns[:, 0], rate)
    expected = smooth(np.concatenate([steps, steps[-1:]]), box, "constant")
    assert state.angular_velocities[:, 0] == pytest.approx(expected, abs=1e-4)
    rows = list(motion.hinges.by_joint)
    assert state.angle_velocities[:, : len(rows)] == pytest.approx(
        average(motion.angles[:, rows]), abs=1e-4
    )


@pytest.mark.parametrize("velocity", VELOCITIES)
@pytest.mark.parametrize("frames", [1, 2, 3, 4])
def test_short_clips_have_finite_velocities(tmp_path, velocity, frames):
    clip = robot_clip(urdf(1), tmp_path, frames=frames)
    found = MotionLibrary(packed(tmp_path, {"short": clip}), "cpu", velocity=velocity)
    for state in (all_frames(found, 0), found.state([0, 0, 0], [-1.0, 0.01, 9.0])):
        assert all(np.isfinite(array).all() for array in state)
    if frames == 1:
        assert not state.linear_velocities.any()
        assert not state.angle_velocities.any()


def test_windows_are_the_frames_from_their_starts_on(robots):
    found = MotionLibrary(robots, "cpu")
    clips, starts = np.array([[0, 3], [2, 1]]), np.array([[5, 0], [30, 7]])
    window = found.windows(clips, starts, 10)
    assert window.positions.shape[:3] == (2, 2, 10)
    each = np.broadcast_to(clips[..., np.newaxis], (2, 2, 10))
    state = found.frames(each, starts[..., np.newaxis] + np.arange(10))
    for own, other in zip(window, state, strict=True):
        assert (own == other).all()


def test_clips_have_names_lengths_boundaries_and_catalog_columns(tmp_path):
    pa = pytest.importorskip("pyarrow")
    files = {}
    for name, clip in walking_clips().items():
        files[name] = tmp_path / f"{name}.mocp"
        files[name].write_bytes(mocpack.encode(clip, codec="lossless"))
    path = tmp_path / "walks.mocps"
    labels = pa.table({"clip": sorted(files), "weight": [1.0, 2.5, 4.0]})
    pack(files, path, meta=labels)
    found = MotionLibrary(path, "cpu", where="frames > 40")
    with open_corpus(path) as corpus:
        kept = [corpus.names[clip] for clip in corpus.select("frames > 40")]
    assert list(found.names) == kept
    assert found.table.column("clip").to_pylist() == kept
    assert found.boundaries.tolist() == [0, *np.cumsum(found.frame_counts)]
    assert found.lengths == pytest.approx((found.frame_counts - 1) / found.frame_rates)
    assert found.weights.tolist() == [1.0, 2.5]
    assert len(found) == 2
    assert "2 clips" in repr(found)


def test_times_outside_a_clip_are_its_first_and_last_frame(robots):
    found = MotionLibrary(robots, "cpu")
    last = int(found.frame_counts[0]) - 1
    state = found.state([0, 0], [-5.0, 1e6])
    frames = found.frames([0, 0], [0, last])
    for own, other in zip(state, frames, strict=True):
        assert (own == other).all()


def test_arrays_to_write_to_get_the_states_and_none_is_left_out(robots):
    found = MotionLibrary(robots, "cpu")
    whole = found.state([0, 1], [0.5, 0.3])
    positions, angles = np.empty_like(whole.positions), np.empty_like(whole.angles)
    nothing = MotionState(*[None] * 7)
    out = nothing._replace(positions=positions, angles=angles)
    state = found.state([0, 1], [0.5, 0.3], out=out)
    assert state.positions is positions
    assert state.rotations is None
    assert (positions == whole.positions).all()
    assert (angles == whole.angles).all()
    for wrong in (positions[:1], positions.astype(np.float64), whole.rotations):
        with pytest.raises(UsageError, match="positions"):
            found.state([0, 1], [0.5, 0.3], out=nothing._replace(positions=wrong))


def test_orders_of_bodies_joints_and_quaternions_can_be_chosen(robots):
    mujoco = MotionLibrary(robots, "cpu")
    physx = MotionLibrary(robots, "cpu", order="physx", quaternion="wxyz")
    for clip, source in enumerate(clips_of(robots)):
        motion = robot_motion(source)
        bodies = list_bodies_breadth_first(motion.robot)
        rows = list_hinges_breadth_first(motion.robot)
        kind = int(physx.skeletons[clip])
        assert physx.joint_names[kind] == tuple(motion.hinges.names[h] for h in rows)
        one, other = all_frames(mujoco, clip), all_frames(physx, clip)
        count = len(bodies)
        assert (other.positions[:, :count] == one.positions[:, bodies]).all()
        assert (other.rotations[:, :count] == one.rotations[:, bodies][..., [3, 0, 1, 2]]).all()
        assert other.angles[:, : len(rows)] == pytest.approx(motion.angles[:, rows], abs=1e-5)


def test_rows_in_16_bits_take_half_the_memory_and_state_their_error(robots):
    exact = MotionLibrary(robots, "cpu")
    halves = MotionLibrary(robots, "cpu", "float16")
    assert halves.nbytes * 2 == exact.nbytes
    assert exact.row_error == (0, 0, 0)
    assert 0 < halves.row_error.root_m < 1e-4
    assert 0 < halves.row_error.angle_rad < 2e-3
    for clip in range(len(exact)):
        one, other = all_frames(exact, clip), all_frames(halves, clip)
        root = np.linalg.norm(one.positions[:, 0] - other.positions[:, 0], axis=1)
        is_floating = clip != 4  # the base of the last one is on hinges
        assert not is_floating or root.max() <= halves.row_error.root_m + 1e-6
        allowed = max(halves.row_error.angle_rad, halves.row_error.length_m)
        assert np.abs(one.angles - other.angles).max() <= allowed + 1e-6
        assert np.abs(one.positions - other.positions).max() < 0.02


def test_a_g1_takes_144_bytes_per_frame(tmp_path):
    links = "".join(
        f'<link name="l{k + 1}"/><joint name="j{k}" type="revolute"><parent link="l{k}"/>'
        f'<child link="l{k + 1}"/><axis xyz="0 1 0"/><limit lower="-3" upper="3"/></joint>'
        for k in range(29)
    )
    text = f'<robot name="g1"><link name="l0"/>{links}</robot>'
    clip = robot_clip(text, tmp_path)
    path = packed(tmp_path, {"g1": clip})
    assert MotionLibrary(path, "cpu").nbytes == 144 * FRAMES
    assert MotionLibrary(path, "cpu", "float16").nbytes == 72 * FRAMES


def test_scales_are_refused_by_the_name_of_the_clip_also_after_clips_without_them(tmp_path):
    plain = walk(0.5)
    grown = np.ones((plain.frame_count, len(plain.skeleton), 3))
    grown[:, 0] = 2.0
    clips = {"plain": plain, "scaled": plain.replace(scales=grown)}
    files = {name: tmp_path / f"{name}.mocp" for name in clips}
    for name, clip in clips.items():
        mocpack.write(clip, files[name])
    pack(files, tmp_path / "a.mocps")
    with pytest.raises(UsageError, match=naming("clip scaled joints")):
        MotionLibrary(tmp_path / "a.mocps", device="cpu")


def test_clips_of_one_robot_have_one_skeleton_and_those_of_another_their_own(tmp_path):
    clips = {f"clip{k}": robot_clip(urdf(1), tmp_path, seed=k) for k in range(3)}
    # a body that is fixed to a link is in the metadata alone
    body = [0, "camera", 0, 0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 1.0]
    for k, clip in enumerate(clips.values()):
        robot = dict(clip.metadata["robot"])
        metadata = {"robot": robot, "take": k}
        if k == 2:
            metadata["robot"] = robot | {"fixed": [body, *robot.get("fixed", [])]}
        header = replace(clip.header, metadata=metadata)
        clips[f"clip{k}"] = Clip(header, clip.rotations, clip.translations)
    found = MotionLibrary(packed(tmp_path, clips), "cpu")
    assert found.skeletons.tolist() == [0, 0, 1]
    assert found.body_names[1] == ("camera", *found.body_names[0])
    state = found.frames([2, 2], [0, 5])
    apart = np.linalg.norm(state.positions[:, 0] - state.positions[:, 1], axis=1)
    assert apart == pytest.approx(np.sqrt(0.14), abs=1e-5)


def test_contact_tracks_are_part_of_the_states(tmp_path):
    clip, flags = walk(1.0), np.arange(walk(1.0).frame_count) % 3 == 0
    tracks = {
        "left_contact": Track("flag", flags),
        "right_contact": Track("flag", ~flags),
        "speed": Track("scalar", np.zeros(len(flags))),
    }
    path = packed(tmp_path, {"walk": with_tracks(clip, tracks), "again": with_tracks(clip, tracks)})
    found = MotionLibrary(path, "cpu")
    assert found.contact_names == (("left_contact", "right_contact"),)
    for clip_id in range(2):
        contacts = all_frames(found, clip_id).contacts
        assert (contacts == np.stack([flags, ~flags], axis=1)).all()
    halves = MotionLibrary(path, "cpu", "float16")
    assert (all_frames(halves, 0).contacts == contacts).all()


def test_a_clip_without_the_contacts_of_the_others_is_an_error(tmp_path):
    clip = walk(1.0)
    tracks = {"left_contact": Track("flag", np.zeros(clip.frame_count, np.bool_))}
    for names in (("a", "b"), ("b", "a")):
        clips = {names[0]: with_tracks(clip, tracks), names[1]: clip}
        folder = tmp_path / names[0]
        folder.mkdir()
        with pytest.raises(UsageError, match=naming("b")):
            MotionLibrary(packed(folder, dict(sorted(clips.items()))), "cpu")


def test_clips_and_frames_that_do_not_exist_are_index_errors(robots):
    found = MotionLibrary(robots, "cpu")
    count, frames = len(found), int(found.frame_counts[1])
    for call in (
        lambda: found.state([0, count], [0.0, 0.0]),
        lambda: found.state([-1], [0.0]),
        lambda: found.frames([1], [frames]),
        lambda: found.frames([1], [-1]),
        lambda: found.windows([1], [frames - 9], 10),
    ):
        with pytest.raises(IndexError):
            call()
    assert found.windows([1], [frames - 10], 10).positions.shape[1] == 10


def test_invalid_arguments_name_themselves(robots, walks):
    for options, name in (
        ({"device": "gpu"}, "device"),
        ({"dtype": "float64"}, "dtype"),
        ({"velocity": "newton"}, "velocity"),
        ({"order": "bullet"}, "order"),
        ({"quaternion": "xyz"}, "quaternion"),
    ):
        with pytest.raises(UsageError, match=name):
            MotionLibrary(robots, **{"device": "cpu"} | options)
    found = MotionLibrary(walks, "cpu")
    for call in (
        lambda: found.state([0.5], [0.0]),
        lambda: found.state([0], [np.nan]),
        lambda: found.state([0, 1], [0.0]),
        lambda: found.frames([0], [0.5]),
        lambda: found.windows([0], [0], 0),
    ):
        with pytest.raises(UsageError):
            call()


def test_no_gpu_computes_on_the_cpu_and_says_so_once(robots):
    library._open_device.cache_clear()
    library._warn_once.cache_clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        first, second = MotionLibrary(robots), MotionLibrary(robots, "cuda:7")
    if first.device != "cpu":
        pytest.skip("this machine has a GPU")
    assert second.device == "cpu"
    assert [one.category for one in caught] == [DeviceWarning]
    assert caught[0].filename == __file__


def test_a_motion_outside_the_limits_of_its_robot_is_named_on_load(tmp_path):
    right = robot_clip(urdf(1), tmp_path)
    degrees = build_clip(
        robot := read_robot(tmp_path / "robot0.urdf"),
        np.rad2deg(right.hinge_angles().angles) * ~robot.hinges.slides,
        None,
        None,
        fps=30,
        source="made",
    )
    path = packed(tmp_path, {"right": right, "in_degrees": degrees})
    with pytest.warns(LimitWarning, match=naming("in_degrees")) as caught:
        MotionLibrary(path, "cpu")
    assert "right" not in str(caught[0].message)
    assert caught[0].filename == __file__


def test_importing_the_library_imports_neither_torch_nor_cuda():
    code = "import sys, mocpack.trainers; print({'torch', 'cupy', 'numba'} & set(sys.modules))"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout.strip() == "set()"
