import numpy as np
import pytest

from mocpack import rotations
from mocpack.clip import Clip, promised_error
from mocpack.testing.motions import humanoid, still, walk
from mocpack.transforms.joint_axes import find_axes, joint_rotations
from mocpack.transforms.time_grid import Grid, decode_grid, frame_scales, group_slices
from mocpack.transforms.time_search import SETTINGS, Setting, grids_in_time, quantise_in_time


def turning(vectors):
    """Return a body of which one knee turns by these rotation vectors."""
    body = humanoid()
    local = np.tile(rotations.IDENTITY, (len(vectors), len(body), 1))
    local[:, body.index("LeftLeg")] = rotations.from_rotvec(np.asarray(vectors))
    return Clip.build(body, local, np.zeros((len(vectors), 3)))


def knee(clip):
    return find_axes(clip).joints[clip.skeleton.index("LeftLeg")]


def test_a_knee_has_one_channel_and_a_still_joint_none():
    swing = np.sin(np.linspace(0, 9, 80))[:, None] * [0.6, 0.0, 0.8]
    axes = find_axes(turning(swing))
    assert axes.channel_count == 1
    assert axes.places == (-1,)


def test_a_joint_of_two_axes_has_two_channels():
    a, b = 0.5 * np.sin(np.linspace(0, 9, 80)), 0.4 * np.cos(np.linspace(0, 14, 80))
    assert knee(turning(np.stack([a, b, 0.1 * a * b], 1))).count == 2


def test_a_joint_that_turns_right_round_is_a_quaternion():
    assert knee(turning(np.linspace(0, 6, 80)[:, None] * [1.0, 0, 0])).count == 4


def test_channels_turn_a_joint_about_its_mean_in_its_axes():
    swing = 0.3 + np.sin(np.linspace(0, 9, 81))[:, None] * [0.0, 0.5, 0.0]
    clip = turning(swing)
    joint = knee(clip)
    there = joint_rotations(joint, np.zeros((1, joint.count)))
    between = rotations.angle_between(there, clip.rotations[:, clip.skeleton.index("LeftLeg")])
    assert between.min() < 0.05


def test_steps_grow_with_coarseness_and_shrink_with_level():
    scales = frame_scales(np.array([4, -4]), np.array([0, 1, 0, 2]), 2)
    assert scales.tolist() == [2.0, 1.0, 0.5, 0.125]


def test_groups_cover_all_frames():
    assert group_slices(7, 3) == [slice(0, 3), slice(3, 6), slice(6, 7)]


@pytest.mark.parametrize("bound", [1e-4, 1e-3, 5e-3])
def test_every_frame_keeps_the_bound(bound):
    clip = walk(0.5, frame_rate=60, seed=3)
    grid = quantise_in_time(clip, bound, tries=2)
    assert promised_error(clip, decode_grid(grid, clip.header)).max <= bound


def test_every_setting_keeps_the_bound():
    clip = walk(0.3, frame_rate=120, seed=4)
    grids = list(grids_in_time(clip, 5e-4, tries=0))
    assert len(grids) == len(SETTINGS)
    for grid in grids:
        assert promised_error(clip, decode_grid(grid, clip.header)).max <= 5e-4


def test_a_group_decodes_by_itself():
    clip = walk(1.0, frame_rate=60, seed=5)
    grid = next(grids_in_time(clip, 1e-3, group_length=25, tries=0))
    second = slice(25, 50)
    part = Grid(
        grid.axes,
        grid.steps,
        25,
        grid.coarseness[1:2],
        grid.filters,
        grid.numbers[second],
        grid.levels[second],
    )
    alone = decode_grid(part, clip.with_header(frame_count=25))
    whole = decode_grid(grid, clip.header).frames(25, 50)
    assert promised_error(whole, alone).max < 1e-12


def test_tries_leave_fewer_frames_to_refine():
    clip = walk(0.5, frame_rate=60, seed=6)
    coarse = Setting(0, 0.0, (4,))
    refined = [int(quantise_in_time(clip, 1e-3, coarse, tries=n).levels.sum()) for n in (0, 8)]
    assert refined[1] < refined[0]


def test_two_runs_give_the_same_grid():
    clip = walk(0.2, frame_rate=60, seed=7)
    a, b = (quantise_in_time(clip, 1e-3, tries=2) for _ in range(2))
    assert np.array_equal(a.numbers, b.numbers)
    assert np.array_equal(a.levels, b.levels)


@pytest.mark.parametrize("frames", [1, 2, 30])
def test_a_still_clip_has_no_channels(frames):
    clip = still(frames)
    grid = quantise_in_time(clip, 1e-3)
    assert grid.numbers.shape == (frames, 0)
    assert promised_error(clip, decode_grid(grid, clip.header)).max < 1e-4
