import numpy as np
import pytest

from mocpack.codecs.lossless.decimals import (
    BY_ULPS,
    Scale,
    choose_scale,
    count_digits,
    split_values,
)
from naming import naming
from reference.lossless import put_together


def there_and_back(values, scale=None):
    values = np.asarray(values, np.float64)
    digits = count_digits(values)
    scale = scale or choose_scale(values, digits)
    whole, kinds, amounts = split_values(values, scale, digits)
    return scale, whole, kinds, put_together(whole, scale, kinds, amounts)


def same_bits(a, b):
    return np.array_equal(np.asarray(a, np.float64).view(np.uint64), b.view(np.uint64))


def test_digits_are_those_of_the_shortest_decimal():
    values = np.array([0.0, 3.0, 0.1, 16.7048, -1.6201e-14, 1 / 3, -0.0])
    assert count_digits(values).tolist() == [0, 0, 1, 4, 18, BY_ULPS, BY_ULPS]


def test_a_fixed_number_of_decimals_leaves_nothing_over():
    values = np.round(np.random.default_rng(0).normal(0, 50, 1000), 4)
    scale, whole, kinds, back = there_and_back(values)
    assert scale == Scale(True, 4)
    assert not kinds.any()
    assert whole[0] == round(values[0] * 10_000)
    assert same_bits(values, back)


def test_significant_digits_take_the_decimals_of_the_largest_and_leave_digits_over():
    values = np.array([float(f"{v:.6g}") for v in np.random.default_rng(0).normal(0, 60, 1000)])
    scale, _, kinds, back = there_and_back(values)
    assert scale == Scale(True, 3)  # 137.567
    small = (np.abs(values) < 10) & (np.abs(values) >= 1)
    assert set(kinds[small]) <= {0, 1, 2}
    assert same_bits(values, back)


def test_e_notation_among_decimals_round_trips():
    values = np.r_[np.round(np.linspace(-5, 5, 100), 3), -1.6201e-014, 7.55382e-015]
    scale, whole, kinds, back = there_and_back(values)
    assert scale == Scale(True, 3)
    assert whole[-1] == 0
    assert kinds[-1] == 20 - 3  # 755382 / 10^20
    assert same_bits(values, back)


@pytest.mark.parametrize(
    "values",
    [
        [5e-324, -5e-324, 2.2250738585072014e-308, 0.0, -0.0],
        [1e300, -1e300, 1.7976931348623157e308, 0.0],
        [2.0**53 + 2, 1e15, 1e16, 123456789.123456],
        [np.pi, 1 / 3, 0.1 + 0.2, -1e-17],
        [0.5, 1e22, 1e-22, 3e-30],
    ],
)
def test_any_double_round_trips_bit_for_bit(values):
    assert same_bits(values, there_and_back(values)[3])
    assert same_bits(values, there_and_back(values, Scale(True, 4))[3])
    assert same_bits(values, there_and_back(values, Scale(False, 20))[3])


def test_random_bit_patterns_round_trip_bit_for_bit():
    bits = np.random.default_rng(3).integers(0, 2**64, 5000, np.uint64)
    values = bits.view(np.float64)
    values = values[np.isfinite(values)]
    assert same_bits(values, there_and_back(values)[3])
    assert same_bits(values, there_and_back(values, Scale(True, 6))[3])


def test_more_digits_than_a_power_of_ten_is_exact_for_are_refused():
    one = np.ones(1, np.int64)
    with pytest.raises(ValueError, match=naming("22 23")):
        put_together(one, Scale(True, 4), np.array([19], np.uint8), one)
    with pytest.raises(ValueError, match=naming("exponent 0..22 23")):
        Scale(True, 23)
