"""Files with layers: errors of truncated files, and complete files without loss."""

from dataclasses import replace
from itertools import accumulate, pairwise

import numpy as np
import pytest

import mocpack
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.codecs.keysine import Keysine
from mocpack.codecs.keysine.codec import encode_natively
from mocpack.errors import CorruptionError, TruncatedError
from mocpack.model.clip import measure_error
from mocpack.model.rotations import from_rotvec
from mocpack.model.skeleton import Skeleton
from mocpack.rate import attempt
from mocpack.testing import CODEC_CHECKS, hard_clips, jump, walk
from reference import keysine as reference
from reference.keysine_head import head_of, read_head
from reference.keysine_head_writer import write_payload
from strategies import motion_of

CLIPS = hard_clips()
LAYERED = Keysine(max_error=5e-3, effort="fast", layers=3, group_seconds=1.0)


def layers_of(payload, header):
    return LAYERED.open(payload, header).layout().layers


def block_count(payload, header):
    def read(start, size):
        return payload[start : start + size]

    head, plan = read_head(read, header)
    starts = [head.key_frame(g, header.frame_count) for g in range(head.group_count + 1)]
    edges = reference.read_edges(read, head, plan, 1)
    groups = reference.read_bundle(read, head, plan, edges, starts, range(head.group_count), 1)
    return sum(len(group.lengths) for group in groups.values())


def cut(payload, end, header):
    return LAYERED.open(payload[:end], header).partial()


@pytest.mark.parametrize("seconds", [4.0, 21.0])
def test_a_file_cut_after_any_layer_plays_within_the_errors_it_states(seconds):
    clip = walk(seconds)
    payload = LAYERED.encode(clip)
    layers = layers_of(payload, clip.header)
    assert len(layers) == 3
    assert layers[-1].end == len(payload)
    assert [layer.mean_error for layer in layers] == sorted(
        (layer.mean_error for layer in layers), reverse=True
    )
    for layer in layers:
        part = cut(payload, layer.end, clip.header)
        assert part.frame_count == clip.frame_count
        error = measure_error(clip, part)
        assert error.max <= layer.max_error * (1 + 1e-9) <= 1.1 * error.max
        assert error.joint_mean <= layer.mean_error * (1 + 1e-9) <= 1.1 * error.joint_mean


def exceeded(clip, data, *, cuts=25):
    """Return each cut of a file whose errors exceed those of its last complete layer."""
    with mocpack.open(data) as motion:
        layers = motion.layers
    assert len(layers) > 1
    places = np.linspace(layers[0].end, len(data) - 1, cuts).astype(int).tolist()
    found = []
    for at in [*(layer.end for layer in layers[:-1]), *places]:
        error = measure_error(clip, mocpack.decode(data[:at], partial=True))
        last = max(number for number, layer in enumerate(layers) if layer.end <= at)
        stated = layers[last].max_error, layers[last].mean_error
        if error.max > stated[0] * (1 + 1e-9) or error.joint_mean > stated[1] * (1 + 1e-9):
            found.append((at, stated, error.max, error.joint_mean))
    return found


def test_layers_of_markers_state_mean_errors_without_the_joint_at_the_origin():
    time = np.arange(200)[:, np.newaxis] / 100
    a, b = np.sin(time * [3, 2, 1]), 1 + np.cos(time * [4, 5, 2])
    clip = mocpack.Clip.from_points(np.stack([a, b], axis=1), ["a", "b"])
    assert not exceeded(clip, mocpack.encode(clip, "keysine:layers=4", max_error="5mm"))


def test_the_mean_error_of_a_file_cut_between_layers_can_exceed_that_at_both_ends():
    clip = motion_of(
        np.random.default_rng(140), joints=3, frames=60, frame_rate=60.0, manners=("shake", "jump")
    )
    codec = Keysine(max_error=5e-3, effort="fast", layers=8, group_seconds=0.1)
    payload = codec.encode(clip)
    first, second, *_ = codec.open(payload, clip.header).layout().layers

    def mean_at(end):
        return measure_error(clip, codec.open(payload[:end], clip.header).partial()).joint_mean

    between = max(mean_at(end) for end in range(first.end, second.end, 2))
    assert between > 1.03 * max(mean_at(first.end), mean_at(second.end))
    assert between <= first.mean_error <= 1.1 * between


def scaled_chain(*scale, moving=False):
    """Return a waving chain of 8 joints with a scale at its root."""
    time, joints = np.arange(120) / 60, np.arange(8)
    skeleton = Skeleton(
        tuple(f"joint{j}" for j in joints),
        (-1, *range(7)),
        np.tile([0.0, 0.3, 0.0], (8, 1)),
        scales=np.where(joints[:, np.newaxis] == 0, scale, 1.0),
    )
    speeds = np.stack([1 + 0.7 * joints, 2 + 0.3 * joints, 1.5 + 0.2 * joints], axis=1)
    turns = from_rotvec(
        0.6 * np.sin(time[:, np.newaxis, np.newaxis] * speeds + joints[:, np.newaxis])
    )
    places = np.stack([np.sin(time), time, 0 * time], axis=1)[:, np.newaxis]
    clip = mocpack.Clip.build(skeleton, turns, places, frame_rate=60, translated_joints=[0])
    if not moving:
        return clip
    scales = np.array(scale) * (1 + 0.5 * np.sin(3 * time))[:, np.newaxis, np.newaxis]
    return clip.replace(scales=scales, scaled_joints=[0])


SCALED = {
    "uniform": scaled_chain(2.8, 2.8, 2.8),
    "stretched": scaled_chain(1.0, 2.0, 1.0),
    "moving": scaled_chain(2.0, 2.5, 2.0, moving=True),
}


@pytest.mark.parametrize("name", SCALED)
def test_layers_state_errors_with_scales(name):
    data = mocpack.encode(SCALED[name], "keysine:layers=3,effort=fast", max_error="20mm")
    assert not exceeded(SCALED[name], data)


def test_the_stated_error_of_key_poses_includes_scales():
    clip = SCALED["uniform"]
    stated = []
    for each in (clip, clip.bake_scales()):
        with mocpack.open(mocpack.encode(each, "keysine:effort=fast", max_error="5mm")) as motion:
            head = head_of(motion.decoder.payload.read_all(), motion.codec_header)
        stated.append(head.unit * 2 ** (head.coarse / 8))
    assert stated[0] == pytest.approx(stated[1], rel=0.2)


def test_an_early_layer_states_the_larger_errors_of_later_ones():
    manners = ("sway", "spin", "jump")
    clip = motion_of(
        np.random.default_rng(26), joints=3, frames=90, frame_rate=60.0, manners=manners
    )
    codec = Keysine(max_error=5e-3, effort="fast", layers=16, group_seconds=0.05)
    data = mocpack.encode(clip, codec)
    with mocpack.open(data) as motion:
        ends = [layer.end for layer in motion.layers[:-1]]
    errors = [measure_error(clip, mocpack.decode(data[:end], partial=True)).max for end in ends]
    assert errors != sorted(errors, reverse=True)
    assert not exceeded(clip, data, cuts=200)


def encode_as_0_1_0(clip, codec, monkeypatch):
    """Return a file that states the errors of layers without scales."""
    measured = Keysine.encode_verified
    with monkeypatch.context() as old:
        old.setattr(Keysine, "encode_verified", lambda self, clip, measure: measured(self, clip))
        return attempt(clip, codec).data


def test_an_old_file_with_scales_states_no_errors_that_its_measured_ones_contradict(monkeypatch):
    codec = Keysine(max_error=5e-3, effort="fast", layers=3)
    for clip in SCALED.values():
        data = encode_as_0_1_0(clip, codec, monkeypatch)
        with mocpack.open(data) as motion:
            layers, measured = motion.layers, motion.errors
        assert [layer.max_error for layer in layers] == [None, None, measured.max]
        assert [layer.mean_error for layer in layers] == [None, None, measured.mean]


def test_the_errors_of_an_old_file_hold_up_to_its_end():
    """Version 0.1.0 wrote layers with larger errors than the layers before."""
    clip = walk(4.0)
    payload = LAYERED.encode(clip)
    head = head_of(payload, clip.header)
    starts = [head.size, *(head.size + end for end in accumulate(head.sizes))]
    parts = [payload[start:end] for start, end in pairwise(starts)]
    (_, mean), larger, last = head.errors
    old = replace(head, errors=((larger[0] - 40, mean), larger, last))
    layers = layers_of(write_payload(old, clip.header, parts), clip.header)
    assert layers[0].max_error == layers[1].max_error > layers[2].max_error
    assert layers[0].mean_error > layers[1].mean_error


def test_layers_end_near_even_parts_of_the_file():
    clip = jump(8.0)
    codec = Keysine(max_error=1e-3, effort="fast", layers=4)
    payload = codec.encode(clip)
    ends = [layer.end / len(payload) for layer in codec.open(payload, clip.header).layout().layers]
    for end, wanted in zip(ends, (0.25, 0.5, 0.75, 1.0), strict=True):
        assert wanted - 0.06 < end <= wanted


def test_a_cut_inside_the_first_layer_is_an_error_that_names_the_bytes_needed():
    clip = walk(4.0)
    for codec in (LAYERED, replace(LAYERED, layers=1), replace(LAYERED, mode="grid", layers=1)):
        data = mocpack.encode(clip, codec)
        with mocpack.open(data) as motion:
            first, *_ = motion.layers
        for end in (first.end - 1, first.end - 200):
            with pytest.raises(TruncatedError, match=str(first.end)):
                mocpack.decode(data[:end], partial=True)
        if codec.layers > 1:
            assert mocpack.decode(data[: first.end], partial=True).frame_count == clip.frame_count


def test_a_file_cut_inside_a_layer_has_it_as_far_as_it_goes():
    clip = walk(8.0)
    payload = LAYERED.encode(clip)
    base, middle, _ = (layer.end for layer in layers_of(payload, clip.header))
    part = cut(payload, middle - 1, clip.header)
    coarse, fine = cut(payload, base, clip.header), cut(payload, middle, clip.header)
    bundle = head_of(payload, clip.header).key_frame(4, clip.frame_count)
    np.testing.assert_array_equal(part.rotations[:bundle], fine.rotations[:bundle])
    np.testing.assert_array_equal(part.rotations[bundle:], coarse.rotations[bundle:])
    assert not np.array_equal(coarse.rotations, fine.rotations)


def test_windows_of_a_cut_file_are_those_of_its_clip():
    clip = walk(8.0)
    data = mocpack.encode(clip, LAYERED)
    with mocpack.open(data) as motion:
        ends = [layer.end for layer in motion.layers]
    part = data[: (ends[0] + ends[1]) // 2]
    whole = mocpack.decode(part, partial=True)
    with mocpack.open(part, partial=True) as motion:
        for start in range(0, clip.frame_count - 30, 97):
            window = motion.frames(start, start + 30)
            expected = whole.rotations[start : start + 30]
            same = np.abs(np.sum(window.rotations * expected, axis=-1))
            np.testing.assert_allclose(same, 1, atol=1e-12)


def test_a_layer_that_would_change_nothing_is_left_out():
    clip = CLIPS["still"]
    most = replace(LAYERED, layers=16)
    assert 1 <= head_of(most.encode(clip), clip.header).layer_count < 16


def test_a_layer_with_an_error_that_the_head_cannot_state_is_left_out():
    clip = hard_clips()["every joint translates"].frames(0, 8)
    places = 7000 * np.random.default_rng(3).standard_normal(clip.translations.shape)
    far = mocpack.Clip(clip.header, clip.rotations, places)
    assert Keysine(max_error=2e-4, effort="fast", layers=2).encode(far) == Keysine(
        max_error=2e-4, effort="fast"
    ).encode(far)
    codec = Keysine(max_error=2e-4, effort="fast", layers=4)
    payload = codec.encode(far)
    layers = codec.open(payload, far.header).layout().layers
    assert 1 < len(layers) < 4
    for layer in layers:
        partial = codec.open(payload[: layer.end], far.header).partial()
        assert measure_error(far, partial).max <= layer.max_error


def test_layers_add_up_to_the_motion_of_one():
    clip = jump(2.0)
    one = replace(LAYERED, layers=1)
    single, layered = one.encode(clip), LAYERED.encode(clip)
    a, b = one.decode(single, clip.header), LAYERED.decode(layered, clip.header)
    np.testing.assert_array_equal(a.rotations, b.rotations)
    np.testing.assert_array_equal(a.translations, b.translations)
    window = LAYERED.open(layered, clip.header).frames(50, 70, [3])
    np.testing.assert_array_equal(window.rotations, a.joints([3]).rotations[50:70])


def test_layers_have_longer_blocks_within_the_same_bound():
    clip = load_clip("cmu/49_02", COMMITTED).frames(1000, 1240)
    layered = Keysine(max_error=1e-3, layers=3)
    payload = layered.encode(clip)
    one = replace(layered, layers=1).encode(clip)
    assert block_count(payload, clip.header) < block_count(one, clip.header)
    assert measure_error(clip, layered.decode(payload, clip.header)).max <= 1e-3


def test_without_a_cost_of_splits_layers_have_the_motion_of_one():
    clip = jump(2.0)
    # a bound on angles: no shared references
    layered = Keysine(max_error=1e-3, max_angle=1.0, layers=3, group_seconds=1.0)
    payload = encode_natively(layered, clip, {"layer_split_cost": 0.0}).payload
    one = replace(layered, layers=1)
    np.testing.assert_array_equal(
        layered.decode(payload, clip.header).rotations,
        one.decode(one.encode(clip), clip.header).rotations,
    )


def test_a_preview_of_layers_has_the_keys_of_one():
    clip = walk(20.0)
    one = replace(LAYERED, layers=1)
    a = one.open(one.encode(clip), clip.header).preview()
    b = LAYERED.open(LAYERED.encode(clip), clip.header).preview()
    np.testing.assert_array_equal(a.rotations, b.rotations)


@pytest.mark.parametrize(
    "name", ["walk", "two frames", "one joint", "still", "full turns", "noise"]
)
def test_the_reference_decoder_reads_layers_equally(name):
    clip = CLIPS[name].frames(0, min(CLIPS[name].frame_count, 40))
    codec = replace(LAYERED, group_seconds=0.08)  # several bundles
    payload = codec.encode(clip)
    for count, layer in enumerate(codec.open(payload, clip.header).layout().layers, 1):
        native = codec.open(payload[: layer.end], clip.header).partial()
        plain = reference.decode(payload[: layer.end], clip.header, layers=count)
        np.testing.assert_allclose(native.rotations, plain.rotations, rtol=0, atol=1e-12)
        np.testing.assert_allclose(native.translations, plain.translations, rtol=0, atol=1e-12)


def test_a_clip_of_one_frame_has_nothing_to_layer():
    clip = CLIPS["one frame"]
    assert LAYERED.encode(clip) == replace(LAYERED, layers=1).encode(clip)


def test_a_wrong_checksum_in_any_layer_is_found():
    clip = walk(1.0)
    payload = LAYERED.encode(clip)
    for layer in layers_of(payload, clip.header):
        bad = bytearray(payload)
        bad[layer.end - 1] ^= 1
        with pytest.raises(CorruptionError, match="keysine"):
            LAYERED.decode(bytes(bad), clip.header)


@pytest.mark.parametrize("check", CODEC_CHECKS, ids=lambda check: check.__name__)
def test_layers_keep_the_contract(check):
    check(LAYERED, walk(0.25))
