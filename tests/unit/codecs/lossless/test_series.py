import zlib

import numpy as np
import pytest

from decode_series import decode_series
from mocpack.codecs.lossless.relations import column_groups
from mocpack.codecs.lossless.series import (
    NOISY_FORECAST,
    SMOOTH_FORECAST,
    ColumnGroup,
    encode_series,
    select_features,
)
from mocpack.errors import CorruptionError, FormatError, TruncatedError
from mocpack.model.mirroring import find_mirrored_joints
from mocpack.testing.motions import humanoid
from naming import naming
from reference.keysine_grid import QUICK
from reference.range_decoder import RangeDecoder
from reference.series import SeriesDecoder


def singles(columns):
    return [ColumnGroup((c,)) for c in range(columns)]


def there_and_back(values, groups=None):
    groups = groups or singles(values.shape[1])
    data = encode_series(values, groups)
    return data, decode_series(data, *values.shape, groups)


@pytest.mark.parametrize("shape", [(0, 1), (1, 1), (1, 5), (2, 3), (200, 7)])
def test_noise_round_trips(shape):
    values = np.random.default_rng(0).integers(-1000, 1000, shape)
    assert np.array_equal(there_and_back(values)[1], values)


@pytest.mark.parametrize("forecast", [NOISY_FORECAST, QUICK, SMOOTH_FORECAST])
@pytest.mark.parametrize("sizes", [(), (300, 40, 9000)])
def test_the_readable_decoder_gives_the_same_numbers(forecast, sizes):
    rng = np.random.default_rng(5)
    curve = 900 * np.sin(np.arange(60)[:, None] / [5.0, 9.0, 14.0])
    values = np.rint(curve + rng.normal(scale=(1, 0.2, 30), size=curve.shape)).astype(int)
    values[30, 1] += 100_000  # escapes
    groups = [ColumnGroup((0, 1)), ColumnGroup((2,), parent=0)]
    data = encode_series(values, groups, forecast, sizes=sizes)
    features = select_features(3, groups, forecast)
    decoder = SeriesDecoder(RangeDecoder(data).decode, features, forecast, sizes)
    assert decoder.rows(60) == values.tolist()


def test_the_largest_jumps_round_trip():
    values = np.random.default_rng(1).choice([-(2**30), 0, 2**30], (300, 4))
    assert np.array_equal(there_and_back(values)[1], values)


def test_larger_numbers_are_refused():
    with pytest.raises(ValueError, match=r"within ±2\^30"):
        encode_series(np.array([[2**30 + 1]]), singles(1))


def test_a_smooth_curve_of_sixteen_bits_costs_about_three_a_number():
    t = np.linspace(0, 30, 1000)[:, None]
    smooth = np.rint(30000 * np.sin(t * [1.0, 1.3, 1.7])).astype(np.int64)
    data, back = there_and_back(smooth)
    assert np.array_equal(back, smooth)
    assert len(data) < smooth.size * 3.2 / 8


def test_a_column_that_follows_another_is_nearly_free():
    leader = np.random.default_rng(2).normal(0, 300, 800).cumsum()
    pair = np.rint(np.stack([leader, 0.5 * leader], 1)).astype(np.int64)
    together, back = there_and_back(pair, [ColumnGroup((0, 1))])
    assert np.array_equal(back, pair)
    assert len(together) < 0.65 * len(encode_series(pair, singles(2)))


def test_a_still_series_costs_next_to_nothing():
    assert len(encode_series(np.full((5000, 1), 7), singles(1))) < 40


@pytest.mark.parametrize("forecast", [NOISY_FORECAST, QUICK, SMOOTH_FORECAST])
def test_every_forecast_gives_the_series_back(forecast):
    values = np.random.default_rng(8).integers(-9, 9, (150, 6)).cumsum(axis=0)
    groups = [ColumnGroup((0, 1, 2)), ColumnGroup((3, 4, 5), parent=0, mirrored=0)]
    data = encode_series(values, groups, forecast)
    assert np.array_equal(decode_series(data, 150, 6, groups, forecast), values)


def test_a_short_series_with_known_sizes_is_smaller():
    values = np.random.default_rng(9).integers(-3, 4, (12, 20)).cumsum(axis=0)
    told = encode_series(values, singles(20), sizes=[2 * 256] * 20)
    assert len(told) < len(encode_series(values, singles(20)))
    assert np.array_equal(decode_series(told, 12, 20, singles(20), sizes=[512] * 20), values)


def test_two_encodings_are_equal():
    values = np.random.default_rng(4).integers(-99, 99, (100, 3)).cumsum(axis=0)
    assert encode_series(values, singles(3)) == encode_series(values, singles(3))


def test_the_bits_never_change():
    values = np.random.default_rng(7).integers(-99, 100, (300, 6)).cumsum(axis=0)
    values[:, 3] = values[:, 0] * 3 // 2
    groups = [
        ColumnGroup((0, 1, 2)),
        ColumnGroup((3, 4), parent=0, mirrored=2),
        ColumnGroup((5,), parent=1, grandparent=0, mirrored=1),
    ]
    data = encode_series(values, groups)
    assert (len(data), zlib.crc32(data)) == (1617, 4259618627)


def test_every_cut_is_a_truncated_error():
    values = np.random.default_rng(5).integers(-99, 99, (40, 3))
    data = encode_series(values, singles(3))
    for end in range(len(data) - 4):
        with pytest.raises(TruncatedError):
            decode_series(data[:end], 40, 3, singles(3))


def test_random_bytes_give_a_format_error_or_integers():
    rng = np.random.default_rng(6)
    for _ in range(200):
        junk = rng.integers(0, 256, rng.integers(0, 60), np.uint8).tobytes()
        try:
            assert decode_series(junk, 30, 2, singles(2)).shape == (30, 2)
        except FormatError:
            continue


def test_more_rows_than_bytes_can_hold_are_refused():
    with pytest.raises(CorruptionError, match=naming("3 1000000000")):
        decode_series(b"abc", 10**9, 3, singles(3))


def test_the_other_side_is_found_by_name():
    names = ["Hips", "LeftArm", "RightArm", "l_hand", "r_hand", "Toe.L", "Toe.R", "Left"]
    assert find_mirrored_joints(names) == [-1, 2, 1, 4, 3, 6, 5, -1]


def test_columns_are_grouped_by_joint_and_related_along_the_skeleton():
    skeleton = humanoid()
    arm, other = skeleton.index("LeftArm"), skeleton.index("RightArm")
    owners = [(0, True), (0, True), (0, False), (arm, False), (arm, False), (other, False)]
    groups = column_groups(skeleton, owners)
    assert [g.columns for g in groups] == [(0, 1), (2,), (3, 4), (5,)]
    # chest and shoulder have no columns here, so the arm hangs from the root
    assert groups[2] == ColumnGroup((3, 4), parent=1, grandparent=0, mirrored=3)
    assert groups[0].parent == -1
