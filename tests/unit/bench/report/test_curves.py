"""Rate-distortion curves, and their differences computed by hand."""

import numpy as np
import pytest

from mocpack.bench.report.curves import bd_rate, curves


def halving(scale):
    """Each halving of the error costs a doubling of the rate."""
    error = np.array([8.0, 4.0, 2.0, 1.0])
    return scale / error, error


def test_a_curve_against_itself_is_no_difference():
    assert bd_rate(halving(10), halving(10)) == pytest.approx(0)


def test_twice_the_rate_at_every_error_is_plus_100_percent():
    assert bd_rate(halving(10), halving(20)) == pytest.approx(1.0)
    assert bd_rate(halving(20), halving(10)) == pytest.approx(-0.5)


def test_only_the_shared_range_of_errors_counts():
    rate, error = halving(10)
    half = rate[1:] * 3, error[1:]
    assert bd_rate((rate, error), half) == pytest.approx(2.0)


def test_curves_without_a_shared_range_have_no_difference():
    rate, error = halving(10)
    assert bd_rate((rate, error), (rate, 100 * error)) is None
    assert bd_rate((rate[:2], error[:2]), (rate, error)) is None


def row(codec, bits, error, failure=None):
    return {"clip": "a", "codec": codec, "bits_per_frame": bits, "mm": error, "failure": failure}


def test_points_that_another_beats_in_both_are_dropped():
    rows = [row("c", 10, 5.0), row("c", 20, 6.0), row("c", 30, 1.0), row("c", 5, 9.0, "broke")]
    rate, error = curves(rows, "mm")["a", "c"]
    assert rate.tolist() == [10, 30]
    assert error.tolist() == [5.0, 1.0]
