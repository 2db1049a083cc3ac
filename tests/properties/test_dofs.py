"""The matrix of degrees of freedom: an exact way there and back, for every kind of joint."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mocpack import Skeleton, rotations
from mocpack.clip import ClipHeader
from mocpack.dofs import from_channels, from_dofs, is_angle, to_channels, to_dofs

QUARTERS = st.integers(-6, 6).map(lambda k: k * np.pi / 2)
ANGLES = st.floats(-10, 10) | QUARTERS
LENGTHS = st.floats(-5, 5)


def some_of(names):
    return st.lists(st.sampled_from(names), max_size=3, unique=True)


def joints(position, rotation, letters):
    """Channels of a joint: some positions, then some rotations, in any order."""
    return st.builds(
        lambda p, r: tuple([position.format(a) for a in p] + [rotation.format(a) for a in r]),
        some_of(letters),
        some_of(letters),
    )


BVH = joints("{}position", "{}rotation", "XYZ")
ASF = joints("t{}", "r{}", "xyz")
TURNS = arrays(np.float64, 3, elements=st.floats(-3, 3)).map(rotations.from_rotvec)


@st.composite
def motions(draw, layout, *, axes=False):
    """A header and a matrix of degrees of freedom."""
    channels = draw(st.lists(layout, min_size=1, max_size=3))
    count, frames = len(channels), draw(st.integers(1, 6))
    skeleton = Skeleton(
        tuple(f"j{j}" for j in range(count)),
        tuple(range(-1, count - 1)),
        draw(arrays(np.float64, (count, 3), elements=LENGTHS)),
        channels=channels,
        axes=np.array([draw(TURNS) for _ in channels]) if axes else np.zeros((0, 4)),
    )
    matrix = draw(arrays(np.float64, (frames, skeleton.channel_count), elements=ANGLES))
    return ClipHeader(skeleton, frames, 0.01, skeleton.translated_joints, unit=0.01), matrix


def assert_comes_back(motion):
    header, matrix = motion
    clip = from_dofs(matrix, header)
    found = to_dofs(clip)
    again = from_dofs(found, header)
    assert rotations.angle_between(clip.rotations, again.rotations).max() < 1e-11
    np.testing.assert_allclose(again.translations, clip.translations, atol=1e-12)
    lengths = ~is_angle(header.skeleton)
    np.testing.assert_allclose(found[:, lengths], matrix[:, lengths], atol=1e-12)


@given(motions(BVH))
def test_bvh_joints_come_back(motion):
    assert_comes_back(motion)


@given(motions(ASF, axes=True))
def test_asf_joints_come_back(motion):
    assert_comes_back(motion)


@given(motions(BVH) | motions(ASF, axes=True))
def test_a_sources_own_numbers_are_kept_and_mean_the_same_motion(motion):
    header, numbers = motion
    clip = from_channels(numbers, header)
    np.testing.assert_array_equal(to_channels(clip), numbers)
    again = from_dofs(to_dofs(clip), header)
    assert rotations.angle_between(clip.rotations, again.rotations).max() < 1e-11
    np.testing.assert_array_equal(again.translations, clip.translations)


@given(motions(BVH) | motions(ASF, axes=True))
def test_angles_never_jump_by_more_than_half_a_turn(motion):
    header, matrix = motion
    found = to_dofs(from_dofs(matrix, header))
    steps = np.abs(np.diff(found, axis=0))[:, is_angle(header.skeleton)]
    assert (steps <= np.pi + 1e-9).all()


@given(st.sampled_from(["X", "YZ", "ZY", "XYZ", "ZXY", "YXZ"]), st.floats(-3, 3), st.floats(-6, 6))
def test_a_slow_motion_comes_back_as_the_very_same_angles(order, start, speed):
    # starting anywhere but beyond a pole, and going through poles and several turns
    frames = np.arange(80)[:, np.newaxis]
    rates = np.array([speed, 0.7 * speed, -0.4 * speed])[: len(order)] / 80
    first = np.array([start, 0.4 * start, start / 2])[: len(order)]
    skeleton = Skeleton(("a",), (-1,), [[0, 0, 0]], channels=[tuple(f"{a}rotation" for a in order)])
    header = ClipHeader(skeleton, 80, 0.01, ())
    matrix = first + 3 * rates * frames
    np.testing.assert_allclose(to_dofs(from_dofs(matrix, header)), matrix, atol=1e-9)
