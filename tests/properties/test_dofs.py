"""The matrix of degrees of freedom: an exact round trip for every kind of joint."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mocpack import Skeleton
from mocpack.model import rotations
from mocpack.model.clip import ClipHeader
from mocpack.model.dofs import from_channels, from_dofs, to_channels, to_dofs
from strategies import ASF_LAYOUTS, BVH_LAYOUTS, dof_motions, skeletons

BVH = dof_motions(skeletons(layouts=BVH_LAYOUTS, axes=False))
ASF = dof_motions(skeletons(layouts=ASF_LAYOUTS))


def assert_comes_back(motion):
    header, matrix = motion
    clip = from_dofs(matrix, header)
    found = to_dofs(clip)
    again = from_dofs(found, header)
    assert rotations.angle_between(clip.rotations, again.rotations).max() < 1e-11
    np.testing.assert_allclose(again.translations, clip.translations, atol=1e-12)
    lengths = ~header.skeleton.columns.is_angle
    np.testing.assert_allclose(found[:, lengths], matrix[:, lengths], atol=1e-12)


@given(BVH)
def test_bvh_joints_round_trip(motion):
    assert_comes_back(motion)


@given(ASF)
def test_asf_joints_round_trip(motion):
    assert_comes_back(motion)


@given(BVH | ASF)
def test_a_sources_own_numbers_are_kept_and_mean_the_same_motion(motion):
    header, numbers = motion
    clip = from_channels(numbers, header)
    np.testing.assert_array_equal(to_channels(clip), numbers)
    again = from_dofs(to_dofs(clip), header)
    assert rotations.angle_between(clip.rotations, again.rotations).max() < 1e-11
    np.testing.assert_array_equal(again.translations, clip.translations)


@given(BVH | ASF)
def test_angles_never_jump_by_more_than_half_a_turn(motion):
    header, matrix = motion
    found = to_dofs(from_dofs(matrix, header))
    steps = np.abs(np.diff(found, axis=0))[:, header.skeleton.columns.is_angle]
    assert (steps <= np.pi + 1e-9).all()


@given(st.sampled_from(["X", "YZ", "ZY", "XYZ", "ZXY", "YXZ"]), st.floats(-3, 3), st.floats(-6, 6))
def test_a_slow_motion_round_trips_as_the_very_same_angles(order, start, speed):
    # starting anywhere but beyond a pole, and going through poles and several turns
    frames = np.arange(80)[:, np.newaxis]
    rates = np.array([speed, 0.7 * speed, -0.4 * speed])[: len(order)] / 80
    first = np.array([start, 0.4 * start, start / 2])[: len(order)]
    skeleton = Skeleton(("a",), (-1,), [[0, 0, 0]], channels=[tuple(f"{a}rotation" for a in order)])
    header = ClipHeader(skeleton, 80, 0.01, ())
    matrix = first + 3 * rates * frames
    np.testing.assert_allclose(to_dofs(from_dofs(matrix, header)), matrix, atol=1e-9)
