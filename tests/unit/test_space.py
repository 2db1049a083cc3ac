"""Other programs' spaces: there and back exactly, and up is up."""

import numpy as np
import pytest

from mocpack import Clip, rotations, space
from mocpack.errors import UsageError

SPACES = [(up, hand) for up in space.UP_AXES for hand in space.HANDS]


@pytest.mark.parametrize(("up", "hand"), SPACES)
def test_up_is_y_inside_and_everything_comes_back_exactly(up, hand):
    rng = np.random.default_rng(1)
    points, turns = rng.normal(size=(5, 3)), rotations.from_rotvec(rng.normal(size=(5, 3)))
    axis = np.eye(3)["xyz".index(up)]
    np.testing.assert_array_equal(space.inside(axis, up, hand), [0, 1, 0])
    np.testing.assert_array_equal(space.outside(space.inside(points, up, hand), up, hand), points)
    back = space.turns_outside(space.turns_inside(turns, up, hand), up, hand)
    np.testing.assert_array_equal(back, turns)
    assert np.linalg.det(space.basis(up, hand)) == (1 if hand == "right" else -1)


@pytest.mark.parametrize(("up", "hand"), SPACES)
def test_a_place_that_turns_goes_where_its_image_turns(up, hand):
    rng = np.random.default_rng(2)
    point, turn = rng.normal(size=3), rotations.from_rotvec(rng.normal(size=3))
    there = space.inside(rotations.rotate(turn, point), up, hand)
    here = rotations.rotate(space.turns_inside(turn, up, hand), space.inside(point, up, hand))
    np.testing.assert_allclose(there, here, atol=1e-14)


def test_markers_of_a_space_of_z_up_come_back_in_it():
    points = np.random.default_rng(3).normal(size=(6, 2, 3))
    points[2, 1] = np.nan
    clip = Clip.of_points(points, ["a", "b"], up="z")
    np.testing.assert_array_equal(clip.points()[0, 0, 1], points[0, 0, 2])
    np.testing.assert_array_equal(clip.source_points(), points)


def test_an_unknown_axis_is_named():
    with pytest.raises(UsageError, match="up must be one of y, x, z"):
        space.basis("w", "right")
