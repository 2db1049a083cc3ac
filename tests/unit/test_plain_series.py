"""Plain series: noise, pulses and steps round-trip, and the decoder survives any bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from mocpack import _core
from mocpack.errors import CorruptionError, FormatError, TruncatedError
from naming import naming
from reference.plain_series import decode_plain_series

ORDERS = (0, 1, 2, 3)


def series(kind, rows=300, columns=3):
    rng = np.random.default_rng(5)
    if kind == "noise":
        values = rng.integers(-2000, 2000, (rows, columns))
    elif kind == "pulses":
        values = (rng.random((rows, columns)) < 0.03) * rng.integers(-500, 5000, (rows, columns))
    elif kind == "steps":
        values = np.cumsum((rng.random((rows, columns)) < 0.03) * rng.integers(-9, 9), axis=0)
    else:
        values = np.zeros((rows, columns))
    values[:, 1] = 0 if kind == "noise" else values[:, 1]
    return np.ascontiguousarray(values, np.int32)


def floors(columns):
    return np.arange(columns, dtype=np.int32) - 40


def encoded(values, order):
    return _core.plain_series_encode(values, order, floors(values.shape[1]))


def native(depths, code, rows, order):
    return np.asarray(_core.plain_series_decode(code, rows, depths, order, floors(len(depths))))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", ["noise", "pulses", "steps", "zeros"])
def test_both_decoders_round_trip(kind, order):
    values = series(kind)
    depths, code = encoded(values, order)
    np.testing.assert_array_equal(native(depths, code, len(values), order), values)
    slow = decode_plain_series(code, len(values), depths, order, floors(3))
    np.testing.assert_array_equal(slow, values)


@given(
    arrays.arrays(
        np.int32,
        st.tuples(st.integers(0, 40), st.integers(1, 5)),
        elements=st.one_of(st.integers(-3, 3), st.integers(-(2**30), 2**30)),
    ),
    st.sampled_from(ORDERS),
)
def test_any_numbers_round_trip(values, order):
    depths, code = encoded(values, order)
    assert max(depths) <= 33
    np.testing.assert_array_equal(native(depths, code, len(values), order), values)


@given(st.binary(max_size=60), st.binary(min_size=1, max_size=4), st.sampled_from(ORDERS))
def test_any_bytes_are_numbers_or_a_format_error(code, depths, order):
    depths = bytes(depth % 34 for depth in depths)
    try:
        values = native(depths, code, 50, order)
    except FormatError:
        return
    assert np.abs(values).max() <= 2**30


def test_a_code_that_was_cut_is_truncated():
    values = series("noise")
    depths, code = encoded(values, 0)
    with pytest.raises(TruncatedError):
        native(depths, code[: len(code) // 2], len(values), 0)


def test_bytes_after_the_code_are_corrupt():
    values = series("noise")
    depths, code = encoded(values, 0)
    with pytest.raises(CorruptionError):
        native(depths, code + b"\x55\x55\x55\x55\x55\x55", len(values), 0)


def test_depths_and_orders_beyond_the_limits_are_refused():
    with pytest.raises(ValueError, match=naming("33")):
        _core.plain_series_decode(b"", 1, b"\x22", 0, floors(1))
    with pytest.raises(ValueError, match=naming("0 1 2 3")):
        _core.plain_series_decode(b"", 1, b"\x01", 4, floors(1))
    with pytest.raises(ValueError, match=naming("floor column")):
        _core.plain_series_decode(b"", 1, b"\x01\x01", 3, floors(1))


def test_constant_values_at_their_minimum_cost_nothing():
    fall = np.maximum(2000 - 30 * np.arange(40) ** 1.5, 0).astype(np.int32)[:, np.newaxis]
    less = np.ascontiguousarray(fall - fall[0])
    floor = np.array([-fall[0, 0]], np.int32)
    sizes = [len(_core.plain_series_encode(less, order, floor)[1]) for order in (2, 3)]
    assert sizes[1] < sizes[0]
    depths, code = _core.plain_series_encode(less, 3, floor)
    back = _core.plain_series_decode(code, len(less), depths, 3, floor)
    np.testing.assert_array_equal(back, less)


def test_noise_costs_its_entropy():
    rng = np.random.default_rng(1)
    values = rng.integers(-2048, 2048, (4000, 1), dtype=np.int32)
    _, code = encoded(values, 0)
    assert len(code) * 8 < 4000 * 12 * 1.01  # 12 bits each


def test_pulses_cost_little_more_than_where_and_how_large_they_are():
    rng = np.random.default_rng(2)
    there = rng.random((8000, 1)) < 1 / 40
    values = np.ascontiguousarray(there * rng.integers(1, 1025, there.shape), np.int32)
    _, code = encoded(values, 0)
    share = there.mean()
    where = -share * np.log2(share) - (1 - share) * np.log2(1 - share)
    assert len(code) * 8 < 1.08 * (8000 * where + 10 * there.sum())
