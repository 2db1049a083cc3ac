"""The core's deflate: streams that zlib reads, with the bytes that zlib writes."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mocpack.coding.fields import deflate, inflate

ZLIB = tuple(int(part) for part in zlib.ZLIB_RUNTIME_VERSION.split(".")[:3] if part.isdigit())
IS_CLASSIC = (1, 2, 12) <= ZLIB < (1, 4)  # other implementations write other bytes


def zlib_deflate(data, dictionary=b""):
    given = (9, zlib.DEFLATED, -15, 9, zlib.Z_DEFAULT_STRATEGY)
    stream = zlib.compressobj(*given, dictionary) if dictionary else zlib.compressobj(*given)
    return stream.compress(data) + stream.flush()


def texts(size):
    rng = np.random.default_rng(size)
    far = rng.integers(0, 256, 33_000)  # repeats just beyond the window
    yield rng.integers(0, 256, size)
    yield rng.integers(0, 3, size)
    yield np.where(rng.random(size) < 0.02, rng.integers(0, 256, size), 0)
    yield np.resize(far, size)
    yield np.concatenate([rng.integers(0, 256, size // 2), np.zeros(size - size // 2, int)])


@pytest.mark.parametrize("size", [0, 1, 2, 3, 300, 32_768, 65_535, 65_536, 98_305, 200_000])
def test_streams_hold_the_data_and_have_the_bytes_of_zlib(size):
    for numbers in texts(size):
        data = numbers.astype(np.uint8).tobytes()
        for dictionary in (b"", data[: size // 3], data[:40_000]):
            stream = deflate(data, dictionary=dictionary)
            assert inflate(stream, size, dictionary=dictionary) == data
            if IS_CLASSIC:
                assert stream == zlib_deflate(data, dictionary)


@given(st.binary(max_size=400), st.binary(max_size=100))
def test_any_data_round_trips(data, dictionary):
    stream = deflate(data, dictionary=dictionary)
    assert inflate(stream, len(data), dictionary=dictionary) == data
    assert not IS_CLASSIC or stream == zlib_deflate(data, dictionary)
