import numpy as np
import pytest

import mocpack
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.errors import CorruptionError, UnsupportedClipError, UsageError
from mocpack.metrics import measure
from mocpack.model.dofs import to_dofs
from mocpack.papers.beaudoin.codec.wavelet_ik import WaveletIk
from mocpack.papers.beaudoin.codec.wavelet_opt import WaveletOpt
from mocpack.testing import walk
from mocpack.testing.motions import chain
from naming import naming


def round_trip(codec, clip):
    payload = codec.encode(clip)
    return len(payload), codec.decode(payload, clip.header)


def foot_error(clip, back, names=("LeftFoot", "RightFoot")):
    feet = [clip.skeleton.index(name) for name in names]
    return np.linalg.norm(clip.positions()[:, feet] - back.positions()[:, feet], axis=-1)


@pytest.mark.parametrize("ik", ["ccd", "analytic"])
def test_the_feet_are_put_back(ik):
    clip = walk(2.0)
    _, coarse = round_trip(WaveletOpt(ratio=30), clip)
    _, found = round_trip(WaveletIk(ratio=30, ik_ratio=4, ik=ik), clip)
    assert foot_error(clip, found).mean() < 0.35 * foot_error(clip, coarse).mean()


def test_all_shifts_put_the_feet_to_their_places():
    clip = walk(2.0)
    _, found = round_trip(WaveletIk(ratio=20, ik_ratio=1, ik="analytic"), clip)
    assert np.percentile(foot_error(clip, found), 90) < 1e-4


def test_toes_can_be_named():
    clip = walk(2.0)
    toes = ("LeftToe", "RightToe")
    _, coarse = round_trip(WaveletOpt(ratio=30), clip)
    _, found = round_trip(WaveletIk(ratio=30, ik_ratio=4, feet="LeftToe+RightToe", chain=3), clip)
    assert foot_error(clip, found, toes).mean() < 0.5 * foot_error(clip, coarse, toes).mean()


def test_decoding_twice_gives_the_same_bits():
    clip = walk(1.0)
    codec = WaveletIk()
    payload = codec.encode(clip)
    a, b = (codec.decode(payload, clip.header) for _ in range(2))
    np.testing.assert_array_equal(a.rotations, b.rotations)


def test_a_skeleton_without_legs_is_refused_with_a_clear_error():
    with pytest.raises(UnsupportedClipError, match=naming("wavelet-ik feet=NAME+NAME")):
        WaveletIk().encode(chain(5, 10))


def test_an_unknown_foot_is_an_error_that_lists_the_joints():
    with pytest.raises(UsageError, match=naming("'Paw' Hips")):
        WaveletIk(feet="LeftFoot+Paw").encode(walk(0.2))


def test_a_foot_too_near_to_the_root_is_refused():
    with pytest.raises(UnsupportedClipError, match=naming("'Spine' 0 2")):
        WaveletIk(feet="Spine+LeftFoot").encode(walk(0.2))


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("wavelet-ik:ratio=0.9", "ratio 1 0.9"),
        ("wavelet-ik:ik_ratio=0", "ik_ratio 1 0"),
        ("wavelet-ik:chain=0", "chain 1..8 0"),
        ("wavelet-ik:ik=magic", "ik ccd analytic 'magic'"),
    ],
)
def test_impossible_parameters_give_a_clear_error(spec, named):
    with pytest.raises(UsageError, match=naming(named)):
        mocpack.parse_codec(spec)


def test_a_payload_for_another_skeleton_is_corruption():
    clip = walk(0.3)
    payload = WaveletIk().encode(clip)
    with pytest.raises(CorruptionError, match=naming("wavelet-ik feet=NAME+NAME")):
        WaveletIk().decode(payload, chain(5, clip.frame_count).header)


def test_hinges_of_an_asf_skeleton_stay_hinges():
    clip = load_clip("asfamc/02_01", COMMITTED)
    for ik in ("ccd", "analytic"):
        _, back = round_trip(WaveletIk(ik=ik), clip)
        to_dofs(back)  # refuses joints that turn about other axes than their own


def test_feet_slide_less_at_the_size_of_the_optimized_codec():
    clip = load_clip("cmu/02_01", COMMITTED).frames(1, 344)
    size, corrected = round_trip(WaveletIk(), clip)
    larger, plain = round_trip(WaveletOpt(ratio=25), clip)
    assert size <= larger
    skate = [measure("foot_skate_cm_s", clip, c) for c in (corrected, plain)]
    assert skate[0] < 0.6 * skate[1]


ALL_OF_THE_FEET = "LeftFoot+RightFoot+LeftToeBase+RightToeBase"


def test_ankles_and_toes_of_a_real_jump_are_put_back_together():
    clip = load_clip("cmu/49_02", COMMITTED).frames(1, 241)
    names = ALL_OF_THE_FEET.split("+")
    _, coarse = round_trip(WaveletOpt(ratio=30), clip)
    _, found = round_trip(WaveletIk(ratio=30, ik_ratio=1, feet=ALL_OF_THE_FEET), clip)
    assert foot_error(clip, coarse, names).mean() > 2e-3
    assert foot_error(clip, found, names).max() < 2e-4


def test_feet_that_share_joints_are_no_task_for_the_closed_form():
    codec = WaveletIk(ik="analytic", feet="LeftFoot+LeftToe")
    with pytest.raises(UnsupportedClipError, match=naming("'LeftFoot' 'LeftToe' 'LeftLeg' ik=ccd")):
        codec.encode(walk(0.2))


@pytest.mark.parametrize("joint", ["LeftHand", "LeftToe", "RightUpLeg"])
def test_some_joints_are_as_in_the_whole_whether_corrected_or_not(joint):
    clip = walk(1.0)
    codec = WaveletIk(ik_ratio=4)
    payload = codec.encode(clip)
    index = clip.skeleton.index(joint)
    whole = codec.decode(payload, clip.header).joints([index])
    part = codec.open(payload, clip.header).frames(0, clip.frame_count, [index])
    assert part.header == whole.header
    np.testing.assert_allclose(part.rotations, whole.rotations, atol=1e-12)
