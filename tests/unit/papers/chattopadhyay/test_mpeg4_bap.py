"""The MPEG-4 baseline: integers, I and P frames, dropped frames, and exact floats."""

from dataclasses import replace

import numpy as np
import pytest

from mocpack.codecs.registry import parse_codec
from mocpack.coding.fields import FieldReader
from mocpack.coding.planes import decode_plane
from mocpack.errors import CorruptionError, UnsupportedClipError, UsageError
from mocpack.model.clip import Clip
from mocpack.model.dofs import from_channels, to_dofs
from mocpack.papers.chattopadhyay.codec.byte_planes import decode_bytes, encode_bytes
from mocpack.papers.chattopadhyay.codec.mpeg4_bap import Mpeg4Bap, kept_frames
from mocpack.papers.chattopadhyay.codec.units import integer_units
from mocpack.testing import CODEC_CHECKS, walk
from mocpack.testing.contract import check_windows_match_full_decode
from mocpack.testing.motions import chain
from naming import naming

WALK = walk(1.0, frame_rate=60, seed=4)


def decoded_matrix(codec, clip):
    payload = codec.encode(clip)
    return codec.decode_matrix(lambda at, size: payload[at : at + size], clip.header)


def test_integers_are_counted_in_millimeters_and_hundred_thousandths_of_a_radian():
    units = integer_units(WALK.skeleton, 1.0)
    row = np.zeros(WALK.skeleton.channel_count)
    row[0], row[3] = 0.0124, -0.0064  # 12.4 mm, -640 units of 1e-5 radian
    integers = units.quantize(row[np.newaxis])[0]
    assert (integers[0], integers[3]) == (12, -5)
    assert units.restore(integers)[[0, 3]] == pytest.approx([0.012, -0.0064])


def test_steps_stay_whole_units():
    fine = integer_units(WALK.skeleton, 0.004)
    coarse = integer_units(WALK.skeleton, 2.6)
    assert fine.steps[[0, 3]].tolist() == [1, 1]
    assert coarse.steps[[0, 3]].tolist() == [3, 333]


@pytest.mark.parametrize("quant", [0.1, 1.0, 7.0])
def test_every_value_round_trips_within_half_a_step_and_half_a_unit(quant):
    units = integer_units(WALK.skeleton, quant)
    strayed = np.abs(decoded_matrix(Mpeg4Bap(quant=quant), WALK) - to_dofs(WALK))
    assert (strayed <= (0.5 * units.steps + 0.5) * units.units * (1 + 1e-9)).all()


def test_an_i_frame_holds_values_and_p_frames_hold_changes():
    payload = Mpeg4Bap(intra=7).encode(WALK)
    groups = -(-60 // 7)
    sizes = np.frombuffer(payload[: 4 * groups], "<u4")
    assert 4 * groups + sizes.sum() == len(payload)
    read = FieldReader(payload[4 * groups :][: sizes[0]])
    columns = WALK.skeleton.channel_count
    intra = decode_plane(read.sized(), 1, columns)
    predicted = decode_plane(read.rest(), 6, columns)
    targets = integer_units(WALK.skeleton, 1.0).quantize(to_dofs(WALK)[:7])
    assert np.array_equal(intra, targets[:1])
    assert np.array_equal(predicted, np.diff(targets, axis=0))


@pytest.mark.parametrize("intra", [1, 7, 59, 60, 1000])
def test_i_frames_change_the_bytes_and_nothing_else(intra):
    assert np.array_equal(
        decoded_matrix(Mpeg4Bap(intra=intra), WALK), decoded_matrix(Mpeg4Bap(), WALK)
    )


def test_the_last_frame_is_always_kept():
    assert kept_frames(10, 3).tolist() == [0, 3, 6, 9]
    assert kept_frames(9, 3).tolist() == [0, 3, 6, 8]
    assert kept_frames(1, 3).tolist() == [0]


def test_dropped_frames_are_filled_by_a_line_or_by_the_frame_before():
    whole = decoded_matrix(Mpeg4Bap(), WALK)
    line = decoded_matrix(Mpeg4Bap(keep=4), WALK)
    held = decoded_matrix(Mpeg4Bap(keep=4, fill="hold"), WALK)
    assert np.array_equal(line[::4], whole[::4])
    assert line[5] == pytest.approx(0.75 * whole[4] + 0.25 * whole[8])
    assert np.array_equal(held[5:8], whole[[4, 4, 4]])
    assert np.array_equal(line[-1], whole[-1])
    assert line[58] == pytest.approx((whole[56] + 2 * whole[59]) / 3)


def test_dropping_frames_makes_the_payload_smaller():
    assert len(Mpeg4Bap(keep=4).encode(WALK)) < 0.6 * len(Mpeg4Bap().encode(WALK))


def test_sparsing_strays_at_most_by_mean_and_threshold():
    units = integer_units(WALK.skeleton, 1.0)
    targets = units.quantize(to_dofs(WALK))
    found = np.rint(decoded_matrix(Mpeg4Bap(K=0.2), WALK) / (units.steps * units.units))
    changes = np.diff(targets, axis=0)
    bound = np.abs(changes.mean(0)) + 0.2 * 5 * changes.std(0)
    strayed = np.abs(found - targets)
    assert (strayed <= bound).all()
    assert strayed.max() > 0
    assert len(Mpeg4Bap(K=0.2).encode(WALK)) < len(Mpeg4Bap().encode(WALK))


def test_lossless_gives_back_float32_of_the_sources_own_numbers():
    rng = np.random.default_rng(8)
    numbers = rng.normal(size=(20, WALK.skeleton.channel_count)) * 100
    numbers[3] = -0.0
    numbers[4:7] = 179.9
    clip = from_channels(numbers, replace(WALK.header, frame_count=20))
    for intra in (0, 6):
        codec = Mpeg4Bap(lossless=True, intra=intra)
        back = codec.decode(codec.encode(clip), clip.header)
        expected = numbers.astype(np.float32)
        assert np.array_equal(
            back.channels.astype(np.float32).view(np.uint32), expected.view(np.uint32)
        )


def test_order_zero_bytes_cost_their_entropy():
    rng = np.random.default_rng(1)
    fair = rng.integers(0, 256, (4000, 1))
    skewed = rng.choice([3, 200], (4000, 1), p=[0.9, 0.1])
    assert len(encode_bytes(fair, [0])) < 4000 * 1.05
    assert len(encode_bytes(skewed, [0])) < 4000 * 0.47 / 8 * 1.6  # and the cost of learning
    both = np.concatenate([fair, skewed], axis=1)
    assert np.array_equal(decode_bytes(encode_bytes(both, [0, 1]), 4000, [0, 1]), both)


def test_more_rows_than_bytes_can_hold_are_refused():
    with pytest.raises(CorruptionError, match=naming("2 1000000000")):
        decode_bytes(b"\0\0", 10**9, [0])


def test_a_clip_beyond_the_integers_is_refused():
    clip = chain(1, 3)
    far = Clip(clip.header, clip.rotations, clip.translations + 5e6)
    with pytest.raises(UnsupportedClipError, match="2\\^30 steps"):
        Mpeg4Bap().encode(far)
    back = Mpeg4Bap(quant=16).decode(Mpeg4Bap(quant=16).encode(far), far.header)
    assert back.translations == pytest.approx(far.translations, abs=0.0081)


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("mpeg4-bap:quant=0", "quant 0 1e6 0.0"),
        ("mpeg4-bap:keep=0", "keep 1 0"),
        ("mpeg4-bap:intra=2.5", "intra 2.5"),
        ("mpeg4-bap:fill=cubic", "fill linear hold 'cubic'"),
        ("mpeg4-bap:K=-1", "K 0..1000000 -1.0"),
        ("mpeg4-bap:lossless=true,keep=2", "lossless keep 1 K 0"),
    ],
)
def test_impossible_parameters_are_refused_with_a_clear_error(spec, named):
    with pytest.raises(UsageError, match=naming(named)):
        parse_codec(spec)


@pytest.mark.parametrize(
    "check", [*CODEC_CHECKS, check_windows_match_full_decode], ids=lambda c: c.__name__
)
@pytest.mark.parametrize(
    "codec", [Mpeg4Bap(lossless=True, intra=2), Mpeg4Bap(keep=2, intra=1, K=0.1)], ids=repr
)
def test_variants_keep_the_contract(codec, check):
    check(codec, WALK.frames(0, 5))
