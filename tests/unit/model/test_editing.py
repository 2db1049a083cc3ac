"""Editing clips by handles: exact at the handle, little change elsewhere."""

import numpy as np
import pytest

import mocpack
from mocpack.errors import UsageError
from mocpack.model import rotations
from mocpack.model.clip import Clip
from mocpack.model.contacts import find_planted
from mocpack.model.editing import edit_clip
from mocpack.model.handles import Handle
from mocpack.model.hinges import Hinges
from mocpack.model.skeleton import Skeleton
from mocpack.samples import JUMP
from mocpack.testing import walk
from naming import naming

CLIP = mocpack.read(JUMP).frames(1, 201)
TIME = 100 / 120
HAND = CLIP.skeleton.index("LeftHand")


def test_a_handle_moves_its_joint_to_the_target():
    target = CLIP.positions()[100, HAND] + (0.1, 0.15, 0.1)
    edit = edit_clip(CLIP, [Handle("LeftHand", TIME, to=target)])
    assert np.linalg.norm(edit.clip.positions()[100, HAND] - target) < 1e-4
    assert edit.misses[0] < 1e-4


def test_moved_joints_are_reported_and_others_hardly_move():
    edit = edit_clip(CLIP, [Handle("LeftHand", TIME, by=(0.1, 0.15, 0.1))])
    moved = np.linalg.norm(edit.clip.positions() - CLIP.positions(), axis=-1)
    np.testing.assert_allclose(edit.changes, moved.max(axis=0), atol=1e-9)
    np.testing.assert_allclose(edit.changes_at_handles, moved[100], atol=1e-5)
    far = CLIP.skeleton.indices(["Head", "RightHand", "LeftFoot", "RightFoot", "Hips"])
    assert edit.changes_at_handles[far].max() < 0.02


def test_the_change_ends_where_the_falloff_ends():
    edit = edit_clip(CLIP, [Handle("LeftHand", TIME, by=(0.1, 0.15, 0.1))], falloff=0.25)
    moved = np.linalg.norm(edit.clip.positions() - CLIP.positions(), axis=-1).max(axis=1)
    assert moved[[*range(70), *range(131, 200)]].max() < 1e-9
    assert set(np.flatnonzero(moved >= 1e-3)) == set(edit.frames)


def test_handles_close_in_time_are_all_reached():
    handles = [
        Handle("LeftHand", TIME, by=(0.2, 0.0, 0.0)),
        Handle("LeftHand", TIME + 6 / 120, by=(-0.2, 0.0, 0.0)),
    ]
    assert edit_clip(CLIP, handles, falloff=0.3).misses.max() < 1e-4


def test_handles_lie_between_frames_too():
    edit = edit_clip(CLIP, [Handle("LeftHand", 0.7777, to=(0.1, 1.2, 0.3))])
    np.testing.assert_allclose(
        edit.clip.sample(0.7777).positions()[0, HAND], [0.1, 1.2, 0.3], atol=1e-3
    )
    assert edit.misses[0] < 1e-3


def test_a_rotation_can_be_a_target_too():
    turn = rotations.from_rotvec(np.array([0.0, 0.7, 0.0]))
    edit = edit_clip(CLIP, [Handle("Head", 1.2, rotation=turn)])
    head = edit.clip.world()[1][144, CLIP.skeleton.index("Head")]
    assert rotations.angle_between(head, turn) < 1e-3


def test_planted_feet_stay_while_the_hips_sink():
    feet = CLIP.skeleton.indices(["LeftFoot", "RightFoot"])
    standing = int(np.flatnonzero(find_planted(CLIP.positions(), 120)[:, feet].all(axis=1))[0])
    handle = Handle("Hips", standing / 120, by=(0.0, -0.1, 0.0))
    kept, loose = (
        edit_clip(CLIP, [handle], contacts=on).changes_at_handles[feet].max()
        for on in (True, False)
    )
    assert kept < 0.003
    assert kept < 0.5 * loose


def hinged_arm():
    """Return a base that stays and three bones in a plane, bent by hinges with narrow limits."""
    hinges = Hinges((1, 2, 3), np.tile([0.0, 0, 1], (3, 1)), np.tile([-0.6, 0.6], (3, 1)))
    skeleton = Skeleton(
        ("base", "upper", "lower", "wrist", "hand"),
        (-1, 0, 1, 2, 3),
        np.tile([0.3, 0, 0], (5, 1)),
        rest=np.tile(rotations.IDENTITY, (5, 1)),
        hinges=hinges,
    )
    angles = 0.2 * np.sin(np.arange(60)[:, np.newaxis] / 10 + [0, 1, 2])
    return Clip.from_angles(skeleton, angles, np.zeros((60, 3)), frame_rate=60)


def test_hinges_rotate_about_their_axes_within_their_limits():
    clip = hinged_arm()
    edit = edit_clip(
        clip, [Handle("hand", 0.5, by=(0.0, 0.1, 0.0))], weights={"base": 1000.0}, contacts=False
    )
    assert edit.clip.hinge_angles().off_axis.max() < 1e-9
    assert np.abs(edit.clip.angles).max() <= 0.6 + 1e-9
    assert np.abs(edit.clip.angles - clip.angles).max() > 0.05
    assert edit.misses[0] < 1e-3


def test_tracks_stay_as_they_are():
    clip = walk(1.0).replace(tracks={"left": mocpack.Track("flag", np.arange(60) < 30)})
    edit = edit_clip(clip, [Handle("LeftHand", 0.5, by=(0, 0.1, 0))])
    np.testing.assert_array_equal(edit.clip.tracks["left"].values, np.arange(60) < 30)


@pytest.mark.parametrize(
    ("handles", "named"),
    [
        ([], "handle"),
        ([Handle("Tail", 0.5, by=(0, 0, 0))], "Tail"),
        ([Handle("Hips", 9.0, by=(0, 0, 0))], "time 9.0"),
        (
            [Handle("Hips", 0.5, to=(0, 1, 0)), Handle("Hips", 0.5, to=(0, 2, 0))],
            "Hips 50",
        ),
    ],
)
def test_invalid_handles_are_refused(handles, named):
    with pytest.raises(UsageError, match=naming(named)):
        edit_clip(CLIP, handles)
