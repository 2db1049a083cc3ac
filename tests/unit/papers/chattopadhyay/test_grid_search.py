"""The grid search: tried points, results and budget."""

import math

import numpy as np
import pytest

from mocpack.papers.chattopadhyay.codec.grid_search import (
    around_the_best,
    every_point,
    from_the_limit,
)

FIRST, SECOND = range(1, 63), range(30, 121)
LEAST = np.add.outer(100.0 * np.arange(1, 63), 20_000 / np.arange(30, 121))


def run(search, outcome_of):
    """Return every point tried and its outcome."""
    tried = {}
    points = next(search, None)
    while points:
        assert not set(points) & tried.keys(), "a point was tried twice"
        tried.update((point, outcome_of(point)) for point in points)
        try:
            points = search.send([tried[point] for point in points])
        except StopIteration:
            break
    return tried


def rough(point):
    """Size LEAST plus 500, and an error that decreases with the first number, with holes."""
    first, second = point
    noise = np.random.default_rng(first * 1000 + second).uniform(0.85, 1.15)
    return LEAST[first - 1, second - 30] + 500, math.exp(-first / 12) * noise


def test_every_point_is_tried_once():
    assert len(run(every_point(FIRST, SECOND), rough)) == 62 * 91


@pytest.mark.parametrize("limit", [2500, 4000, 6000])
def test_a_tenth_of_the_grid_comes_within_one_percent_of_all_of_it(limit):
    def value(outcome):
        return outcome[1] if outcome[0] <= limit else math.inf

    fast = run(from_the_limit(FIRST, SECOND, LEAST, value, limit), rough)
    best = min(value(rough((a, b))) for a in FIRST for b in SECOND)
    assert len(fast) <= 62 * 91 / 10
    assert min(map(value, fast.values())) <= 1.01 * best


@pytest.mark.parametrize("limit", [2500, 4000])
def test_points_that_are_known_to_break_the_limit_are_not_tried(limit):
    def value(outcome):
        return outcome[1] if outcome[0] <= limit else math.inf

    fast = run(from_the_limit(FIRST, SECOND, LEAST, value, limit), rough)
    probes = 9  # which show how sizes grow, and must reach over the limit
    beyond = [point for point, (size, _) in fast.items() if size > 1.006 * limit]
    assert len(beyond) <= probes


def test_sizes_are_predicted_from_a_few_probes():
    def sparse(point):  # half of the free columns are dropped
        size, error = rough(point)
        return size + 30 * (62 - point[0]) ** 1.1, error

    def value(outcome):
        return outcome[1] if outcome[0] <= 5000 else math.inf

    fast = run(from_the_limit(FIRST, SECOND, LEAST, value, 5000), sparse)
    best = min(value(sparse((a, b))) for a in FIRST for b in SECOND)
    assert min(map(value, fast.values())) <= 1.01 * best


def test_without_a_limit_the_search_goes_where_the_probes_point():
    def outcome(point):
        return 1.0, (point[0] - 40) ** 2 + (point[1] - 100) ** 2

    fast = run(from_the_limit(FIRST, SECOND, LEAST, lambda o: o[1], None), outcome)
    assert min(fast, key=lambda p: fast[p][1]) == (40, 100)


def test_a_limit_that_nothing_keeps_ends_the_search():
    fast = run(from_the_limit(FIRST, SECOND, LEAST, lambda o: math.inf, 1.0), rough)
    assert len(fast) <= 62 * 91 / 10


@pytest.mark.parametrize(
    ("first", "second"), [(range(1, 2), range(1, 2)), (range(1, 4), range(5, 6))]
)
def test_small_grids_are_searched_too(first, second):
    least = np.zeros((len(first), len(second)))
    fast = run(from_the_limit(first, second, least, lambda o: o[1], 10.0), lambda p: (1.0, p[0]))
    assert fast


def test_the_search_around_the_best_keeps_its_budget():
    tried = run(
        around_the_best([(5, 5)], lambda p: True, lambda o: o[1], {}, budget=30),
        lambda p: (0, p[0]),
    )
    assert len(tried) == 30
