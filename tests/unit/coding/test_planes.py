"""Coded planes of integers, alone and with a start that several share."""

import numpy as np
import pytest

from mocpack.coding.planes import (
    decode_plane,
    decode_start,
    encode_plane,
    encode_start,
    shared_start,
)
from mocpack.errors import CorruptionError, FormatError

CLASSES = np.repeat([0, 1], [4, 12])


def small_planes(count=20, seed=0):
    rng = np.random.default_rng(seed)
    spread = np.linspace(6, 0.3, len(CLASSES))
    return [
        np.round(rng.laplace(size=(9, len(CLASSES))) * spread).astype(int) for _ in range(count)
    ]


def test_a_plane_comes_back_with_the_start_it_was_coded_with():
    planes = small_planes()
    start = shared_start(planes, [CLASSES] * len(planes))
    for plane in planes:
        data = encode_plane(plane, CLASSES, start=start)
        np.testing.assert_array_equal(decode_plane(data, *plane.shape, CLASSES, start=start), plane)


def test_a_shared_start_makes_small_planes_smaller_even_with_its_own_bytes():
    planes = small_planes(60)
    start = shared_start(planes, [CLASSES] * len(planes))
    alone = sum(len(encode_plane(p, CLASSES)) for p in planes)
    primed = sum(len(encode_plane(p, CLASSES, start=start)) for p in planes)
    assert primed + len(encode_start(start)) < 0.88 * alone


def test_a_start_comes_back_exactly():
    planes = small_planes()
    start = shared_start(planes, [CLASSES] * len(planes))
    np.testing.assert_array_equal(decode_start(encode_start(start), 2), start)


def test_a_start_of_nothing_seen_is_even_odds_and_a_few_bytes():
    start = shared_start([np.zeros((0, 3), int)], [np.zeros(3, int)])
    assert set(start) == {32}
    assert len(encode_start(start)) < 8


def test_escapes_and_the_largest_values_survive_a_start():
    plane = np.array([[2**30, -(2**30), 0, 15, -15, 1]])
    start = shared_start([plane] * 5, [np.zeros(6, int)] * 5)
    np.testing.assert_array_equal(
        decode_plane(encode_plane(plane, start=start), 1, 6, start=start), plane
    )


def test_a_start_with_impossible_odds_is_corrupt():
    data = encode_plane(np.full((18, 12), 40))
    with pytest.raises(CorruptionError, match="impossible odds"):
        decode_start(data, 1)


def test_a_cut_start_is_a_format_error():
    planes = small_planes()
    data = encode_start(shared_start(planes, [CLASSES] * len(planes)))
    with pytest.raises(FormatError):
        decode_start(data[: len(data) // 2], 2)


def test_a_start_of_the_wrong_size_is_refused():
    with pytest.raises(ValueError, match="start must have"):
        encode_plane(np.zeros((1, 1), int), start=np.zeros(3, np.uint8))
