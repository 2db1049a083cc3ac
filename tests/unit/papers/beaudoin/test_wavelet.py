from dataclasses import replace

import numpy as np
import pytest

import mocpack
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.errors import UsageError
from mocpack.metrics import measure
from mocpack.papers.beaudoin.codec.signals import ROTATIONS
from mocpack.papers.beaudoin.codec.wavelet import Wavelet
from mocpack.papers.beaudoin.codec.wavelet_opt import WaveletOpt
from mocpack.testing import hard_clips, turn, walk
from naming import naming


def round_trip(codec, clip):
    payload = codec.encode(clip)
    return len(payload), codec.decode(payload, clip.header)


@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("update", ["4-4", "4-2", "none"])
def test_a_ratio_of_one_is_exact_to_sixteen_bits(rotation, update):
    clip = walk(1.0)
    codec = Wavelet(ratio=1, rotation=rotation, update=update)
    _, back = round_trip(codec, clip)
    assert measure("eps_x_cm", clip, back) < 0.01


def test_a_higher_ratio_costs_less_and_errs_more():
    clip = walk(2.0)
    found = [round_trip(Wavelet(ratio=r), clip) for r in (1.0, 3.0, 10.0, 30.0)]
    sizes = [size for size, _ in found]
    errors = [measure("eps_x_cm", clip, back) for _, back in found]
    assert sizes == sorted(sizes, reverse=True)
    assert errors == sorted(errors)


def test_fewer_bits_are_smaller_and_auto_costs_two_percent_of_error():
    clip = walk(2.0)
    full, auto = (round_trip(Wavelet(ratio=8, bits=bits), clip) for bits in (16, "auto"))
    assert auto[0] < full[0]
    errors = [measure("eps_x_cm", clip, back) for _, back in (full, auto)]
    assert errors[1] < 1.021 * errors[0]


@pytest.mark.parametrize("codec", [Wavelet(), WaveletOpt(ratio=8), Wavelet(deflate=False)], ids=str)
@pytest.mark.parametrize("rotation", ROTATIONS)
def test_some_joints_of_a_real_clip_are_as_in_the_whole(codec, rotation):
    clip = load_clip("cmu/09_01", COMMITTED).frames(1, 61)
    codec = replace(codec, rotation=rotation)
    data = mocpack.encode(clip, codec)
    whole = mocpack.decode(data)
    names = ["LeftHand", "RightToeBase"]
    with mocpack.open(data) as motion:
        part = motion.frames(10, 30, joints=names)
    expected = whole.frames(10, 30).joints([clip.skeleton.index(name) for name in names])
    assert part.skeleton.names == expected.skeleton.names
    np.testing.assert_allclose(part.rotations, expected.rotations, atol=1e-12)
    np.testing.assert_allclose(part.translations, expected.translations, atol=1e-12)


def test_several_full_turns_stay_continuous():
    clip = turn(3.0, turns=5)
    _, back = round_trip(Wavelet(ratio=4), clip)
    assert measure("max_joint_mm", clip, back) < 40


def test_a_still_clip_costs_no_more_for_more_frames():
    still = hard_clips()["still"]
    rotations = np.tile(still.rotations[:1], (500, 1, 1))
    translations = np.tile(still.translations[:1], (500, 1, 1))
    longer = mocpack.Clip.build(still.skeleton, rotations, translations)
    assert len(Wavelet().encode(longer)) == len(Wavelet().encode(still))


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("wavelet:ratio=0.5", "ratio 1 0.5"),
        ("wavelet:rotation=matrix", "rotation euler quaternion rotvec 'matrix'"),
        ("wavelet:update=2-2", "update none 4-2 4-4 '2-2'"),
        ("wavelet:bits=20", "bits 4..16 20"),
    ],
)
def test_impossible_parameters_give_a_clear_error(spec, named):
    with pytest.raises(UsageError, match=naming(named)):
        mocpack.parse_codec(spec)


def test_the_rate_search_finds_the_error_requested():
    clip = walk(1.0)
    data = mocpack.encode(clip, "wavelet", max_error="5mm")
    assert measure("max_error_mm", clip, mocpack.decode(data)) <= 5


def test_jumping_is_within_a_quarter_of_the_paper():
    clip = load_clip("cmu/49_02", COMMITTED).frames(1, 2086)
    size, back = round_trip(Wavelet(ratio=13), clip)  # the paper: 24.8 KB at 0.45 cm
    assert measure("eps_x_cm", clip, back) == pytest.approx(0.45, rel=0.05)
    assert size == pytest.approx(24.8 * 1024, rel=0.25)
