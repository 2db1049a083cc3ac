"""Degrees of freedom: names, units, and rotations that channels cannot express."""

import numpy as np
import pytest

from mocpack import Clip, Skeleton
from mocpack.errors import UnsupportedClipError
from mocpack.model import rotations
from mocpack.model.clip import ClipHeader
from mocpack.model.dofs import (
    from_channels,
    from_dofs,
    moving_dofs,
    to_channels,
    to_dofs,
)
from mocpack.model.rotations import IDENTITY, from_rotvec
from mocpack.testing.motions import hard_clips
from naming import naming

ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "XY", "YX", "XZ", "ZX", "YZ", "ZY", *"XYZ", "")

KNEE = Skeleton(
    ("Hips", "Knee"),
    (-1, 0),
    [[0, 0, 0], [0.1, -0.4, 0]],
    channels=(
        ("Xposition", "Yposition", "Zposition", "Zrotation", "Yrotation", "Xrotation"),
        ("Xrotation",),
    ),
)


def still(skeleton, frames=2, translated=(0,), places=None):
    local = np.tile(IDENTITY, (frames, len(skeleton), 1))
    places = np.zeros((frames, len(translated), 3)) if places is None else places
    return Clip.build(skeleton, local, places, translated_joints=translated)


def test_columns_know_their_joint_and_kind():
    assert KNEE.columns.is_angle.tolist() == [False] * 3 + [True] * 4
    assert KNEE.columns.joints.tolist() == [0] * 6 + [1]


def test_a_files_numbers_are_degrees_and_units():
    header = ClipHeader(KNEE, 1, 0.01, (0,), unit=0.01)
    clip = from_channels(np.array([[100.0, 90, 0, 0, 0, 0, 180]]), header)
    np.testing.assert_allclose(clip.translations, [[[1, 0.9, 0]]])
    np.testing.assert_allclose(np.abs(clip.rotations[0, 1]), [1, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(to_dofs(clip), [[1, 0.9, 0, 0, 0, 0, np.pi]])
    np.testing.assert_array_equal(to_channels(clip), [[100.0, 90, 0, 0, 0, 0, 180]])


def test_angles_of_a_source_that_jump_are_unwound():
    # the second frame writes the pose of (10, 80, 20) on the other branch, and a turn away
    header = ClipHeader(KNEE, 2, 0.01, (0,))
    numbers = np.array([[0, 0, 0, 10, 80, 20, 179.0], [0, 0, 0, 190, 100, 200 - 360, -179.0]])
    found = np.degrees(to_dofs(from_channels(numbers, header))[:, 3:])
    np.testing.assert_allclose(found, [[10, 80, 20, 179], [10, 80, 20, 181]], atol=1e-9)


def test_a_joint_with_two_axes_may_start_beyond_a_right_angle():
    skeleton = Skeleton(("a",), (-1,), [[0, 0, 0]], channels=(("Zrotation", "Xrotation"),))
    header = ClipHeader(skeleton, 1, 0.01, ())
    matrix = np.radians([[20.0, 130.0]])
    np.testing.assert_allclose(to_dofs(from_dofs(matrix, header)), matrix)


def test_a_turn_about_an_axis_without_channel_is_refused():
    local = still(KNEE).rotations.copy()
    local[1, 1] = from_rotvec(np.array([0.0, 0.5, 0.0]))
    clip = Clip.build(KNEE, local, np.zeros((2, 3)))
    with pytest.raises(UnsupportedClipError, match=naming("'Knee' 28.6 X")):
        to_dofs(clip)


def test_a_turn_of_a_joint_without_channels_is_refused():
    skeleton = Skeleton(("a", "b"), (-1, 0), np.zeros((2, 3)), channels=(("Xrotation",), ()))
    local = still(skeleton, translated=()).rotations.copy()
    local[0, 1] = from_rotvec(np.array([0.0, 0.5, 0.0]))
    with pytest.raises(UnsupportedClipError, match=naming("'b' 28.6")):
        to_dofs(Clip.build(skeleton, local, np.zeros((2, 0, 3)), translated_joints=()))


def test_a_move_along_an_axis_without_channel_is_refused():
    places = np.tile(KNEE.offsets, (2, 1, 1))
    places[1, 1, 2] = 0.25
    with pytest.raises(UnsupportedClipError, match=naming("'Knee' 0.25")):
        to_dofs(still(KNEE, translated=(0, 1), places=places))


def test_a_joint_with_position_channels_that_stays_gives_its_offset():
    skeleton = Skeleton(
        ("a", "b"), (-1, 0), [[0, 0, 0], [1, 2, 3]], channels=((), ("Zposition", "Xposition"))
    )
    np.testing.assert_array_equal(
        to_dofs(still(skeleton, translated=(), places=None)), [[3, 1]] * 2
    )


def test_which_columns_move():
    assert moving_dofs(np.array([[1.0, 2.0], [1.0, 2.5]])).tolist() == [False, True]


def two_joints(channels: tuple[str, ...], axis: np.ndarray = rotations.IDENTITY) -> Skeleton:
    return Skeleton(
        ("root", "limb"),
        (-1, 0),
        np.array([[0.0, 0, 0], [0, 1, 2]]),
        channels=(("Xposition", "Yposition", "Zposition"), channels),
        axes=np.array([rotations.IDENTITY, axis]),
    )


@pytest.mark.parametrize("name", list(hard_clips()))
def test_clip_to_matrix_and_back(name):
    clip = hard_clips()[name]
    back = from_dofs(to_dofs(clip), clip.header)
    assert rotations.angle_between(back.rotations, clip.rotations).max() < 1e-7
    np.testing.assert_allclose(back.translations, clip.translations, atol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("style", ["BVH", "ASF"])
def test_the_core_turns_as_numpy_does(order, style):
    names = [f"{letter}rotation" if style == "BVH" else f"r{letter.lower()}" for letter in order]
    channels = tuple(names if style == "BVH" else names[::-1])
    rng = np.random.default_rng(len(order))
    axis = rotations.from_rotvec(rng.normal(size=3)) if style == "ASF" else rotations.IDENTITY
    skeleton = two_joints(channels, axis)
    angles = rng.uniform(-9, 9, (50, len(order)))
    matrix = np.concatenate([np.zeros((50, 3)), angles if style == "BVH" else angles[:, ::-1]], 1)
    clip = from_dofs(matrix, ClipHeader(skeleton, 50))
    turn = rotations.from_euler(angles, order)
    expected = rotations.multiply(rotations.multiply(axis, turn), rotations.conjugate(axis))
    # the core's chain of products rounds a little differently
    assert rotations.angle_between(clip.rotations[:, 1], expected).max() < 1e-12


@pytest.mark.parametrize("order", [o for o in ORDERS if len(o) < 3])
def test_angles_of_one_or_two_axes_round_trip_at_any_size(order):
    channels = tuple(f"{letter}rotation" for letter in order)
    t = np.linspace(0, 1, 200)
    angles = np.stack([20 * t - 3, 5 - 30 * t], 1)[:, : len(order)]
    matrix = np.concatenate([np.zeros((200, 3)), angles], axis=1)
    back = to_dofs(from_dofs(matrix, ClipHeader(two_joints(channels), 200)))
    # up to full turns of the first frame
    np.testing.assert_allclose(np.diff(back, axis=0), np.diff(matrix, axis=0), atol=1e-9)


def test_bvh_positions_replace_the_offset_and_acclaim_ones_add_to_it():
    quarter = rotations.from_rotvec(np.array([0, 0, np.pi / 2]))
    row = np.array([[0, 0, 0, 3.0]])
    bvh = from_dofs(row, ClipHeader(two_joints(("Xposition",)), 1, translated_joints=(0, 1)))
    np.testing.assert_allclose(bvh.translations[0, 1], [3, 1, 2])
    header = ClipHeader(two_joints(("tx",), quarter), 1, translated_joints=(0, 1))
    asf = from_dofs(row, header)
    np.testing.assert_allclose(asf.translations[0, 1], [0, 1 + 3, 2], atol=1e-12)
    np.testing.assert_allclose(to_dofs(asf), row, atol=1e-12)
