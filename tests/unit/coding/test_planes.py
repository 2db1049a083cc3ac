"""Coded planes of integers, with and without initial statistics."""

import numpy as np
import pytest

from mocpack import _core
from mocpack.coding.planes import decode_plane, encode_plane
from naming import naming

CLASSES = np.repeat([0, 1], [4, 12])
SIZE = _core.planes_start_size(1)


def small_planes(count=20, seed=0):
    rng = np.random.default_rng(seed)
    spread = np.linspace(6, 0.3, len(CLASSES))
    return [
        np.round(rng.laplace(size=(9, len(CLASSES))) * spread).astype(int) for _ in range(count)
    ]


def seen_start(planes):
    """Return the initial statistics that match these planes."""
    counts = np.zeros((2 * SIZE, 2), np.uint32)
    for plane in planes:
        _core.planes_count(np.asarray(plane, np.int32), CLASSES.astype(np.uint16), 2, counts)
    zeros, ones = counts.T + 0.4
    return np.clip(np.round(32 + 4.5 * np.log(ones / zeros)), 1, 63).astype(np.uint8)


def test_a_plane_round_trips_with_the_start_it_was_coded_with():
    planes = small_planes()
    start = seen_start(planes)
    for plane in planes:
        data = encode_plane(plane, CLASSES, start=start)
        np.testing.assert_array_equal(decode_plane(data, *plane.shape, CLASSES, start=start), plane)


def test_a_start_that_suits_makes_small_planes_smaller():
    start = seen_start(small_planes(60, seed=1))
    planes = small_planes(60, seed=2)
    alone = sum(len(encode_plane(p, CLASSES)) for p in planes)
    assert sum(len(encode_plane(p, CLASSES, start=start)) for p in planes) < 0.88 * alone


def test_a_start_of_even_odds_changes_nothing():
    for plane in small_planes(3):
        even = encode_plane(plane, CLASSES, start=np.full(2 * SIZE, 32, np.uint8))
        assert even == encode_plane(plane, CLASSES)


def test_classes_that_a_plane_does_not_have_are_left_out_of_a_start():
    start = seen_start(small_planes())
    plane = small_planes(1)[0][:, :4]
    data = encode_plane(plane, CLASSES[:4], start=start)
    assert data == encode_plane(plane, CLASSES[:4], start=start[:SIZE])
    np.testing.assert_array_equal(decode_plane(data, *plane.shape, CLASSES[:4], start=start), plane)


def test_escapes_and_the_largest_values_survive_a_start():
    plane = np.array([[2**30, -(2**30), 0, 15, -15, 1]])
    start = seen_start(small_planes())[:SIZE]
    np.testing.assert_array_equal(
        decode_plane(encode_plane(plane, start=start), 1, 6, start=start), plane
    )


def test_a_start_of_the_wrong_size_is_refused():
    with pytest.raises(ValueError, match=naming("start")):
        encode_plane(np.zeros((1, 1), int), start=np.zeros(3, np.uint8))
