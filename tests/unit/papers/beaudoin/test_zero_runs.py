from contextlib import suppress

import numpy as np
import pytest

from mocpack.errors import CorruptionError, FormatError, TruncatedError
from mocpack.papers.beaudoin.codec.zero_runs import (
    LARGEST,
    decode_words,
    encode_words,
    join_bytes,
    split_bytes,
)


def words(*numbers):
    return np.array(numbers, "<u2").tobytes()


def test_values_runs_and_ends_by_hand():
    values = np.array([[5, 0, 0, -7, 0], [0, 0, 0, 0, 0]])
    assert encode_words(values) == words(33285, 2, 33273, 0, 0)


def test_a_long_run_takes_several_words():
    values = np.zeros((1, 2100), int)
    values[0, 2099] = 1
    assert encode_words(values) == words(1023, 1023, 53, 33281, 0)


@pytest.mark.parametrize("density", [0.0, 0.01, 0.3, 1.0])
def test_words_round_trip(density):
    rng = np.random.default_rng(3)
    values = rng.integers(-LARGEST, LARGEST + 1, (7, 1500)) * (rng.random((7, 1500)) < density)
    data = encode_words(values)
    np.testing.assert_array_equal(decode_words(data, 7, 1500), values)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (words(33281, 33281, 33281, 33281, 0), CorruptionError),  # four values where three fit
        (words(4, 0), CorruptionError),  # a run past the end
        (words(1024, 0), CorruptionError),  # a word without meaning
        (words(0, 0), CorruptionError),  # one signal too many
        (words(33281, 2), TruncatedError),  # no end
        (b"", TruncatedError),
        (words(0)[:1], TruncatedError),  # half a word
    ],
)
def test_impossible_words_are_refused(data, error):
    with pytest.raises(error):
        decode_words(data, 1, 3)


def test_random_words_never_do_worse_than_a_format_error():
    rng = np.random.default_rng(5)
    for _ in range(300):
        data = rng.integers(0, 1500, rng.integers(0, 20)).astype("<u2").tobytes()
        with suppress(FormatError):
            assert decode_words(data, 3, 40).shape == (3, 40)


def test_too_large_values_are_refused():
    with pytest.raises(ValueError, match="32255"):
        encode_words(np.array([[LARGEST + 1]]))


def test_bytes_split_and_join():
    data = words(0x0102, 0x0304, 0x0506)
    assert split_bytes(data) == bytes([2, 4, 6, 1, 3, 5])
    assert join_bytes(split_bytes(data)) == data
    with pytest.raises(CorruptionError):
        join_bytes(b"abc")
