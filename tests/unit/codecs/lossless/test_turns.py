import numpy as np
import pytest

from mocpack.codecs.lossless.unwrapping import (
    FROM_MINUS_HALF,
    FROM_ZERO,
    NO_INTERVAL,
    TO_HALF,
    unwrap,
    wrap,
)


def test_a_jump_of_a_turn_is_taken_out():
    interval, smooth = unwrap(np.array([170, 179, -178, -170, 179]), 360, 10**6)
    assert interval == FROM_MINUS_HALF
    assert smooth.tolist() == [170, 179, 182, 190, 179]


def test_plus_half_a_turn_belongs_to_the_other_interval():
    interval, smooth = unwrap(np.array([170, 180, -179]), 360, 10**6)
    assert interval == TO_HALF
    assert smooth.tolist() == [170, 180, 181]
    assert wrap(smooth, 360, interval).tolist() == [170, 180, -179]


def test_angles_from_zero_have_an_interval_too():
    interval, smooth = unwrap(np.array([350, 359, 2, 5]), 360, 10**6)
    assert interval == FROM_ZERO
    assert smooth.tolist() == [350, 359, 362, 365]


@pytest.mark.parametrize("angles", [[180, -180, 170], [0, 200, 719, -500]])
def test_angles_of_no_interval_stay_as_they_are(angles):
    assert unwrap(np.array(angles), 360, 10**6) == (NO_INTERVAL, pytest.approx(angles))


def test_a_spin_beyond_the_largest_number_stays_as_it_is():
    spin = wrap(np.arange(0, 36000, 100), 360, FROM_MINUS_HALF)
    assert unwrap(spin, 360, 1000)[0] == NO_INTERVAL
    assert unwrap(spin, 360, 40000)[0] == FROM_MINUS_HALF
