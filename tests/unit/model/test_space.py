"""Axes of other programs: exact round trips, and the right up axis."""

import numpy as np
import pytest

from mocpack import Clip
from mocpack.errors import UsageError
from mocpack.model import space
from naming import naming

SPACES = [(up, hand) for up in space.UP_AXES for hand in space.HANDEDNESS]


@pytest.mark.parametrize(("up", "hand"), SPACES)
def test_up_is_y_inside_and_everything_round_trips_exactly(up, hand):
    rng = np.random.default_rng(1)
    points = rng.normal(size=(5, 3))
    axis = np.eye(3)["xyz".index(up)]
    np.testing.assert_array_equal(space.to_internal(axis, up, hand), [0, 1, 0])
    np.testing.assert_array_equal(
        space.from_internal(space.to_internal(points, up, hand), up, hand), points
    )
    assert np.linalg.det(space.conversion_matrix(up, hand)) == (1 if hand == "right" else -1)


def test_markers_of_a_space_of_z_up_round_trip_in_it():
    points = np.random.default_rng(3).normal(size=(6, 2, 3))
    points[2, 1] = np.nan
    clip = Clip.from_points(points, ["a", "b"], up="z")
    np.testing.assert_array_equal(clip.points()[0, 0, 1], points[0, 0, 2])
    np.testing.assert_array_equal(clip.source_points(), points)


def test_an_unknown_axis_is_named():
    with pytest.raises(UsageError, match=naming("up y x z 'w' 'right'")):
        space.conversion_matrix("w", "right")
