"""Editing by handles: exact at the handle, little change elsewhere."""

import numpy as np
import pytest

import mocpack
from mocpack.errors import UsageError
from mocpack.model import rotations
from mocpack.model.contacts import find_planted
from mocpack.papers.mukai.editing import Handle, open_spline
from mocpack.samples import JUMP
from mocpack.testing import walk
from mocpack.testing.motions import vertex_wave
from naming import naming

CLIP = mocpack.read(JUMP).frames(1, 201)
TIME = 100 / 120


@pytest.fixture(scope="module")
def jump():
    return mocpack.encode(CLIP, "latent-spline")


def places(data):
    return mocpack.decode(data).positions()


def test_a_handle_moves_its_joint_to_the_target_in_the_file(jump):
    spline = open_spline(jump)
    goal = spline.place("LeftHand", TIME) + np.array([0.1, 0.15, 0.1])
    edit = spline.apply_handles([Handle("LeftHand", TIME, to=goal)])
    hand = CLIP.skeleton.index("LeftHand")
    after = places(edit.spline.pack())
    assert np.linalg.norm(after[100, hand] - goal) < 1e-3
    assert edit.misses[0] == pytest.approx(np.linalg.norm(after[100, hand] - goal), abs=1e-5)


def test_other_joints_hardly_move_and_what_moves_is_reported(jump):
    edit = open_spline(jump).apply_handles([Handle("LeftHand", TIME, by=(0.1, 0.15, 0.1))])
    moved = np.linalg.norm(places(edit.spline.pack()) - places(jump), axis=-1)
    np.testing.assert_allclose(edit.changes, moved.max(axis=0), atol=1e-5)
    np.testing.assert_allclose(edit.changes_at_handles, moved[100], atol=1e-5)
    far = [CLIP.skeleton.index(n) for n in ("Head", "RightHand", "LeftFoot", "RightFoot", "Hips")]
    assert edit.changes_at_handles[far].max() < 0.02


def test_the_change_fades_out(jump):
    edit = open_spline(jump).apply_handles(
        [Handle("LeftHand", TIME, by=(0.1, 0.15, 0.1))], falloff=0.25
    )
    moved = np.linalg.norm(places(edit.spline.pack()) - places(jump), axis=-1).max(axis=1)
    assert moved[100] > 0.15
    assert moved[[0, 30, 170, 199]].max() < 5e-3
    assert set(np.flatnonzero(moved >= 1e-3)) <= set(edit.frames)


def test_a_short_falloff_and_handles_close_in_time_are_exact_too(jump):
    pulls = [
        Handle("LeftHand", TIME, by=(0.2, 0.0, 0.0)),
        Handle("LeftHand", TIME + 6 / 120, by=(-0.2, 0.0, 0.0)),
    ]
    assert open_spline(jump).apply_handles(pulls[:1], falloff=0.02).misses.max() < 1e-3
    assert open_spline(jump).apply_handles(pulls, falloff=0.3).misses.max() < 1e-3


def test_the_root_goes_as_far_as_it_is_asked_to(jump):
    edit = open_spline(jump).apply_handles([Handle("Hips", TIME, by=(0.0, 0.3, 0.0))])
    moved = places(edit.spline.pack())[100, 0] - places(jump)[100, 0]
    np.testing.assert_allclose(moved, [0, 0.3, 0], atol=1e-3)


def test_planted_feet_stay_while_the_hips_sink(jump):
    before = places(jump)
    feet = [CLIP.skeleton.index(name) for name in ("LeftFoot", "RightFoot")]
    standing = int(np.flatnonzero(find_planted(before, 120)[:, feet].all(axis=1))[0])
    handle = Handle("Hips", standing / 120, by=(0.0, -0.1, 0.0))
    kept, loose = (
        open_spline(jump).apply_handles([handle], contacts=on).changes_at_handles[feet].max()
        for on in (True, False)
    )
    assert kept < 0.003
    assert kept < 0.5 * loose


def test_joints_are_kept_by_their_weights(jump):
    spline, handle = open_spline(jump), Handle("LeftHand", TIME, by=(0.5, 0.3, 0.0))
    head = CLIP.skeleton.index("Head")
    free = spline.apply_handles([handle]).changes_at_handles[head]
    assert spline.apply_handles([handle], keep={"Head": 30.0}).changes_at_handles[head] < 0.5 * free


def test_a_rotation_can_be_held_and_several_handles_at_once(jump):
    turn = rotations.from_rotvec(np.array([0.0, 0.7, 0.0]))
    spline = open_spline(jump)
    pulls = [
        Handle("Head", 1.2, rotation=turn),
        Handle("LeftHand", 1.2, by=(0, 0.1, 0)),
        Handle("RightFoot", 0.5, by=(0.05, 0.05, 0)),
    ]
    edit = spline.apply_handles(pulls)
    assert edit.misses[0] < 0.01
    assert edit.misses[1:].max() < 1e-3
    world = mocpack.decode(edit.spline.pack()).world()[1]
    head = world[144, CLIP.skeleton.index("Head")]
    assert rotations.angle_between(head, turn) < 0.02


def test_an_edited_motion_can_be_edited_again(jump):
    once = open_spline(jump).apply_handles([Handle("LeftHand", TIME, by=(0.1, 0, 0))]).spline
    goal = once.place("LeftHand", TIME)
    twice = once.apply_handles([Handle("RightHand", TIME, by=(0, 0.1, 0))])
    assert twice.misses[0] < 1e-3
    assert np.linalg.norm(twice.spline.place("LeftHand", TIME) - goal) < 5e-3


def test_handles_lie_between_frames_too(jump):
    edit = open_spline(jump).apply_handles([Handle("LeftHand", 0.7777, to=(0.1, 1.2, 0.3))])
    data = edit.spline.pack()
    with mocpack.Motion(data) as motion:
        hand = motion.sample(0.7777).positions()[0, CLIP.skeleton.index("LeftHand")]
    np.testing.assert_allclose(hand, [0.1, 1.2, 0.3], atol=1e-3)


def test_a_vertex_is_brought_to_its_place():
    clip = vertex_wave(60, 6)
    data = mocpack.encode(clip, "latent-spline:tolerance=0.001")
    spline = open_spline(data)
    goal = spline.place(7, 0.5) + np.array([0.0, 0.05, 0.0])
    edit = spline.apply_handles([Handle(7, 0.5, to=goal)])
    frame = round(0.5 / clip.frame_time)
    exact = open_spline(edit.spline.pack()).place(7, 0.5)
    assert np.linalg.norm(exact - goal) < 1e-3
    assert np.linalg.norm(edit.spline.clip().vertices[frame, 7] - goal) < 5e-3


def test_control_points_and_knots_can_be_changed(jump):
    spline = open_spline(jump)
    points = spline.controls()
    shift = np.zeros_like(points)
    shift[len(points) // 2] = 0.1
    moved = spline.with_controls(points + shift)
    assert np.abs(moved.clip().positions() - places(jump)).max() > 0.01
    same = spline.with_knots(spline.knots()).with_controls(points)
    np.testing.assert_array_equal(same.controls(), points)


def test_handles_written_back_unchanged_change_nothing(jump):
    again = open_spline(open_spline(jump).pack())
    np.testing.assert_array_equal(again.controls(), open_spline(jump).controls())
    np.testing.assert_array_equal(again.knots(), open_spline(jump).knots())


@pytest.mark.parametrize(
    ("work", "named"),
    [
        (lambda s: s.with_controls(np.zeros((2, 2))), "control (19, 13) (2, 2)"),
        (lambda s: s.with_knots(s.knots()[::-1]), "knots"),
        (lambda s: s.place(99, 0.5), "joint 30 99"),
        (lambda s: s.place("Tail", 0.5), "Tail"),
        (lambda s: s.place("Hips", 9.0), "time 0..1.65833 9.0"),
        (lambda s: s.apply_handles([]), "handle"),
        (lambda s: s.apply_handles([Handle("Hips", 0, by=(0, 0, 0))], falloff=0.0), "falloff 0.0"),
        (
            lambda s: s.apply_handles([Handle("Hips", 0, by=(0, 0, 0))], keep={"Hips": -1}),
            "Hips -1",
        ),
        (lambda s: Handle("Hips", 0), "to by rotation"),
        (lambda s: Handle("Hips", 0, to=(1, 2)), "to 3 [1. 2.]"),
    ],
)
def test_invalid_values_are_refused_with_their_range(jump, work, named):
    with pytest.raises(UsageError, match=naming(named)):
        work(open_spline(jump))


def test_goals_that_contradict_each_other_are_refused(jump):
    pulls = [Handle("Hips", 0.5, to=(0, 1, 0)), Handle("Hips", 0.5, to=(0, 2, 0))]
    with pytest.raises(UsageError, match=naming("Hips 50")):
        open_spline(jump).apply_handles(pulls)


def test_only_latent_spline_files_have_handles():
    with pytest.raises(UsageError, match=naming("latent-spline raw")):
        open_spline(mocpack.encode(walk(0.5), "raw"))
