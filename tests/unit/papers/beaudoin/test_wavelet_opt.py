import pytest

import mocpack
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.errors import UsageError
from mocpack.metrics import measure
from mocpack.papers.beaudoin.codec.signals import ROTATIONS
from mocpack.papers.beaudoin.codec.wavelet import Wavelet
from mocpack.papers.beaudoin.codec.wavelet_opt import WaveletOpt
from mocpack.testing import jump, turn, walk
from mocpack.testing.motions import chain
from naming import naming

MOTIONS = {"walk": walk(1.5), "jump": jump(1.5), "turn": turn(1.5), "chain": chain(8, 60)}


def round_trip(codec, clip):
    payload = codec.encode(clip)
    return len(payload), codec.decode(payload, clip.header)


@pytest.mark.parametrize("search", ["fast", "exact"])
@pytest.mark.parametrize("name", MOTIONS)
def test_optimized_is_never_worse_than_standard(name, search):
    clip = MOTIONS[name]
    for ratio in (4.0, 15.0):
        _, standard = round_trip(Wavelet(ratio=ratio, bits=16), clip)
        _, found = round_trip(WaveletOpt(ratio=ratio, bits=16, search=search), clip)
        assert measure("eps_x_cm", clip, found) <= measure("eps_x_cm", clip, standard)


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_every_representation_can_be_searched(rotation):
    clip = walk(1.0)
    standard = round_trip(Wavelet(ratio=10, rotation=rotation), clip)[1]
    found = round_trip(WaveletOpt(ratio=10, rotation=rotation), clip)[1]
    assert measure("eps_x_cm", clip, found) < measure("eps_x_cm", clip, standard)


@pytest.mark.parametrize("metric", ["rms_mm", "eps_x_center_cm"])
def test_the_metric_requested_is_the_one_that_falls(metric):
    clip = walk(0.4)
    standard = round_trip(Wavelet(ratio=8, bits=16), clip)[1]
    found = round_trip(WaveletOpt(ratio=8, bits=16, metric=metric), clip)[1]
    assert measure(metric, clip, found) < measure(metric, clip, standard)


def test_equal_seeds_give_equal_bytes():
    clip = walk(0.5)
    made = [WaveletOpt(search="exact", seed=seed).encode(clip) for seed in (1, 1, 2)]
    assert made[0] == made[1]
    assert made[0] != made[2]


def test_its_payload_is_that_of_the_standard_codec():
    clip = walk(0.5)
    payload = WaveletOpt(ratio=5).encode(clip)
    a = WaveletOpt().decode(payload, clip.header)
    b = Wavelet().decode(payload, clip.header)
    assert (a.rotations == b.rotations).all()


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("wavelet-opt:ratio=0", "ratio 1 0"),
        ("wavelet-opt:metric=beauty", "metric eps_x_cm eps_x_center_cm rms_mm 'beauty'"),
        ("wavelet-opt:search=lucky", "search fast exact 'lucky'"),
        ("wavelet-opt:patience=0", "patience 1 0"),
    ],
)
def test_impossible_parameters_give_a_clear_error(spec, named):
    with pytest.raises(UsageError, match=naming(named)):
        mocpack.parse_codec(spec)


@pytest.mark.parametrize(
    ("name", "frames", "ratio", "eps_x", "kilobytes"),
    [("09_01", 148, 16.5, 0.58, 1.24), ("49_02", 2085, 21.5, 0.45, 13.5)],
)
def test_real_clips_are_within_a_quarter_of_the_paper(name, frames, ratio, eps_x, kilobytes):
    clip = load_clip(f"cmu/{name}", COMMITTED).frames(1, frames + 1)
    size, back = round_trip(WaveletOpt(ratio=ratio), clip)
    assert measure("eps_x_cm", clip, back) <= eps_x
    assert size < 1.25 * kilobytes * 1024
