"""Predictors: which channels foretell which, and that files hold and keep them."""

from dataclasses import replace

import numpy as np
import pytest

from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.clip import measure_error
from mocpack.codecs.keysine import Keysine, prediction
from mocpack.codecs.keysine.payload import read_head, written_head
from reference import keysine as reference


def observed(rng, *, factor=0.75):
    """Return four channels of two tracks, of which the third is a multiple of the first."""
    paces = np.tile(np.arange(20), 30)
    wanted = rng.normal(size=(4, 600)) * 20
    wanted[2] = factor * wanted[0] + rng.normal(size=600) * 0.3
    wanted[:, paces == 0] = 0
    firsts = np.array([0, 0, 2, 2])
    steps = np.ones_like(wanted)
    return prediction.Observed(wanted, np.round(wanted), steps, paces, firsts, 5000)


def test_a_channel_that_follows_another_is_found():
    found = prediction.choose(observed(np.random.default_rng(1)), repeats=1.0)
    assert found.tolist() == [[2, 0, 0, 12]]


def test_channels_that_have_nothing_to_do_with_one_another_foretell_nothing():
    found = prediction.choose(observed(np.random.default_rng(1), factor=0.0), repeats=1.0)
    assert not len(found)


def test_a_predictor_must_save_more_than_it_costs():
    seen = observed(np.random.default_rng(1))
    assert not len(prediction.choose(seen, repeats=1e-6))


def test_a_clip_in_which_nothing_moves_has_no_predictors():
    seen = observed(np.random.default_rng(1))
    assert not len(prediction.choose(replace(seen, steps=0 * seen.steps), repeats=1.0))


@pytest.fixture(scope="module")
def clip():
    return load_clip("cmu/49_02", COMMITTED).frames(300, 541)


@pytest.fixture(scope="module")
def payload(clip):
    return Keysine(max_error=1e-3).encode(clip)


def test_real_motion_has_predictors_and_is_smaller_with_them(clip, payload, monkeypatch):
    assert len(read_head(payload, clip.header).predictors) > 3
    monkeypatch.setattr(Keysine, "_predictors", lambda *_, **__: None)
    assert len(payload) < len(Keysine(max_error=1e-3).encode(clip))


def test_predictors_are_read_alike_by_the_readable_decoder(clip, payload):
    ours, plain = Keysine().decode(payload, clip.header), reference.decode(payload, clip.header)
    np.testing.assert_allclose(ours.rotations, plain.rotations, rtol=0, atol=1e-12)
    assert measure_error(clip, ours).max <= 1e-3


def test_some_joints_are_those_of_the_whole_motion_with_predictors(clip, payload):
    whole = Keysine().decode(payload, clip.header)
    for joint in (3, 12, 30):
        part = Keysine().open(payload, clip.header).frames(0, clip.frame_count, [joint])
        np.testing.assert_array_equal(part.rotations, whole.joints([joint]).rotations)


def test_layers_of_predicted_coefficients_add_up(clip, payload):
    made = Keysine(max_error=1e-3, layers=2).encode(clip)
    assert len(read_head(made, clip.header).predictors) > 3
    ours, whole = (Keysine().decode(p, clip.header) for p in (made, payload))
    np.testing.assert_array_equal(ours.rotations, whole.rotations)


def test_a_predictor_from_its_own_track_cannot_be_written(clip, payload):
    head = read_head(payload, clip.header)
    spoilt = head.predictors.copy()
    spoilt[0, 1] = spoilt[0, 0]
    native = clip.skeleton.native(clip.translated_joints)
    with pytest.raises(ValueError, match="predictors"):
        written_head(replace(head, predictors=spoilt), native, [], [])
