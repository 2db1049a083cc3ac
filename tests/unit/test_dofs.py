"""Degrees of freedom: names, units, and what channels cannot say."""

import numpy as np
import pytest

from mocpack import Clip, Skeleton
from mocpack.clip import ClipHeader
from mocpack.dofs import (
    dof_names,
    from_channels,
    from_dofs,
    is_angle,
    joint_of_dof,
    moving_dofs,
    to_channels,
    to_dofs,
)
from mocpack.errors import UnsupportedClipError
from mocpack.rotations import IDENTITY, from_rotvec

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


def test_columns_are_named_by_joint_and_channel():
    names = dof_names(KNEE)
    assert names[0] == "Hips.Xposition"
    assert names[3:] == ["Hips.Zrotation", "Hips.Yrotation", "Hips.Xrotation", "Knee.Xrotation"]
    assert is_angle(KNEE).tolist() == [False] * 3 + [True] * 4
    assert joint_of_dof(KNEE).tolist() == [0] * 6 + [1]


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
    with pytest.raises(UnsupportedClipError, match=r"'Knee' turns 28.6 degrees.*it has X$"):
        to_dofs(clip)


def test_a_turn_of_a_joint_without_channels_is_refused():
    skeleton = Skeleton(("a", "b"), (-1, 0), np.zeros((2, 3)), channels=(("Xrotation",), ()))
    local = still(skeleton, translated=()).rotations.copy()
    local[0, 1] = from_rotvec(np.array([0.0, 0.5, 0.0]))
    with pytest.raises(UnsupportedClipError, match=r"'b' turns .*it has none"):
        to_dofs(Clip.build(skeleton, local, np.zeros((2, 0, 3)), translated_joints=()))


def test_a_move_along_an_axis_without_channel_is_refused():
    places = np.tile(KNEE.offsets, (2, 1, 1))
    places[1, 1, 2] = 0.25
    with pytest.raises(UnsupportedClipError, match=r"'Knee' moves 0.25 m where"):
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
