"""keysine in layers: what a cut file is worth, and that nothing is lost by cutting none."""

from dataclasses import replace

import numpy as np
import pytest

from keysine_payload import read_head
from mocpack.clip import measure_error
from mocpack.codecs.keysine import Keysine
from mocpack.codecs.keysine.codec import encode_natively
from mocpack.errors import CorruptionError
from mocpack.testing import CODEC_CHECKS, hard_clips, jump, walk
from reference import keysine as reference

CLIPS = hard_clips()
LAYERED = Keysine(max_error=5e-3, effort="fast", layers=3, layer_ratio=4)


def layer_ends(payload, header):
    """Bytes up to the end of the keys, and of each layer."""
    head = read_head(payload, header)
    keys = sum(head.segments_at(0, len(head.segment_sizes)))
    return np.cumsum([keys, *map(sum, head.layer_sizes)])


def test_a_file_cut_after_any_layer_plays_within_the_error_it_states():
    clip = walk(4.0)
    payload = LAYERED.encode(clip)
    head = read_head(payload, clip.header)
    stated = (head.coarse_error, *head.layer_errors, 5e-3)
    assert list(stated) == sorted(stated, reverse=True)
    for end, error in zip(layer_ends(payload, clip.header), stated, strict=True):
        part = LAYERED.open(payload[:end], clip.header).partial()
        assert part.frame_count == clip.frame_count
        assert measure_error(clip, part).max <= error * (1 + 1e-9)


def test_a_layer_is_as_coarse_as_was_asked():
    clip = walk(4.0)
    head = read_head(LAYERED.encode(clip), clip.header)
    assert 5e-3 < head.layer_errors[1] <= 1.1 * 4 * 5e-3
    assert head.layer_errors[1] < head.layer_errors[0] <= 1.1 * 16 * 5e-3


def test_a_file_cut_inside_a_layer_has_it_as_far_as_it_goes():
    clip = walk(4.0)
    payload = LAYERED.encode(clip)
    keys, base, middle, _ = layer_ends(payload, clip.header)
    part = LAYERED.open(payload[: middle - 1], clip.header).partial()
    coarse = LAYERED.open(payload[:base], clip.header).partial()
    fine = LAYERED.open(payload[:middle], clip.header).partial()
    np.testing.assert_array_equal(part.rotations[:100], fine.rotations[:100])
    np.testing.assert_array_equal(part.rotations[-2:], coarse.rotations[-2:])
    assert keys < base < middle


def test_asking_for_more_layers_than_fit_gives_as_many_as_fit():
    clip = walk(4.0)
    most = replace(LAYERED, layers=16).encode(clip)
    assert read_head(most, clip.header).layer_count >= 3
    assert read_head(LAYERED.encode(clip), clip.header).layer_count == 3


def test_layers_add_up_to_the_motion_of_one():
    clip = jump(2.0)
    one = replace(LAYERED, layers=1)
    single, layered = one.encode(clip), LAYERED.encode(clip)
    a, b = one.decode(single, clip.header), LAYERED.decode(layered, clip.header)
    np.testing.assert_array_equal(a.rotations, b.rotations)
    np.testing.assert_array_equal(a.translations, b.translations)
    window = LAYERED.open(layered, clip.header).frames(50, 70, [3])
    np.testing.assert_array_equal(window.rotations, a.joints([3]).rotations[50:70])


@pytest.mark.parametrize(
    "name", ["walk", "two frames", "one joint", "still", "full turns", "noise"]
)
def test_the_readable_decoder_reads_layers_alike(name):
    clip = CLIPS[name].frames(0, min(CLIPS[name].frame_count, 40))
    payload = encode_natively(LAYERED, clip, {"max_layers_ratio": 10.0}).payload
    for layers, end in enumerate(layer_ends(payload, clip.header)):
        native = LAYERED.open(payload[:end], clip.header).partial()
        plain = reference.decode(payload[:end], clip.header, layers=layers)
        np.testing.assert_allclose(native.rotations, plain.rotations, rtol=0, atol=1e-12)
        np.testing.assert_allclose(native.translations, plain.translations, rtol=0, atol=1e-12)


def test_a_clip_of_one_frame_has_nothing_to_layer():
    clip = CLIPS["one frame"]
    assert LAYERED.encode(clip) == replace(LAYERED, layers=1).encode(clip)


def test_a_wrong_checksum_in_any_layer_is_found():
    clip = walk(1.0)
    payload = LAYERED.encode(clip)
    for end in layer_ends(payload, clip.header):
        bad = bytearray(payload)
        bad[end - 1] ^= 1
        with pytest.raises(CorruptionError, match="keysine"):
            LAYERED.decode(bytes(bad), clip.header)


def test_layers_take_at_most_8_percent_more_and_a_short_clip_has_fewer():
    found = []
    for seconds in (0.3, 1.0, 4.0):
        clip = walk(seconds)
        payload = LAYERED.encode(clip)
        assert len(payload) <= 1.08 * len(replace(LAYERED, layers=1).encode(clip))
        found.append(LAYERED.open(payload, clip.header).layout().layers)
    assert found == sorted(found)
    assert found[0] < found[-1] == 3


def test_layers_and_their_errors_are_told():
    clip = walk(4.0)
    payload = LAYERED.encode(clip)
    layout = LAYERED.open(payload, clip.header).layout()
    assert layout.layers == 3
    assert len(layout.layer_errors) == 2


@pytest.mark.parametrize("check", CODEC_CHECKS, ids=lambda check: check.__name__)
def test_layers_keep_the_contract(check):
    check(LAYERED, walk(0.25))
