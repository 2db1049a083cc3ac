import numpy as np
import pytest

from mocpack.errors import UnsupportedClipError
from mocpack.model import rotations
from mocpack.model.clip import Clip
from mocpack.model.dofs import to_dofs
from mocpack.model.skeleton import Skeleton
from mocpack.papers.beaudoin.codec.signals import (
    ANGLE,
    ROTATIONS,
    bone_reach,
    from_signals,
    layout,
    moving,
    ranking_weights,
    to_signals,
    unwrapped_rotvec,
)
from mocpack.testing import hard_clips, turn, walk
from naming import naming

CLIPS = hard_clips()


@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("name", CLIPS)
def test_signals_bring_every_clip_back(name, rotation):
    clip = CLIPS[name]
    plan = layout(clip.header, rotation)
    back = from_signals(to_signals(clip, plan), clip.header, plan)
    assert rotations.angle_between(back.rotations, clip.rotations).max() < 1e-7
    np.testing.assert_array_equal(back.translations, clip.translations)


def test_euler_signals_are_the_degrees_of_freedom():
    clip = walk(0.3)
    plan = layout(clip.header, "euler")
    np.testing.assert_allclose(to_signals(clip, plan).T, to_dofs(clip), atol=1e-12)


def test_asf_angles_are_ordered_outermost_first():
    channels = (("tx", "ty", "tz"), ("rx", "rz"))
    skeleton = Skeleton(("root", "arm"), (-1, 0), [[0, 0, 0], [0, 1, 0]], channels=channels)
    clip = Clip.build(
        skeleton,
        np.tile(rotations.IDENTITY, (2, 2, 1)),
        np.zeros((2, 3)),
    )
    plan = layout(clip.header, "euler")
    assert plan.joints[3:].tolist() == [1, 1]
    assert plan.kinds[3:].tolist() == [ANGLE + 2, ANGLE]  # z, then x


def test_rotation_vectors_go_on_past_a_full_turn():
    angles = np.linspace(0, 12, 200)
    axis = np.array([0.6, 0.0, 0.8])
    local = rotations.from_rotvec(angles[:, np.newaxis] * axis)
    np.testing.assert_allclose(unwrapped_rotvec(local), angles[:, np.newaxis] * axis, atol=1e-9)


def test_a_body_that_spins_has_no_jumps_in_its_angles():
    clip = turn(2.0, turns=3)
    signals = to_signals(clip, layout(clip.header, "euler"))
    assert np.abs(np.diff(signals, axis=1)).max() < 0.5


def test_only_moving_signals_are_reported():
    still = np.tile([[0.0], [1.0], [2.0]], 5)
    still[2, 3] += 1e-6
    np.testing.assert_array_equal(moving(still), [False, False, True])


def test_reach_is_the_longest_bone_that_a_joint_drives():
    skeleton = Skeleton(
        ("root", "helper", "arm", "hand"),
        (-1, 0, 1, 2),
        [[0, 0, 0], [0, 0, 0], [0.3, 0, 0], [0, 0.2, 0]],
        [[0, 0.1, 0]],
        (3,),
    )
    clip = Clip.build(skeleton, np.tile(rotations.IDENTITY, (3, 4, 1)), np.zeros((3, 3)))
    reach = bone_reach(clip)
    # the root: mean distance of the joints from it, 0, 0.3 and √0.13
    np.testing.assert_allclose(reach, [(0 + 0.3 + 0.13**0.5) / 3, 0.3, 0.2, 0.1])
    weights = ranking_weights(layout(clip.header, "quaternion"), reach)
    np.testing.assert_allclose(weights[:3], 1)
    np.testing.assert_allclose(weights[-4:], 0.2)  # twice the reach: components are half angles


def test_only_the_signals_above_a_weighted_joint_move_it():
    clip = walk(0.1)
    plan = layout(clip.header, "euler")
    weights = np.zeros(len(clip.skeleton) + 5)
    weights[clip.skeleton.index("LeftForeArm")] = 1.0
    places, turns = (
        {clip.skeleton.names[j] for j in plan.joints[plan.moves(weights) & kind]}
        for kind in (plan.is_place, ~plan.is_place)
    )
    assert places == {"Hips"}
    assert turns == {"Hips", "Spine", "Chest", "LeftShoulder", "LeftArm"}


@pytest.mark.parametrize("rotation", ["quaternion", "rotvec"])
def test_a_joint_that_turns_without_channels_is_refused(rotation):
    skeleton = Skeleton(("a", "b"), (-1, 0), np.zeros((2, 3)), channels=(("Xposition",), ()))
    local = np.tile([0.0, 0.0, 0.6, 0.8], (2, 2, 1))
    clip = Clip.build(skeleton, local, np.zeros((2, 3)))
    with pytest.raises(UnsupportedClipError, match=naming("'a' rotation")):
        to_signals(clip, layout(clip.header, rotation))
