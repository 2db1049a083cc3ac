"""Basis coding: interpolation, prediction, and steps by importance."""

import numpy as np
import pytest

from mocpack.papers.vasa.codec import cobra


def test_a_cubic_is_interpolated_exactly_between_inner_knots():
    t = np.arange(25.0)
    cubic = 0.01 * t**3 - 0.2 * t**2 + t - 3
    found = cobra.interpolation(25, 4) @ cubic[::4]
    np.testing.assert_allclose(found[4:21], cubic[4:21], atol=1e-10)


def test_every_kept_sample_is_met():
    knots = np.random.default_rng(0).normal(size=7)
    np.testing.assert_allclose((cobra.interpolation(25, 4) @ knots)[::4], knots, atol=1e-12)


def test_border_values_are_repeated():
    # between the first two of the knots 0, 8, 16 the cubic goes through 0, 0, 8, 16
    found = cobra.interpolation(9, 4) @ [0.0, 8.0, 16.0]
    u = 0.5
    weights = -(u + 1) * u * (u - 2) / 2, (u + 1) * u * (u - 1) / 6
    assert found[2] == pytest.approx(8 * weights[0] + 16 * weights[1])


@pytest.mark.parametrize(
    ("length", "s", "knots"), [(1, 6, 1), (2, 6, 2), (120, 6, 21), (121, 6, 21)]
)
def test_the_last_knot_lies_at_or_past_the_end(length, s, knots):
    assert cobra.knot_count(length, s) == knots
    assert cobra.interpolation(length, s).shape == (length, knots)


def test_a_stride_of_one_keeps_everything():
    np.testing.assert_array_equal(cobra.interpolation(5, 1), np.eye(5))


def test_prediction_leaves_nothing_of_a_straight_line():
    line = np.arange(3, 43, 5)[:, np.newaxis]
    np.testing.assert_array_equal(cobra.predict_in_time(line).ravel(), [3, 5, 0, 0, 0, 0, 0, 0])


def test_prediction_is_undone_exactly():
    knots = np.random.default_rng(1).integers(-99, 99, (9, 4))
    np.testing.assert_array_equal(cobra.undo_prediction(cobra.predict_in_time(knots)), knots)


def test_a_vector_four_times_as_important_has_a_quarter_of_the_step():
    exponents = cobra.importance_exponents(np.array([8.0, 2.0]), np.ones((3, 2)))
    steps = cobra.steps(1.0, exponents)
    assert steps[1] / steps[0] == pytest.approx(4)


def test_no_sample_outgrows_the_entropy_coder():
    vectors = np.full((2, 1), 1e6)
    step = cobra.steps(1.0, cobra.importance_exponents(np.array([1e12]), vectors))
    assert (vectors / step).max() <= 2.0**34
