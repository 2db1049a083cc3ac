"""The search of a quality parameter: few tries, and a result just within the target."""

import math

import numpy as np
import pytest

from mocpack.codec import Quality
from mocpack.rate.root_search import (
    MAX_EVALUATIONS,
    TARGET_TOLERANCE,
    ParameterScale,
    search_root,
)


def search(excess, start, is_worthwhile=lambda *_: True):
    looked = {}

    def look(place):
        looked[place] = excess(place)
        return looked[place]

    search_root(look, start, is_worthwhile=is_worthwhile)
    return looked


@pytest.mark.parametrize("start", [0.0, 0.3, 0.62, 1.0])
@pytest.mark.parametrize("bend", [1, 3, 9])
def test_few_looks_use_up_the_target(start, bend):
    looked = search(lambda place: 14 * (place**bend - 0.6**bend), start)
    assert max(e for e in looked.values() if e <= 0) > -TARGET_TOLERANCE
    assert len(looked) <= 16


def test_the_ends_are_not_looked_at_without_need():
    looked = search(lambda place: 14 * (place - 0.6), 0.5)
    assert min(looked) > 0.3
    assert max(looked) < 0.9


def test_a_target_that_every_place_keeps_ends_at_the_best_one():
    assert 1.0 in search(lambda _: -1.0, 0.5)


def test_a_target_that_no_place_keeps_is_found_out_at_the_safe_end():
    looked = search(lambda _: 1.0, 0.5)
    assert 0.0 in looked
    assert len(looked) < 7


@pytest.mark.parametrize("start", [0.0, 0.03, 0.5, 1.0])
def test_no_target_takes_more_looks_than_the_budget(start):
    rng, looks = np.random.default_rng(0), []

    def look(place):
        looks.append(place)
        return rng.normal() if 0 < place < 1 else 1 - 2 * place

    for _ in range(100):
        looks.clear()
        search_root(look, start, is_worthwhile=lambda *_: True)
        assert len(looks) <= MAX_EVALUATIONS


def test_a_jump_over_the_target_ends_the_search():
    jump = 1 / math.pi
    looked = search(
        lambda p: 5.0 if p > jump else -5.0, 0.5, is_worthwhile=lambda a, b: abs(a - b) > 1e-4
    )
    assert max(p for p in looked if p <= jump) == pytest.approx(jump, abs=1e-4)


def test_places_run_from_the_safe_end_evenly_in_logarithm():
    scale = ParameterScale(Quality("step", 1e-6, 1.0), finest=False)
    assert [scale.value(p) for p in (0.0, 0.5, 1.0)] == pytest.approx([1e-6, 1e-3, 1.0])
    assert scale.place(1e-2) == pytest.approx(2 / 3)
    assert scale.place(None) == scale.place(7.0) == 0.5


def test_whole_numbers_from_nought_have_places_too():
    scale = ParameterScale(Quality("FDF", 0, 4095, error_sign=-1, integer=True), finest=False)
    assert [scale.value(p) for p in (0.0, 0.5, 1.0)] == [4095, 63, 0]
    assert not scale.apart(scale.place(63), scale.place(64))
    assert scale.apart(scale.place(63), scale.place(65))
