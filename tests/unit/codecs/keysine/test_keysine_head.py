"""The head of a payload: valid and invalid fields."""

from dataclasses import replace

import numpy as np
import pytest

from keysine_payload import open_in_core
from keysine_tracks import AXES_BITS, BASIS
from mocpack.codecs.keysine import Keysine
from mocpack.errors import FormatError
from mocpack.testing.motions import walk
from naming import naming
from reference import keysine as reference
from reference.keysine_head import head_of
from reference.keysine_head_writer import seal_head, write_head, write_payload
from robots import limited_motion


@pytest.mark.parametrize(
    "parameters", [{}, {"layers": 3}, {"mode": "grid"}, {"streamed": True}], ids=str
)
@pytest.mark.parametrize("clip", [walk(0.7), limited_motion(3)], ids=["body", "robot"])
def test_the_readable_writer_writes_the_head_of_the_encoder(clip, parameters):
    payload = Keysine(max_error=0.0005, **parameters).encode(clip)
    head = head_of(payload, clip.header)
    assert write_head(head, clip.header, head.split(payload)) == payload[: head.size]


@pytest.mark.parametrize("precision", range(1, AXES_BITS + 1))
@pytest.mark.parametrize("mode", ["transform", "grid"])
def test_turns_of_axes_of_every_precision_are_read_alike(precision, mode):
    clip = walk(0.7)
    payload = Keysine(max_error=0.0005, mode=mode).encode(clip)
    head = head_of(payload, clip.header)
    table = np.array(head.table)
    turning = table[:, 0] == 2
    rng = np.random.default_rng(precision)
    numbers = rng.integers(-(2**precision), 2**precision, (turning.sum(), 3))
    numbers[:, 0] |= 1
    table[turning, BASIS] = numbers << AXES_BITS - precision
    table[np.flatnonzero(turning)[1::3], BASIS] = 0
    data = write_payload(replace(head, table=table), clip.header, head.split(payload))
    np.testing.assert_array_equal(head_of(data, clip.header).table, table)
    ours, plain = Keysine().decode(data, clip.header), reference.decode(data, clip.header)
    np.testing.assert_allclose(ours.rotations, plain.rotations, rtol=0, atol=1e-12)


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
        data = seal_head(rng.bytes(size))
        for read in (open_in_core, head_of):
            with pytest.raises(FormatError):
                read(data, clip.header)
