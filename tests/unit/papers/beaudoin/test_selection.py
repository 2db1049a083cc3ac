import numpy as np
import pytest

from mocpack.papers.beaudoin.codec import lifting
from mocpack.papers.beaudoin.codec.selection import (
    analyze,
    choose_counts,
    rank,
    strongest,
)
from mocpack.papers.beaudoin.codec.wavelet import Wavelet
from mocpack.testing import walk
from naming import naming


def two_signals():
    """Return signals of which the second is a hundred times the first."""
    signal = np.sin(np.linspace(0, 9, 40))
    return np.stack([signal, 100 * signal])


def test_kept_are_the_strongest_of_each_signal():
    ranking = rank(two_signals(), "4-4")
    kept = ranking.strongest(np.array([3, 0]))
    assert np.count_nonzero(kept[0]) == 3
    assert not kept[1].any()
    dropped = ranking.strengths[0][kept[0] == 0]
    assert ranking.strengths[0][kept[0] != 0].min() >= dropped.max()


def test_coefficients_between_two_ranks_are_the_difference_of_two_truncations():
    ranking = rank(two_signals(), "4-4")
    few, many = (lifting.inverse(ranking.strongest(np.array([0, m]))) for m in (2, 7))
    step = ranking.between(np.array([1]), np.array([2]), np.array([7]))
    np.testing.assert_allclose(step[0], (many - few)[1], atol=1e-12)


def test_all_signals_share_one_budget():
    ranking = rank(two_signals(), "4-4")
    both = np.ones(2, bool)
    together = choose_counts(ranking, both, np.ones(2), 8)
    assert together.sum() == 10
    assert together[1] > together[0]
    # weights that undo the difference in size make the two equal again
    np.testing.assert_array_equal(choose_counts(ranking, both, np.array([100, 1.0]), 8), [5, 5])


def test_constants_cost_one_coefficient_beside_the_budget():
    signals = np.stack([np.full(40, 3.0), np.zeros(40), np.sin(np.linspace(0, 9, 40))])
    counts = choose_counts(rank(signals, "4-4"), np.array([False, False, True]), np.ones(3), 4)
    np.testing.assert_array_equal(counts, [1, 0, 10])


def test_a_ratio_of_one_keeps_everything():
    found = analyze(walk(0.4), rotation="euler", update="4-4")
    assert (found.standard_counts(1.0)[found.moving] == 24).all()


def test_the_strongest_entries_by_hand():
    mask = strongest(np.array([[1.0, 5.0], [5.0, 2.0]]), 3)
    np.testing.assert_array_equal(mask, [[False, True], [True, True]])


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"ratio": 0.5}, "ratio 1 0.5"),
        ({"ratio": float("nan")}, "ratio 1 nan"),
        ({"rotation": "matrix"}, "rotation euler quaternion rotvec 'matrix'"),
        ({"update": "6-2"}, "update none 4-2 4-4 '6-2'"),
        ({"bits": 17}, "bits 4..16 auto 17"),
    ],
)
def test_impossible_parameters_give_a_clear_error(change, named):
    with pytest.raises(ValueError, match=naming(named)):
        Wavelet(**change)
