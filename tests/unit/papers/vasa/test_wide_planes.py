"""Planes of large integers, split into high and low parts."""

import numpy as np
import pytest

from mocpack.coding.planes import encode_plane
from mocpack.errors import CorruptionError
from mocpack.papers.vasa.codec import starts
from mocpack.papers.vasa.codec.wide_planes import (
    SPLIT,
    WIDEST,
    decode_numbers,
    encode_numbers,
    is_wide,
    join,
    split,
)
from naming import naming

CLASSES = np.array([0, 1, 1, 2])
KNOWN = starts.TRAJECTORIES


@pytest.mark.parametrize("largest", [1, 2**30, WIDEST])
def test_numbers_of_any_size_round_trip(largest):
    rng = np.random.default_rng(4)
    plane = rng.integers(-largest, largest, (9, 4), endpoint=True)
    wide = is_wide(plane)
    assert wide == (largest > 2**30)
    data = encode_numbers(plane, CLASSES, start=KNOWN, wide=wide)
    found = decode_numbers(data, 9, CLASSES, start=KNOWN, wide=wide)
    np.testing.assert_array_equal(found, plane)


def test_parts_join_to_the_number_and_the_near_one_is_small():
    numbers = np.array([0, 1, -1, SPLIT // 2, -SPLIT // 2, SPLIT - 1, WIDEST, -WIDEST])
    far, near = split(numbers)
    assert np.abs(near).max() <= SPLIT // 2
    np.testing.assert_array_equal(join(far, near), numbers)


def test_a_number_beyond_the_widest_is_corruption():
    kinds = np.concatenate([CLASSES, CLASSES + 3])
    start = np.concatenate([KNOWN, 0 * KNOWN])
    far = np.zeros((1, 8), int)
    far[0, 2] = 2**30 + 1 - 1
    far[0, 6] = 5
    data = encode_plane(far, kinds, start=start)
    with pytest.raises(CorruptionError, match=naming("rd-pca 1125899906842629 2^50")):
        decode_numbers(data, 1, CLASSES, start=KNOWN, wide=True)


def test_a_plane_without_columns_is_a_plane():
    empty = np.zeros((3, 0), np.int64)
    for wide in (False, True):
        data = encode_numbers(empty, np.zeros(0, np.int64), start=KNOWN, wide=wide)
        found = decode_numbers(data, 3, np.zeros(0, np.int64), start=KNOWN, wide=wide)
        assert found.shape == (3, 0)
