from itertools import product

import numpy as np
import pytest

from mocpack.metrics.quadratic import point_weights
from mocpack.papers.beaudoin.codec.coefficient_search import (
    directed_descent,
    frame_stride,
    position_search,
    random_descent,
)
from mocpack.papers.beaudoin.codec.position_error import CountedError, PositionError
from mocpack.papers.beaudoin.codec.selection import analyze
from mocpack.papers.beaudoin.codec.wavelet_opt import WaveletOpt
from mocpack.testing import walk
from naming import naming


class Table:
    """An error that is a sum of one known curve for each signal."""

    def __init__(self, curves):
        self.curves = curves

    def total(self, counts):
        return sum(curve[count] for curve, count in zip(self.curves, counts, strict=True))

    def with_more(self, counts, size):
        out = np.full(len(counts), np.inf)
        for j in range(len(counts)):
            more = counts.copy()
            more[j] += size
            if more[j] < len(self.curves[j]):
                out[j] = self.total(more)
        return 0.0, out


def setup(clip, ratio=8.0, stride=1):
    found = analyze(clip, rotation="euler", update="4-4")
    weights = point_weights(clip.skeleton, "eps_x_cm")
    error = CountedError(PositionError(clip, found.plan, weights, stride=stride), found.ranking)
    return found, error, found.standard_counts(ratio)


def test_algorithm_one_finds_the_best_split_of_convex_curves():
    # error 1/(count+1), scaled: the best of all splits of 12 among three signals
    curves = [scale / (np.arange(13) + 1.0) for scale in (1.0, 9.0, 30.0)]
    table = Table(curves)
    best = min(table.total(c) for c in product(range(13), repeat=3) if sum(c) == 12)
    start = np.array([12, 0, 0])
    found = random_descent(start, np.ones(3, bool), 12, table, seed=1)
    assert found.counts.sum() == 12
    assert table.total(found.counts) == pytest.approx(best)


@pytest.mark.parametrize("method", ["fast", "exact"])
def test_the_total_is_kept_and_the_error_never_grows(method):
    clip = walk(1.0)
    found, error, start = setup(clip)
    weights = point_weights(clip.skeleton, "eps_x_cm")
    outcome = position_search(clip, found, weights, 8.0, method=method, seed=0, patience=10)
    assert outcome.counts.sum() == start.sum()
    assert (outcome.counts >= 0).all()
    assert (outcome.counts <= clip.frame_count).all()
    assert error.with_more(outcome.counts, 1)[0] < error.with_more(start, 1)[0]


def test_the_directed_search_ends_no_worse_than_algorithm_one():
    clip = walk(1.5)
    found, error, start = setup(clip)
    direct = directed_descent(start, found.moving, clip.frame_count, error)
    random = random_descent(start, found.moving, clip.frame_count, error, seed=0)
    ends = [error.with_more(o.counts, 1)[0] for o in (direct, random)]
    assert ends[0] <= 1.02 * ends[1]


def test_equal_seeds_give_equal_results():
    found, error, start = setup(walk(0.5))
    outcomes = [
        random_descent(start, found.moving, 30, error, seed=seed).counts for seed in (4, 4, 5)
    ]
    np.testing.assert_array_equal(outcomes[0], outcomes[1])
    assert not np.array_equal(outcomes[0], outcomes[2])


def test_signals_that_cannot_move_keep_their_counts():
    found, error, start = setup(walk(0.5))
    movable = found.moving.copy()
    movable[:10] = False
    for outcome in (
        directed_descent(start, movable, 30, error),
        random_descent(start, movable, 30, error, seed=0),
    ):
        np.testing.assert_array_equal(outcome.counts[:10], start[:10])


def test_a_still_clip_needs_no_search():
    found, error, start = setup(walk(0.5).frames(3, 4))
    outcome = directed_descent(start, found.moving, 1, error)
    np.testing.assert_array_equal(outcome.counts, start)
    assert random_descent(start, found.moving, 1, error, seed=0).iterations == 0


def test_only_long_clips_are_thinned():
    assert [frame_stride(n, "fast") for n in (100, 2085, 5423, 10**6)] == [1, 2, 4, 4]
    assert frame_stride(10**6, "exact") == 1


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"search": "slow"}, "search fast exact 'slow'"),
        ({"seed": -1}, "seed 0 -1"),
        ({"patience": 0}, "patience 1 0"),
    ],
)
def test_impossible_searches_are_refused(given, named):
    with pytest.raises(ValueError, match=naming(named)):
        WaveletOpt(**given)


class ScriptedError:
    """Lets moves succeed as a script says, then none, and records their sizes.

    All signals start with as many coefficients as the first, so the donor has the fewest.
    """

    def __init__(self, *script):
        self.script, self.sizes, self.before = list(script), [], None

    def with_more(self, counts, size):
        self.sizes.append(size)
        succeeds = self.script.pop(0) if self.script else False
        errors = np.full(len(counts), 1.0 if succeeds else 3.0)
        errors[self.donor(counts, size)] = 2.0
        self.before = counts.copy()
        if succeeds:
            self.before[int(np.argmin(errors))] += size
        else:
            self.before[self.last] += size
        return 0.0, errors

    def donor(self, counts, size):
        start = np.full(len(counts), 40) if self.before is None else self.before
        (self.last,) = np.flatnonzero(start - counts)
        return self.last


def test_the_step_is_halved_after_failures_in_a_row_and_not_after_as_many_in_all():
    scripted = ScriptedError(False, True, False, True, False)
    movable = np.ones(2, bool)
    found = random_descent(np.array([40, 40]), movable, 1000, scripted, seed=0, patience=2)
    # two failures stand apart before two come one after the other
    assert scripted.sizes == [20] * 6 + [10] * 2 + [5] * 2 + [2] * 2 + [1] * 2
    assert found.iterations == len(scripted.sizes)
    assert found.counts.sum() == 80


class ConstantError:
    def with_more(self, counts, size):
        return 0.0, np.ones(len(counts))


def test_a_move_that_gains_nothing_is_a_failure():
    start = np.array([40, 40, 40])
    found = random_descent(start, np.ones(3, bool), 1000, ConstantError(), seed=0, patience=2)
    assert found.counts.tolist() == start.tolist()
    assert found.iterations == 2 * 5  # steps of 20, 10, 5, 2 and 1
