"""Temporal PCA of a chunk: rank, truncation, stride."""

import numpy as np
import pytest

from mocpack.papers.vasa.codec.temporal_pca import Truncation, best_stride, quantize

FINE = Truncation(1e-6)
NO_MIXES = np.zeros((0, 0))


def smooth_chunk(rank, *, length=120, channels=12, seed=0):
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, length)[:, np.newaxis]
    paths = np.sin(2 * np.pi * np.arange(1, rank + 1) * t + rng.uniform(0, 6, rank))
    return 100 * paths @ rng.normal(size=(rank, channels))


@pytest.mark.parametrize("rank", [1, 3])
def test_a_chunk_of_few_movements_needs_as_many_trajectories(rank):
    found = quantize(smooth_chunk(rank), s=1, Q_l=0.01, truncation=Truncation(8.0), centered=False)
    assert len(found.exponents) == rank


def test_decoded_values_are_within_the_quantizers_noise():
    chunk = smooth_chunk(3)
    found = quantize(chunk, s=4, Q_l=1.0, truncation=Truncation(8.0), centered=False)
    error = found.rebuilt(len(chunk), 1.0) - chunk
    assert np.sqrt((error**2).mean()) < 0.6


def test_the_mean_of_all_channels_becomes_the_first_trajectory():
    chunk = smooth_chunk(2) + 500 * np.linspace(0, 1, 120)[:, np.newaxis]
    found = quantize(chunk, s=2, Q_l=1.0, truncation=Truncation(8.0), centered=True)
    assert (found.coefficients[0] == 0).all()
    first = found.paths(120, 1.0)[:, 0]
    np.testing.assert_allclose(first, chunk.mean(axis=1), atol=1.0)


def test_truncation_by_budget_drops_the_most_that_it_allows():
    sizes = np.sqrt([100.0, 10.0, 3.0, 2.0])
    assert Truncation(0.0, budget=5.1).count_kept(sizes, NO_MIXES) == 2
    assert Truncation(0.0, budget=4.9).count_kept(sizes, NO_MIXES) == 3
    assert Truncation(0.0, budget=0.0).count_kept(sizes, NO_MIXES) == 4


def test_truncation_by_floor_drops_what_is_below_it():
    assert Truncation(5.0).count_kept(np.sqrt([100.0, 10.0, 3.0, 2.0]), NO_MIXES) == 2


def test_truncation_by_magnitudes_counts_a_spread_trajectory_for_more_than_a_lone_one():
    sizes = np.array([6.0, 2.0, 2.0])
    lone = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    spread = np.array([[1.0, 0.0], [0.0, 1.0], [np.sqrt(0.5), np.sqrt(0.5)]])
    half = Truncation(0.0, share=0.21)
    assert half.count_kept(sizes, lone) == 2  # 2 of 10 may go
    assert half.count_kept(sizes, spread) == 3  # 2.8 of 10.8 may not
    assert Truncation(0.0, share=0.0).count_kept(sizes, lone) == 3


def test_truncation_by_magnitudes_of_a_chunk_keeps_its_promise():
    chunk = smooth_chunk(5)
    found = quantize(chunk, s=1, Q_l=0.1, truncation=Truncation(0, share=0.05), centered=False)
    whole = quantize(chunk, s=1, Q_l=0.1, truncation=Truncation(1e-6), centered=False)
    dropped = np.abs(whole.coefficients[len(found.exponents) :]).sum()
    assert dropped <= 0.05 * np.abs(whole.coefficients).sum()


def test_slow_movement_is_sampled_less_often_than_fast_movement():
    t = np.arange(120)[:, np.newaxis]
    slow, fast = (50 * np.sin(2 * np.pi * t / period) * np.ones(8) for period in (120, 8))
    assert best_stride(slow, Truncation(8.0)) > best_stride(fast, Truncation(8.0))


def test_a_chunk_that_does_not_move_has_no_trajectory():
    found = quantize(np.zeros((7, 3)), s=None, Q_l=1.0, truncation=FINE, centered=False)
    assert len(found.exponents) == 0
    np.testing.assert_array_equal(found.rebuilt(7, 1.0), np.zeros((7, 3)))


@pytest.mark.filterwarnings("error")
def test_a_chunk_without_channels_has_a_mean_of_zeros():
    found = quantize(np.zeros((20, 0)), s=4, Q_l=1.0, truncation=Truncation(8.0), centered=True)
    assert np.isfinite(found.rebuilt(20, 1.0)).all()
    assert not found.knots.any()
