from dataclasses import replace

import numpy as np
import pytest

from mocpack import decode, encode
from mocpack import open as open_file
from mocpack.bench.datasets import load_clip
from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.coding.planes import encode_plane
from mocpack.errors import CorruptionError, TruncatedError, UsageError
from mocpack.model import rotations
from mocpack.model.clip import measure_error
from mocpack.papers.li.codec.bit_planes import (
    coarse,
    middle,
    read_layers,
    segment_order,
    write_layers,
)
from mocpack.papers.li.codec.fk_wavelet import FkWavelet, _lead, _rig_of, aimed
from mocpack.testing import hard_clips, turn, walk
from naming import naming

WALK = walk(3.0)


def round_trip(codec, clip):
    return codec.decode(codec.encode(clip), clip.header)


def errors(clip, back):
    return np.linalg.norm(back.positions() - clip.positions(), axis=-1)


@pytest.mark.parametrize("name", ["walk", "full turns", "far from the origin", "noise"])
def test_error_falls_to_nothing_with_the_step(name):
    clip = hard_clips()[name]
    found = [errors(clip, round_trip(FkWavelet(step=s), clip)).max() for s in (1e-2, 1e-4, 1e-6)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < 1e-4


def test_aiming_never_moves_a_bones_end_away():
    rng = np.random.default_rng(0)
    world = rotations.normalize(rng.normal(size=(500, 4)))
    tip = 0.3 * rotations.rotate(world, np.array([0.0, 1, 0]))
    shift = rng.normal(size=(500, 3)) * 0.02
    plain = tip - shift  # the end as it is drawn from the decoded near end, without aiming
    there = 0.3 * rotations.rotate(aimed(world, tip, shift), np.array([0.0, 1, 0])) - shift
    goal = tip
    after = np.linalg.norm(there - goal, axis=1)
    before = np.linalg.norm(plain - goal, axis=1)
    assert (after <= before + 1e-12).all()
    assert after.mean() < 0.6 * before.mean()


def test_compensation_lessens_the_error():
    kept = errors(WALK, round_trip(FkWavelet(step=0.01), WALK)).mean()
    plain = errors(WALK, round_trip(FkWavelet(step=0.01, compensate=False), WALK)).mean()
    assert kept < 0.9 * plain


def test_every_prefix_from_the_base_on_decodes_and_gets_better():
    codec = FkWavelet(step=0.001)
    payload = codec.encode(WALK)
    found = []
    for end in range(0, len(payload) + 1, 100):
        try:
            found.append(errors(WALK, codec.open(payload[:end], WALK.header).partial()).mean())
        except TruncatedError:
            assert not found  # only before the base
    assert len(found) > 0.8 * len(payload) / 100
    assert found[-1] < 0.01 * found[0]
    # coarse to fine: nearly every step helps, none costs much
    assert np.mean(np.diff(found) <= 1e-9) > 0.7
    assert (np.array(found[1:]) < 1.3 * np.minimum.accumulate(found)[:-1] + 1e-4).all()


def layout_of(codec, payload):
    return codec.open(payload, WALK.header).layout()


@pytest.mark.parametrize("params", [{}, {"twist": False}, {"roi": "60:90"}])
def test_each_layer_states_the_error_that_a_cut_after_it_leaves(params):
    codec = FkWavelet(step=0.001, **params)
    payload = codec.encode(WALK)
    layout = layout_of(codec, payload)
    assert layout.layer_count == len(layout.layers) >= 5
    for error, end in ((layer.max_error, layer.end) for layer in layout.layers[:-1]):
        found = measure_error(WALK, codec.open(payload[:end], WALK.header).partial()).max
        assert found <= error
        assert found == pytest.approx(error, rel=1e-5)
    assert np.all(np.diff([layer.end for layer in layout.layers]) > 0)


def test_a_single_layer_is_the_file_without_progress():
    codec = FkWavelet(step=0.001, first_layer=1.0, twist=False)
    payload = codec.encode(WALK)
    assert layout_of(codec, payload).layer_count == 1
    assert len(payload) < len(FkWavelet(step=0.001, twist=False).encode(WALK))


def test_bones_with_many_descendants_come_first():
    lead = _lead(_rig_of(WALK))
    skeleton = WALK.skeleton
    joints = list(_rig_of(WALK).bodies.joints)
    hips, hand = (3 * joints.index(skeleton.index(name)) for name in ("Hips", "LeftHand"))
    assert lead[hips] > lead[hand]


@pytest.mark.parametrize("share", [0.15, 0.3, 0.5])
def test_a_cut_of_captured_motion_is_nearly_as_good_as_a_file_of_that_size(share):
    clip = load_clip("cmu/16_32")
    clip = clip.frames(1, 361)
    codec = FkWavelet(step=0.001)
    payload = codec.encode(clip)
    size = int(share * len(payload))
    cut = errors(clip, codec.open(payload[:size], clip.header).partial()).mean()
    # the finest direct coding that fits: half steps of the knob
    for step in 0.001 * 2 ** np.arange(0.5, 7, 0.25):
        direct = FkWavelet(step=float(step), first_layer=1.0)
        small = direct.encode(clip)
        if len(small) <= size:
            break
    assert cut < 1.5 * errors(clip, direct.decode(small, clip.header)).mean()


def test_a_plane_with_impossible_bits_is_refused():
    order = np.arange(4)
    out = FieldWriter()
    out.sized(encode_plane([[1], [0], [0], [0]]))
    out.sized(encode_plane([[1], [0], [0], [0]]))  # bit planes say nothing new of what is known
    out.raw(b"\0")
    with pytest.raises(CorruptionError, match=naming("plane")):
        read_layers(
            FieldReader(out.bytes(), "x"),
            np.zeros(1, np.uint16),
            order,
            1,
            np.zeros(1, int),
            cut=False,
        )


def test_rows_come_second_by_second_and_coarse_bands_first():
    # four seconds; bands of 60, 60 and 120 rows
    first = [*range(15), *range(60, 75), *range(120, 150)]
    assert segment_order(240, 2, 1 / 60)[:60].tolist() == first


def test_values_with_missing_bits_decode_to_the_middle_of_their_interval():
    exact = np.arange(-63, 64)
    for shift in (0, 1, 3):
        known = coarse(exact, shift)
        for value in set(known.tolist()):
            found = middle(np.array([value]), shift)[0]
            assert found == pytest.approx(exact[known == value].mean())


def test_layers_state_errors_with_scales():
    clip = walk(1.0)
    scales = np.ones((len(clip.skeleton), 3))
    scales[0] = 1.0, 2.0, 1.0
    clip = clip.replace(skeleton=replace(clip.skeleton, scales=scales))
    data = encode(clip, FkWavelet())
    with open_file(data) as motion:
        layers = motion.layers
    assert len(layers) > 2
    for layer in layers:
        error = measure_error(clip, decode(data[: layer.end], partial=True)).max
        assert error <= layer.max_error * (1 + 1e-6)


@pytest.mark.parametrize("shift", [0, 1, 5])
def test_layers_hold_every_integer(shift):
    rng = np.random.default_rng(shift)
    values = np.rint(rng.normal(size=(50, 6)) * rng.choice([0.3, 3, 40], size=(50, 6))).astype(int)
    order, classes = segment_order(50, 3, 0.1), np.zeros(6, np.uint16)
    assert sorted(order) == list(range(50))
    out = FieldWriter()
    lead = np.array([0, 1, 0, 2, 7, 3])
    write_layers(out, values, classes, order, shift, lead)
    read = FieldReader(out.bytes(), "x")
    back, lacking = read_layers(read, classes, order, shift, lead, cut=False)
    read.end()
    np.testing.assert_array_equal(back, values)
    assert not lacking[back != 0].any()


def test_a_cut_file_plays():
    data = encode(WALK, FkWavelet(step=0.001))
    back = decode(data[: len(data) // 2], partial=True)
    assert errors(WALK, back).mean() < 0.02
    with pytest.raises(TruncatedError):
        decode(data[: len(data) // 2])


def test_twist_can_be_left_out_or_cut_off_and_positions_stay():
    codec = FkWavelet(step=0.002)
    whole = round_trip(codec, WALK)
    without = round_trip(FkWavelet(step=0.002, twist=False), WALK)
    np.testing.assert_allclose(without.positions(), whole.positions(), atol=1e-9)
    assert rotations.angle_between(without.rotations, whole.rotations).max() > 0.01
    assert len(FkWavelet(step=0.002, twist=False).encode(WALK)) < len(codec.encode(WALK))
    cut = codec.open(codec.encode(WALK)[:-20], WALK.header).partial()
    np.testing.assert_allclose(cut.positions(), whole.positions(), atol=1e-9)


def test_frames_of_interest_are_better_than_the_rest():
    joint = WALK.skeleton.index("LeftHand")
    codec = FkWavelet(step=0.02, roi="60:90", roi_joints="LeftHand")
    found = errors(WALK, round_trip(codec, WALK))[:, joint]
    plain = errors(WALK, round_trip(FkWavelet(step=0.02), WALK))[:, joint]
    assert found[60:90].mean() < 0.3 * plain[60:90].mean()
    assert found[60:90].mean() < 0.5 * np.delete(found, np.r_[40:110]).mean()


def test_planted_feet_are_found_and_kept_better():
    feet = [WALK.skeleton.index(name) for name in ("LeftFoot", "RightFoot")]
    found = errors(WALK, round_trip(FkWavelet(step=0.02, roi="contacts"), WALK))[:, feet]
    plain = errors(WALK, round_trip(FkWavelet(step=0.02), WALK))[:, feet]
    assert found.mean() < plain.mean()


def test_regions_come_before_the_background():
    codec = FkWavelet(step=0.005, roi="60:90")
    payload = codec.encode(WALK)
    part = codec.open(payload[: 2 * len(payload) // 3], WALK.header).partial()
    found = errors(WALK, part).mean(axis=1)
    assert found[65:85].mean() < 0.2 * found[:30].mean()
    assert found[65:85].mean() < 0.2 * found[120:].mean()


def test_weights_make_some_bones_finer():
    codec = FkWavelet(step=0.02, weights="LeftArm=0.1;LeftForeArm=0.1;LeftHand=0.1")
    sides = [WALK.skeleton.index(f"{side}Hand") for side in ("Left", "Right")]
    left, right = errors(WALK, round_trip(codec, WALK))[:, sides].mean(axis=0)
    assert left < right


def test_joints_with_few_axes_keep_to_them():
    clip = hard_clips()["joints with fewer axes"]
    back = round_trip(FkWavelet(step=0.001), clip)
    local = back.rotations[:, 1]
    axis = clip.skeleton.axes[1]
    turned = rotations.multiply(rotations.multiply(rotations.conjugate(axis), local), axis)
    assert np.abs(turned[:, 1:3]).max() < 1e-12


def test_full_turns_are_smooth_signals():
    clip = turn(3.0, turns=4)
    still_size = len(FkWavelet(step=0.005).encode(turn(3.0, turns=0)))
    assert len(FkWavelet(step=0.005).encode(clip)) < 4 * still_size


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"roi": "60"}, "first:stop;first:stop '60'"),
        ({"roi": "contacts", "roi_joints": "Nose"}, "'Nose' Hips"),
        ({"weights": "Head"}, "joint=factor 0.001..1000 'Head'"),
        ({"weights": "Head=0"}, "joint=factor 0.001..1000 'Head=0'"),
    ],
)
def test_texts_that_make_no_sense_are_refused(params, named):
    with pytest.raises(UsageError, match=naming(named)):
        FkWavelet(**params).encode(WALK)


@pytest.mark.parametrize(
    "wrong", [{"step": 0}, {"levels": 40}, {"roi_bits": 17}, {"twist": 1}, {"twist_scale": 0}]
)
def test_impossible_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        FkWavelet(**wrong)


def bends(clip, names):
    return rotations.as_rotvec(clip.rotations[:, [clip.skeleton.index(n) for n in names]])


def test_elbows_and_knees_bend_no_further_than_they_did():
    hinges = ("LeftForeArm", "RightForeArm", "LeftLeg", "RightLeg")
    true = bends(WALK, hinges)
    codec = FkWavelet(step=0.2, ranges="auto")
    low, high = true.min(axis=0) - 1e-6, true.max(axis=0) + 1e-6
    free, kept = (bends(round_trip(c, WALK), hinges) for c in (replace(codec, ranges=""), codec))
    assert ((free < low) | (free > high)).any()
    assert ((kept >= low) & (kept <= high)).all()


def test_ranges_are_of_named_joints_too_and_hardly_change_what_is_inside():
    codec = FkWavelet(step=0.001, ranges="LeftForeArm")
    plain = errors(WALK, round_trip(FkWavelet(step=0.001), WALK)).mean()
    assert errors(WALK, round_trip(codec, WALK)).mean() < 1.05 * plain
    with pytest.raises(UsageError, match="Tail"):
        FkWavelet(ranges="Tail").encode(WALK)
