"""Parameter searches: the codec proposes settings, and the best trial wins."""

import os
from dataclasses import dataclass

import pytest

from mocpack.codec import Codec, Goal, Trial
from mocpack.codecs.registry import parse_codec
from mocpack.errors import BoundError, MocpackError, UnsupportedClipError, UsageError
from mocpack.papers.vasa.codec import RdPca
from mocpack.rate.tuning import find_metric, pareto_front, try_setting, tune
from mocpack.testing import walk
from naming import naming

CLIP = walk(0.5)


@dataclass(frozen=True)
class Asker(RdPca):
    """Asks for three settings, then for one that depends on the answers."""

    def tuning_rounds(self, clip, goal, *, effort):
        trials = yield [RdPca(lam=lam) for lam in (0.001, 0.004, 0.016)]
        assert [t.codec.lam for t in trials] == [0.001, 0.004, 0.016]
        best = min(trials, key=lambda t: t.error)
        yield [RdPca(lam=best.codec.lam / 2)]


def trial(size, error):
    return Trial(parse_codec("raw"), size, size, error)


def test_answers_go_back_to_the_codec_that_asked():
    found = tune(CLIP, Asker(), Goal("me"))
    assert [t.codec.lam for t in found.trials] == [0.001, 0.004, 0.016, 0.0005]


def test_several_processes_give_the_result_of_one():
    alone = tune(CLIP, Asker(), Goal("me", size=2000))
    together = tune(CLIP, Asker(), Goal("me", size=2000), workers=2)
    assert alone == together


class Ended(Asker):
    """Its encoder kills the process that it runs in."""

    def tuning_rounds(self, clip, goal, *, effort):
        yield [Ended(), Ended()]

    def encode(self, clip):
        os._exit(9)


class Refusing(Asker):
    def tuning_rounds(self, clip, goal, *, effort):
        yield [Refusing(), Refusing()]

    def encode(self, clip):
        raise UnsupportedClipError("not this clip")


def test_a_setting_that_kills_its_process_is_named():
    with pytest.raises(MocpackError, match=naming("Ended(lam=0.003 9")):
        tune(CLIP, Ended(), Goal("me"), workers=2)


@pytest.mark.parametrize("workers", [1, 2])
def test_errors_of_a_codec_are_passed_on(workers):
    with pytest.raises(UnsupportedClipError, match=naming("clip")):
        tune(CLIP, Refusing(), Goal("me"), workers=workers)


@pytest.mark.parametrize("spec", ["bap-index", "bap-sparse", "rd-pca"])
@pytest.mark.parametrize("effort", ["fast", "best"])
def test_about_as_many_settings_are_tried_as_are_expected(spec, effort):
    clip = walk(0.2)
    codec = parse_codec(spec)
    tried = len(tune(clip, codec, Goal("me", size=8000), effort=effort).trials)
    assert 0.4 * tried <= codec.expected_trials(clip, effort=effort) <= 2.5 * tried


def test_progress_hears_of_every_trial():
    heard = []
    tune(CLIP, Asker(), Goal("me"), on_trial=heard.append)
    assert len(heard) == 4


def test_a_trial_counts_the_whole_file():
    import mocpack

    found = try_setting(CLIP, RdPca(), "me")
    assert found.size == len(mocpack.encode(CLIP, RdPca()))
    assert found.payload == len(RdPca().encode(CLIP))


def test_the_best_within_a_size_is_the_one_of_least_error():
    trials = [trial(10, 3.0), trial(20, 1.0), trial(30, 0.5)]
    assert Goal("me", size=25).best(trials) == trials[1]
    assert Goal("me", error=1.0).best(trials) == trials[1]
    assert Goal("me").best(trials) == trials[2]
    assert Goal("me", size=5).best(trials) is None


def test_the_front_has_the_settings_that_no_other_beats():
    a, b, c, d = trial(10, 3.0), trial(20, 1.0), trial(25, 2.0), trial(30, 0.5)
    assert pareto_front([d, c, b, a]) == [a, b, d]


def test_an_impossible_size_is_a_bound_error_that_names_the_smallest_file():
    with pytest.raises(BoundError, match=r" 10 B.* \d+ B"):
        tune(CLIP, Asker(), Goal("me", size=10))


def test_an_impossible_error_is_a_bound_error():
    with pytest.raises(BoundError, match=naming("me 1e-12")):
        tune(CLIP, Asker(), Goal("me", error=1e-12))


def test_a_codec_without_a_search_says_so():
    with pytest.raises(UsageError, match=naming("raw")):
        tune(CLIP, parse_codec("raw"), Goal("me"))


def test_an_unknown_metric_is_answered_with_the_known_ones():
    with pytest.raises(UsageError, match=naming("'beauty' me skted")):
        find_metric("beauty")


def test_one_goal_at_a_time():
    with pytest.raises(UsageError, match=naming("size error")):
        Goal("me", size=1, error=1.0)


def test_codecs_that_can_be_tuned_are_codecs():
    assert isinstance(Asker(), Codec)
