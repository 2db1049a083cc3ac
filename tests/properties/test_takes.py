"""Everything that a take can hold is restored from its file, exactly or within its bound."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import mocpack
from mocpack import _core
from mocpack.coding.fields import FieldWriter
from mocpack.common.source import open_source
from mocpack.container import FileContents, Reader, pack, pack_take_data
from mocpack.container.numbers import pack_numbers, pack_short
from mocpack.errors import FormatError, UnsupportedClipError
from mocpack.model.clip import ClipHeader
from mocpack.model.codec_clip import drop_take_data, restore_take_data
from mocpack.model.skeleton import Skeleton
from mocpack.model.take_data import TakeData, Track
from mocpack.testing.contract import fix_checksums
from strategies import takes, times, tracks

ANY_FLOATS = st.floats(allow_nan=False, allow_infinity=False)
MATRICES = st.tuples(st.integers(0, 9), st.integers(1, 5)).flatmap(
    lambda shape: arrays(
        np.float64,
        shape,
        elements=ANY_FLOATS | st.floats(width=32, allow_nan=False, allow_infinity=False)
        | st.integers(-(10**9), 10**9).map(lambda n: n / 1000),
    )
)  # fmt: skip


def read_back(take_data, frames=1, joints=1):
    """Return the take that is read from its file."""
    skeleton = Skeleton.from_point_names([""] * joints)
    header = ClipHeader(skeleton, frames, 1 / 30, tuple(range(joints)))
    if take_data.times is not None:
        header = replace(header, start_time=float(take_data.times[0]))
    file = pack(FileContents(header, "take", 1, {}, b"", chunks=pack_take_data(header, take_data)))
    return Reader(open_source(file)).take_data


@given(st.text(max_size=8), tracks())
def test_a_track_round_trips_within_its_bound(name, track):
    ((came, found),) = read_back(TakeData(tracks={name: track})).tracks.items()
    assert came == name
    assert found.has_same_layout(track)
    assert track.error(found) <= track.bound
    if not track.bound:
        assert found == track


@given(MATRICES)
def test_exact_numbers_round_trip_bit_for_bit(values):
    came = np.asarray(_core.read_numbers(pack_numbers(values), *values.shape))
    np.testing.assert_array_equal(came.view(np.uint64), values.view(np.uint64))
    simple = np.asarray(_core.read_numbers(pack_numbers(values, simple=True), *values.shape))
    np.testing.assert_array_equal(simple.view(np.uint64), values.view(np.uint64))


@given(arrays(np.bool_, st.tuples(st.integers(1, 30), st.integers(1, 6))))
def test_gaps_round_trip_exactly(valid):
    found = read_back(TakeData(valid=valid), *valid.shape).valid
    np.testing.assert_array_equal(np.ones_like(valid) if found is None else found, valid)


@given(st.integers(1, 20).flatmap(times))
def test_times_round_trip_bit_for_bit(seconds):
    came = read_back(TakeData(times=seconds), len(seconds)).times
    np.testing.assert_array_equal(came, seconds)


@given(takes())
def test_a_plain_clip_dressed_again_is_the_clip(clip):
    try:
        bare = drop_take_data(clip)
    except UnsupportedClipError:  # scales that make it larger than any codec takes
        return
    assert len(bare.skeleton.roots) == 1
    assert not bare.header.is_scaled
    back = restore_take_data(bare, clip.header, clip.take_data)
    assert back.header == clip.header
    assert back.take_data == clip.take_data
    np.testing.assert_array_equal(back.rotations, clip.rotations)
    # scales are powers of two, so that only numbers near the smallest double are rounded
    np.testing.assert_allclose(back.translations, clip.translations, rtol=0, atol=1e-300)


@given(takes(), st.data())
def test_angles_on_any_hinges_round_trip_from_the_pose(clip, data):
    hinges = clip.skeleton.hinges
    if hinges is None:
        return
    lowest, highest = np.clip(hinges.limits, -3.1, 3.1).T
    share = data.draw(arrays(np.float64, (1, len(hinges)), elements=st.floats(0, 1)))
    angles = lowest + share * (highest - lowest)
    found = mocpack.Clip.from_angles(clip.skeleton, angles).hinge_angles()
    np.testing.assert_allclose(found.angles, angles, atol=1e-9)
    assert found.off_axis.max() < 1e-7


@given(takes())
def test_a_take_round_trips_from_a_lossless_file(clip):
    try:
        back = mocpack.decode(mocpack.encode(clip, "lossless"))
    except UnsupportedClipError:
        return
    assert back.header == clip.header
    np.testing.assert_array_equal(back.times, clip.times)
    np.testing.assert_array_equal(back.scales, clip.scales)
    np.testing.assert_array_equal(back.valid, clip.valid)
    np.testing.assert_array_equal(back.rotations, clip.rotations)
    np.testing.assert_array_equal(back.positions(), clip.positions())
    assert all(t.error(back.tracks[name]) <= t.bound for name, t in clip.tracks.items())


@given(takes(), st.integers(0, 10**6), st.integers(0, 7))
def test_a_bit_flipped_beside_the_poses_is_a_format_error_or_a_clip(clip, at, bit):
    data = bytearray(mocpack.encode(clip, "raw")) if _codable(clip) else bytearray(b"\x93MOC\x01")
    data[at % len(data)] ^= 1 << bit
    try:
        mocpack.decode(fix_checksums(bytes(data)))
    except (FormatError, mocpack.errors.UnknownCodecError, mocpack.errors.MemoryLimitError):
        return


def _codable(clip):
    try:
        mocpack.encode(clip, "raw")
    except UnsupportedClipError:
        return False
    return True


@given(
    st.one_of(
        st.floats(-1e9, 1e9, exclude_min=True, exclude_max=True).filter(bool),
        st.integers(1, 10**6).map(lambda n: n / 1000),
        st.integers(1, 4000).map(lambda n: 1 / n),
    )
)
def test_a_short_number_round_trips_bit_for_bit(value):
    track = Track("scalar", np.zeros(2), start=value)
    assert read_back(TakeData(tracks={"": track})).tracks[""].start == value


@pytest.mark.parametrize(
    ("value", "size"),
    [(0.002, 2), (1 / 60, 1), (1 / 223, 1), (1 / 240, 3), (-0.5, 2), (-2.5, 2), (np.pi, 9)],
)
def test_a_number_of_few_digits_takes_few_bytes(value, size):
    out = FieldWriter()
    pack_short(out, value)
    assert len(out.bytes()) == size
