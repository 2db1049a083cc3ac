"""What keysine does about feet that slip and motions that tremble within their bound."""

import pytest

import mocpack
from mocpack.bench.datasets import data_folder
from mocpack.clip import promised_error
from mocpack.codecs.keysine import Keysine
from mocpack.codecs.keysine.calming import AIMS, Care, Unrest, calmest


def test_the_worst_of_a_motion_without_feet_is_its_trembling():
    assert Unrest(0.4, {}).worst == 0.4
    assert Unrest(0.4, {3: 1.2, 7: 0.1}).worst == 1.2


def test_only_the_foot_that_slips_is_given_less():
    care = Care().for_feet(Unrest(0.5, {3: 1.1, 7: 0.9}))
    assert care.joint_shares(8) == [1.0] * 3 + [pytest.approx(0.95 / 1.1)] + [1.0] * 4
    assert (care.share, care.price) == (1.0, 1.0)
    again = care.for_feet(Unrest(0.5, {3: 5.0, 7: 1.01}))
    assert again.shares == {3: pytest.approx(0.75 * 0.95 / 1.1), 7: pytest.approx(0.93)}


def test_feet_are_not_to_blame_for_what_trembles():
    assert Care().for_feet(Unrest(1.1, {3: 1.1})) is None


def test_what_trembles_is_priced_higher_and_aims_further_inside_to_an_end():
    care = Care().for_all(Unrest(1.5, {}))
    assert (care.share, care.price, care.joint_shares(4)) == (AIMS[1], 4.0, None)
    for _ in AIMS[2:]:
        care = care.for_all(Unrest(1.5, {}))
    assert (care.share, care.price) == (AIMS[-1], 8.0)
    assert care.for_all(Unrest(1.5, {})) is None


def test_the_bound_comes_first_then_feet_then_everything():
    asked = []
    slipping, trembling = Unrest(0.1, {2: 1.3}), Unrest(1.3, {})
    answers = iter([None, slipping, slipping, trembling, trembling, Unrest(0.2, {})])

    def make(care):
        asked.append((care.aim, dict(care.shares)))
        return bytes(100)

    kept = calmest(make, lambda payload: next(answers))
    assert kept.unrest.calm
    assert [aim for aim, _ in asked] == [0, 1, 1, 1, 2, 3]
    assert [bool(shares) for _, shares in asked] == [False, False, True, True, False, False]


def test_where_nothing_helps_the_small_and_calm_is_taken():
    sizes = {0: 100, 1: 105}

    def make(care):
        return bytes(sizes.get(care.aim, 200))

    kept = calmest(make, lambda payload: Unrest(1.2 if len(payload) == 100 else 1.05, {}))
    assert len(kept.payload) == 105
    assert calmest(lambda care: None, lambda payload: None) is None


@pytest.mark.parametrize("bound", [1e-2, 1e-3])
def test_planted_feet_of_a_real_walk_do_not_slip(bound):
    folder = data_folder()
    if folder is None:
        pytest.skip("no motion data: set MOCPACK_DATA")
    clip = mocpack.read(folder / "bandai" / "dataset-1_walk_normal_001.bvh")
    codec = Keysine(max_error=bound)
    back = codec.decode(codec.encode(clip), clip.header)
    assert promised_error(clip, back).max <= bound
    assert Unrest.of(clip, back, bound).worst <= 1
