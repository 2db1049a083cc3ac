"""The head of a payload: valid and invalid fields."""

from dataclasses import replace

import numpy as np
import pytest

from keysine_payload import read_head, sealed_head, stated_unit, written_head
from keysine_tracks import AXES_BITS, BASIS
from mocpack.codecs.keysine import Keysine
from mocpack.errors import FormatError
from mocpack.testing.motions import walk
from naming import naming
from reference import keysine as reference
from reference.keysine_head import read_head as read_slowly


def reader(data):
    return lambda offset, size: data[offset : offset + size]


def head_of(clip, **parameters):
    return read_head(Keysine(**parameters).encode(clip), clip.header)


def rewritten(head, clip):
    """Return a payload with this head, whose parts are as long as they were."""
    native = clip.skeleton.to_core(clip.translated_joints)
    parts = [[bytes(size) for size in sizes] for sizes in (head.segment_sizes, head.layer_sizes[0])]
    return written_head(head, native, *parts) + b"".join(part for each in parts for part in each)


@pytest.mark.parametrize("size", [1e-4, 1 / 3000, 0.005, 0.0173])
def test_a_unit_is_the_nearest_of_eight_bits(size):
    unit = stated_unit(size)
    assert abs(unit / size - 1) <= 2.0**-8
    assert np.float32(unit).view(np.uint32) & 0xFFFF == 0
    assert stated_unit(unit) == unit


def test_a_unit_of_more_bits_is_refused():
    clip = walk(0.7)
    head = replace(head_of(clip, max_error=0.005), unit=float(np.float32(0.005)))
    with pytest.raises(ValueError, match="unit"):
        rewritten(head, clip)


@pytest.mark.parametrize("precision", range(1, AXES_BITS + 1))
@pytest.mark.parametrize("mode", ["transform", "grid"])
def test_turns_of_axes_of_every_precision_round_trip(precision, mode):
    clip = walk(0.7)
    head = head_of(clip, max_error=0.0005, mode=mode)
    table = np.array(head.table)
    turning = table[:, 0] == 2
    rng = np.random.default_rng(precision)
    numbers = rng.integers(-(2**precision), 2**precision, (turning.sum(), 3))
    numbers[:, 0] |= 1
    table[turning, BASIS] = numbers << AXES_BITS - precision
    table[np.flatnonzero(turning)[1::3], BASIS] = 0
    data = rewritten(replace(head, table=table), clip)
    for found in (read_head(data, clip.header), read_slowly(reader(data), clip.header)[0]):
        np.testing.assert_array_equal(found.table, table)


def test_a_band_that_is_none_cannot_be_written():
    clip = walk(1.0)
    head = head_of(clip, max_error=0.001)
    table = np.array([[20, 3, 0, 5]], np.int32)
    data = rewritten(replace(head, predictors=table), clip)
    assert read_head(data, clip.header).predictors[0, 2] == 0
    with pytest.raises(ValueError, match="predictors"):
        rewritten(replace(head, predictors=table + np.int32([0, 0, 4, 0])), clip)


def test_a_file_with_a_foot_lock_is_refused_by_that_name():
    clip = walk(0.7)
    payload = bytearray(Keysine(max_error=0.005).encode(clip))
    # the mode is the lowest bits of the coder's first state, three bytes after the head's size
    first = 1 + next(i for i, byte in enumerate(payload) if byte < 128)
    payload[first + 2] |= 8
    data = reference.fix_checksums(bytes(payload))
    for decode in (Keysine().decode, reference.decode):
        with pytest.raises(FormatError, match=naming("foot lock 1")):
            decode(data, clip.header)


def test_a_head_of_random_bytes_is_a_format_error():
    clip, rng = walk(0.7), np.random.default_rng(0)
    for size in range(3, 90, 3):
        data = sealed_head(rng.bytes(size))
        with pytest.raises(FormatError):
            read_head(data, clip.header)
        with pytest.raises(FormatError):
            read_slowly(reader(data), clip.header)
