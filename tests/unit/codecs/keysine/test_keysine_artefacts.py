"""What keysine does about feet that skate and motions that jitter within their bound."""

import pytest

from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.clip import measure_error
from mocpack.codec import Encoded
from mocpack.codecs.keysine import Keysine
from mocpack.codecs.keysine.artefacts import (
    BOUND_SHARES,
    JITTER_FACTORS,
    Artefacts,
    BoundedEncoding,
    RetryPolicy,
    encode_without_artefacts,
)


def encoding(size, artefacts):
    return BoundedEncoding(Encoded(bytes(size), None), artefacts)


def test_the_worst_artefact_of_a_motion_without_feet_is_its_jitter():
    assert Artefacts(0.4, {}).worst == 0.4
    assert Artefacts(0.4, {3: 1.2, 7: 0.1}).worst == 1.2


def test_only_the_foot_that_skates_is_given_less():
    policy = RetryPolicy().for_cause(Artefacts(0.5, {3: 1.1, 7: 0.9}))
    assert policy.joint_shares(8) == [1.0] * 3 + [pytest.approx(0.95 / 1.1)] + [1.0] * 4
    assert (policy.bound_share, policy.jitter_factor) == (1.0, 1.0)
    again = policy.for_cause(Artefacts(0.5, {3: 5.0, 7: 1.01}))
    assert again.foot_shares == {3: pytest.approx(0.75 * 0.95 / 1.1), 7: pytest.approx(0.93)}


def test_jitter_alone_is_penalised_higher_and_costs_nothing_of_the_bound():
    policy, jittering = RetryPolicy(), Artefacts(1.5, {3: 0.9})
    for factor in JITTER_FACTORS[1:]:
        policy = policy.for_cause(jittering)
        assert (policy.bound_share, policy.jitter_factor) == (1.0, factor)
        assert policy.joint_shares(4) is None
    assert policy.for_cause(jittering) is None


def test_jitter_and_a_foot_that_skates_are_each_given_their_remedy_at_once():
    policy = RetryPolicy().for_cause(Artefacts(1.1, {3: 1.1}))
    assert policy.jitter_factor == JITTER_FACTORS[1]
    assert policy.foot_shares == {3: pytest.approx(0.95 / 1.1)}


def test_jitter_is_penalised_higher_and_the_bound_aimed_at_falls_to_an_end():
    policy = RetryPolicy().for_all(Artefacts(1.5, {}))
    assert (policy.bound_share, policy.jitter_factor) == (BOUND_SHARES[1], JITTER_FACTORS[1])
    assert policy.joint_shares(4) is None
    for _ in BOUND_SHARES[2:]:
        policy = policy.for_all(Artefacts(1.5, {}))
    assert (policy.bound_share, policy.jitter_factor) == (BOUND_SHARES[-1], JITTER_FACTORS[-1])
    assert policy.for_all(Artefacts(1.5, {})) is None


def test_the_bound_comes_first_then_what_has_a_remedy_then_everything():
    asked = []
    skating, jittering = Artefacts(0.1, {2: 1.3}), Artefacts(1.3, {})
    helpless = [jittering] * len(JITTER_FACTORS)
    answers = iter([None, skating, skating, *helpless, jittering, Artefacts(0.2, {})])

    def attempt(policy):
        asked.append((policy.level, dict(policy.foot_shares)))
        found = next(answers)
        return found and encoding(100, found)

    assert encode_without_artefacts(attempt).artefacts.worst <= 1
    retried = 1 + len(helpless)
    assert [level for level, _ in asked] == [0, 1, *[1] * retried, 2, 3]
    assert [bool(shares) for _, shares in asked] == [False] * 2 + [True] * retried + [False] * 2


def test_where_no_retry_helps_the_least_of_size_and_artefacts_is_taken():
    sizes = {0: 100, 1: 105}

    def attempt(policy):
        size = sizes.get(policy.level, 200)
        return encoding(size, Artefacts(1.2 if size == 100 else 1.05, {}))

    assert len(encode_without_artefacts(attempt).encoded.payload) == 105
    assert encode_without_artefacts(lambda policy: None) is None


@pytest.mark.parametrize("bound", [1e-2, 1e-3])
def test_planted_feet_of_a_real_walk_do_not_skate(bound):
    clip = load_clip("cmu/07_01", COMMITTED).frames(1, 241)
    made = Keysine(max_error=bound).encode_verified(clip)
    assert measure_error(clip, made.decoded).max <= bound
    assert Artefacts.measure(clip, made.decoded, bound).worst <= 1
