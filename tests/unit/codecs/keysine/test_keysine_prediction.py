"""Predictors: which channels predict which, and how files store them."""

from dataclasses import replace

import numpy as np
import pytest

from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.codecs.keysine import Keysine
from mocpack.codecs.keysine.codec import encode_natively
from mocpack.errors import CorruptionError
from mocpack.model import rotations
from mocpack.model.clip import Clip, measure_error
from mocpack.model.skeleton import Skeleton
from reference import keysine as reference
from reference.keysine_head import head_of
from reference.keysine_head_writer import write_payload


@pytest.fixture(scope="module")
def clip():
    return load_clip("cmu/49_02", COMMITTED).frames(300, 541)


@pytest.fixture(scope="module")
def payload(clip):
    return Keysine(max_error=1e-3).encode(clip)


def test_real_motion_has_predictors_and_is_smaller_with_them(clip, payload):
    assert len(head_of(payload, clip.header).predictors) > 3
    without = encode_natively(Keysine(max_error=1e-3), clip, {"predictor_bits": 1e9}).payload
    assert not len(head_of(without, clip.header).predictors)
    assert len(payload) < len(without)


def test_a_channel_that_follows_another_is_predicted_by_it():
    rng = np.random.default_rng(1)
    swing = np.cumsum(rng.normal(size=(240, 3)), axis=0)
    swing = 0.1 * (swing - swing.mean(0)) / swing.std()
    skeleton = Skeleton(
        ("Root", "Left", "Right"),
        (-1, 0, 0),
        np.array([[0, 0, 0], [0.2, 0, 0], [-0.2, 0, 0]]),
        np.array([[0.3, 0.2, 0.1], [0.3, 0.2, 0.1]]),
        (1, 2),
    )
    vectors = np.stack([0 * swing, swing, 0.75 * swing], axis=1)
    clip = Clip.build(
        skeleton, rotations.from_rotvec(vectors), np.zeros((240, 1, 3)), frame_rate=60
    )
    table = head_of(Keysine(max_error=1e-3).encode(clip), clip.header).predictors
    assert len(table)
    assert (table[:, 0] >= 3).all()  # the right limb's channels
    assert (table[:, 1] < 3).all()  # the left limb's
    assert (np.abs(table[:, 3] - 12) <= 1).any()  # sixteenths


def test_predictors_are_read_alike_by_the_readable_decoder(clip, payload):
    ours, plain = Keysine().decode(payload, clip.header), reference.decode(payload, clip.header)
    np.testing.assert_allclose(ours.rotations, plain.rotations, rtol=0, atol=1e-12)
    assert measure_error(clip, ours).max <= 1e-3


def test_some_joints_are_those_of_the_whole_motion_with_predictors(clip, payload):
    whole = Keysine().decode(payload, clip.header)
    for joint in (3, 12, 30):
        part = Keysine().open(payload, clip.header).frames(0, clip.frame_count, [joint])
        np.testing.assert_array_equal(part.rotations, whole.joints([joint]).rotations)


def test_layers_of_predicted_coefficients_add_up(clip):
    made = Keysine(max_error=1e-3, layers=2).encode(clip)
    assert len(head_of(made, clip.header).predictors) > 3
    ours, plain = Keysine().decode(made, clip.header), reference.decode(made, clip.header)
    np.testing.assert_allclose(ours.rotations, plain.rotations, rtol=0, atol=1e-12)


@pytest.mark.parametrize("wrong", [(20, -1, 0, 5), (900, 3, 0, 5), (20, 3, 4, 5)])
def test_a_predictor_of_no_such_source_channel_or_band_is_corrupt(clip, payload, wrong):
    head = head_of(payload, clip.header)
    parts = [bytes(size) for size in head.sizes]
    changed = replace(head, predictors=np.array([wrong]))
    for decode in (Keysine().decode, reference.decode):
        with pytest.raises(CorruptionError):
            decode(write_payload(changed, clip.header, parts), clip.header)
