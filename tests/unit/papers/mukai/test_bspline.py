"""B-splines: partition of unity, equal evaluators, exact fits."""

import numpy as np
import pytest

from mocpack.papers.mukai.codec import bspline
from mocpack.papers.mukai.codec.descent import descend
from mocpack.papers.mukai.codec.knots import (
    _jump,
    evolve,
    find_knots,
    insert,
    knot_cost,
    refine,
    search,
)
from reference.bspline import basis_numpy, evaluate_numpy

RNG = np.random.default_rng(5)
KNOTS = bspline.clamped(np.sort(RNG.uniform(size=7)), 3)
TIMES = np.concatenate([[0.0, 1.0], RNG.uniform(size=60)])


def test_basis_functions_sum_to_one_ends_included():
    np.testing.assert_allclose(basis_numpy(KNOTS, 3, TIMES).sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_the_core_equals_the_recursion(degree):
    knots = bspline.clamped(np.sort(RNG.uniform(size=6)), degree)
    controls = RNG.normal(size=(7 + degree, 4))
    fast = bspline.evaluate(knots, degree, TIMES, controls)
    slow = evaluate_numpy(knots, degree, TIMES, controls)
    np.testing.assert_allclose(fast, slow, atol=1e-12)
    basis = bspline.basis(knots, degree, TIMES)
    np.testing.assert_allclose(basis, basis_numpy(knots, degree, TIMES), atol=1e-12)


def test_repeated_knots_are_a_corner_and_not_a_crash():
    knots = bspline.clamped(np.array([0.5, 0.5, 0.5, 0.5]), 3)
    controls, error = bspline.fit(knots, 3, np.abs(np.linspace(-1, 1, 41))[:, np.newaxis])
    assert error < 1e-9
    assert np.isfinite(controls).all()


def test_control_points_of_an_exact_spline_are_found_again():
    controls = RNG.normal(size=(len(KNOTS) - 4, 3))
    points = bspline.evaluate(KNOTS, 3, bspline.even_times(200), controls)
    found, error = bspline.fit(KNOTS, 3, points)
    assert error < 1e-9
    np.testing.assert_allclose(found, controls, atol=1e-6)


def test_increments_become_knots_as_the_paper_says():
    knots = bspline.knots_from_increments(np.array([1.0, -2.0, 3.0]), 2)
    np.testing.assert_allclose(knots, [0, 0, 0, 0.25, 0.25, 1, 1, 1])


def step_curve():
    x = np.linspace(0, 1, 101)
    return (90 / (1 + np.exp(-100 * (x - 0.4))))[:, np.newaxis]


@pytest.mark.parametrize("method", ["cma", "fast"])
def test_free_knots_gather_at_the_step_and_beat_even_ones_by_far(method):
    points = step_curve()
    knots = find_knots(points, 8, 3, method=method, candidates=30, seed=1)
    even = bspline.fit(bspline.uniform_knots(8, 3), 3, points)[1]
    assert bspline.fit(knots, 3, points)[1] < 0.2 * even
    assert np.median(np.abs(bspline.inner_knots(knots, 3) - 0.4)) < 0.1


def test_known_knots_of_a_piecewise_cubic_are_found_again():
    true = bspline.clamped(np.array([0.2, 0.55, 0.8]), 3)
    points = bspline.evaluate(true, 3, bspline.even_times(150), RNG.normal(size=(7, 2)))
    found = refine(points, bspline.clamped(np.array([0.25, 0.5, 0.75]), 3), 3, rounds=500)
    even = bspline.fit(bspline.uniform_knots(7, 3), 3, points)[1]
    assert bspline.fit(found, 3, points)[1] < 0.05 * even


def test_the_gradient_is_the_slope_of_the_error():
    from mocpack import _core

    points = RNG.normal(size=(80, 2)).cumsum(axis=0)
    times = bspline.even_times(80)
    controls, _ = _core.bspline_fit(KNOTS, 3, times, points)
    slope = _core.bspline_gradient(KNOTS, 3, times, points, controls)
    h = 1e-5
    for k in range(7):
        moved = [KNOTS.copy(), KNOTS.copy()]
        moved[0][4 + k] -= h
        moved[1][4 + k] += h
        low, high = (_core.bspline_fit(m, 3, times, points)[1] for m in moved)
        assert slope[k] == pytest.approx((high - low) / (2 * h), rel=1e-2, abs=1e-2)


def test_evolution_is_the_same_for_the_same_seed_and_leaves_numpys_own_dice_alone():
    np.random.seed(3)  # noqa: NPY002 - it is the global state that is watched
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first = evolve(step_curve(), 7, 3, candidates=12, seed=4)
    assert np.array_equal(first, evolve(step_curve(), 7, 3, candidates=12, seed=4))
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_insertion_places_as_many_knots_as_requested():
    for count in (4, 5, 9, 30):
        assert len(insert(step_curve(), count, 3)) == count + 4


def test_a_knot_that_is_wasted_jumps_to_where_it_is_needed():
    rough = np.zeros((120, 1))
    rough[70:90, 0] = np.sin(np.arange(20))
    lost = bspline.clamped(np.linspace(0.05, 0.3, 9), 3)
    descended = refine(rough, lost, 3)
    found = search(rough, 13, 3)
    errors = [bspline.fit(knots, 3, rough)[1] for knots in (descended, found)]
    assert errors[1] < 0.5 * errors[0]


def test_descent_finds_the_bottom_of_a_bent_valley():
    def cost(x):  # Rosenbrock's
        value = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        slope = [-2 * (1 - x[0]) - 400 * x[0] * (x[1] - x[0] ** 2), 200 * (x[1] - x[0] ** 2)]
        return value, np.array(slope)

    np.testing.assert_allclose(
        descend(cost, np.array([-1.2, 1.0]), rounds=200, gain=0.0), [1, 1], atol=1e-5
    )


def test_the_slope_by_span_widths_is_that_of_the_error():
    points = RNG.normal(size=(60, 2)).cumsum(axis=0)
    cost = knot_cost(points, 3, 100.0)
    logs = RNG.normal(size=6)
    slope, h = cost(logs)[1], 1e-5
    for k, side in enumerate(h * np.eye(6)):
        rise = (cost(logs + side)[0] - cost(logs - side)[0]) / (2 * h)
        assert slope[k] == pytest.approx(rise, rel=1e-3, abs=1e-6)


def test_the_knot_that_is_missed_least_jumps_to_the_largest_error():
    rough = np.zeros((120, 1))
    rough[70:90, 0] = np.sin(np.arange(20))
    knots = bspline.clamped(np.array([0.2, 0.59, 0.62, 0.65, 0.68, 0.71, 0.74]), 3)
    inner = bspline.inner_knots(_jump(rough, knots, 3), 3)
    assert 0.2 not in inner
    assert ((inner > 0.55) & (inner < 0.8)).all()


def test_even_knots_divide_the_time_evenly():
    inner = bspline.inner_knots(bspline.uniform_knots(8, 3), 3)
    np.testing.assert_allclose(inner, [0.2, 0.4, 0.6, 0.8])
