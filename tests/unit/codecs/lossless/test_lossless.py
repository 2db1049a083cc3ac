import lzma

import numpy as np
import pytest

import mocpack
from mocpack.bench.datasets import CHECKOUT, COMMITTED, load_clip
from mocpack.codecs.lossless import codec
from mocpack.codecs.lossless.codec import Lossless
from mocpack.coding.fields import FieldWriter, deflate
from mocpack.errors import FormatError, MemoryLimitError, TruncatedError
from mocpack.io import write_bytes
from mocpack.model.clip import Clip, ClipHeader
from mocpack.model.dofs import from_channels
from mocpack.model.skeleton import DEFAULT_ROOT, Skeleton
from mocpack.testing.motions import hard_clips, vertex_wave, walk

ORIGINALS = CHECKOUT / "tests" / "originals"
TWO = Skeleton(("Hips", "LeftLeg"), (-1, 0), [[0, 0, 0], [0, 1, 0]])  # 6 and 3 channels


def clip_of(numbers, skeleton=TWO):
    header = ClipHeader(skeleton, len(numbers), 1 / 120, skeleton.translated_joints, 0.01)
    return from_channels(np.asarray(numbers, np.float64), header)


def there_and_back(clip):
    return Lossless().decode(Lossless().encode(clip), clip.header)


def same_bits(a, b):
    return np.array_equal(a.view(np.uint64), b.view(np.uint64))


def printed(values, form):
    return np.vectorize(lambda v: float(form % v))(values)


@pytest.mark.parametrize("form", ["%.4f", "%.6f", "%g", "%.3e", "%d", "%.17g"])
def test_channels_printed_in_any_way_round_trip_bit_for_bit(form):
    wild = np.random.default_rng(0).normal(0, 40, (60, 9)).cumsum(axis=0) / 7
    numbers = printed(wild, form)
    back = there_and_back(clip_of(numbers))
    assert same_bits(back.channels, numbers)


@pytest.mark.parametrize(
    "odd", [-1.6201e-014, 5e-324, -0.0, 1e-300, 1e300, -1.7e308, 179.99999999999997]
)
def test_one_odd_angle_among_decimals_round_trips_bit_for_bit(odd):
    numbers = np.round(np.random.default_rng(1).normal(0, 20, (50, 9)).cumsum(axis=0), 4)
    numbers[17, 7] = odd
    assert same_bits(there_and_back(clip_of(numbers)).channels, numbers)


def test_random_doubles_round_trip_bit_for_bit():
    numbers = np.random.default_rng(2).uniform(-180, 180, (40, 9))
    assert same_bits(there_and_back(clip_of(numbers)).channels, numbers)


def test_negative_zeros_round_trip_where_they_were_and_equal_columns_share():
    rng = np.random.default_rng(3)
    numbers = np.round(rng.normal(0, 20, (200, 9)).cumsum(axis=0), 4)
    plain = len(Lossless().encode(clip_of(numbers)))
    numbers[:, 6] = np.where(rng.random(200) < 0.5, 0.0, -0.0)
    numbers[:, 8] = numbers[:, 6]
    clip = clip_of(numbers)
    payload = Lossless().encode(clip)
    assert same_bits(Lossless().decode(payload, clip.header).channels, numbers)
    assert len(payload) < plain  # two columns of noise went, 200 signs came


def test_angles_that_jump_by_a_turn_cost_no_more_than_smooth_ones():
    smooth = np.round(np.linspace(0, 2000, 300), 2)[:, None] * np.ones(9)
    wrapped = smooth.copy()
    wrapped[:, 3:] = np.round((smooth[:, 3:] + 180) % 360 - 180, 2)
    payload = Lossless().encode(clip_of(wrapped))
    assert same_bits(Lossless().decode(payload, clip_of(wrapped).header).channels, wrapped)
    assert len(payload) <= len(Lossless().encode(clip_of(smooth))) + 20


def test_a_pose_put_before_the_motion_does_not_hurt():
    numbers = np.round(90 + np.random.default_rng(4).normal(0, 0.1, (200, 9)).cumsum(axis=0), 4)
    with_pose = np.concatenate([np.zeros((1, 9)), numbers])
    pose = clip_of(with_pose)
    payload = Lossless().encode(pose)
    assert same_bits(Lossless().decode(payload, pose.header).channels, with_pose)
    assert len(payload) <= len(Lossless().encode(clip_of(numbers))) + 24


@pytest.mark.parametrize("name", hard_clips())
def test_motion_without_channels_round_trips_bit_for_bit(name):
    clip = hard_clips()[name]
    bare = Clip(clip.header, clip.rotations, clip.translations)
    back = there_and_back(bare)
    assert back.channels is None
    assert same_bits(back.rotations, bare.rotations)
    assert same_bits(back.translations, bare.translations)


def test_channels_that_contradict_the_motion_round_trip_with_it():
    clip = walk(0.2)
    odd = Clip(clip.header, clip.rotations, clip.translations, np.ones((12, 66)))
    back = there_and_back(odd)
    assert same_bits(back.rotations, odd.rotations)
    assert same_bits(back.channels, odd.channels)


def test_vertices_round_trip_bit_for_bit():
    clip = vertex_wave()
    assert same_bits(there_and_back(clip).vertices, clip.vertices)


def test_a_still_clip_costs_no_more_for_more_frames():
    pose = np.round(np.random.default_rng(5).uniform(-90, 90, 9), 4)
    sizes = [len(Lossless().encode(clip_of(np.tile(pose, (n, 1))))) for n in (1, 1000)]
    assert sizes[0] == sizes[1]


def test_random_payloads_give_a_format_error_or_a_clip():
    rng = np.random.default_rng(6)
    header = clip_of(np.zeros((20, 9))).header
    for _ in range(300):
        junk = bytes([1, 0, 0, *rng.integers(0, 256, rng.integers(0, 80), np.uint8)])
        try:
            Lossless().decode(junk, header)
        except FormatError:
            continue


def test_a_small_payload_that_takes_much_memory_is_refused(monkeypatch):
    joints = 600
    names = tuple(f"joint{j}" for j in range(joints))
    channels = ((*DEFAULT_ROOT,),) * joints
    chain = Skeleton(names, (-1, *range(joints - 1)), np.zeros((joints, 3)), channels=channels)
    header = ClipHeader(chain, 2, 1 / 120, tuple(range(joints)), 0.01)
    out = FieldWriter()  # two frames in which every channel moves: its predictors take 20 MB
    out.raw(bytes([1, 0, 0]))
    out.mask(np.ones(chain.channel_count, bool))
    out.sized(deflate(b""))
    out.sized(deflate(bytes(chain.channel_count)))
    out.raw(bytes([0]))
    out.sized(bytes(9))
    payload = out.bytes()
    assert Lossless().open(payload, header).memory_needed(0, 2) > 20_000_000
    with pytest.raises(TruncatedError):
        Lossless().decode(payload, header)
    monkeypatch.setattr(codec, "WORKING_MEMORY_BYTES", 10_000_000)
    monkeypatch.setattr(codec, "JOINT_COLUMN_BYTES", 0)
    with pytest.raises(MemoryLimitError):
        Lossless().decode(payload, header)


@pytest.mark.parametrize("name", ["02_01", "16_46"])
def test_real_clips_round_trip_at_less_than_half_of_xz(name):
    clip = load_clip(f"cmu/{name}", COMMITTED)
    data = mocpack.encode(clip, "lossless")
    assert same_bits(mocpack.decode(data).channels, clip.channels)
    assert len(data) < 0.5 * xz_size(write_bytes(clip, ".bvh"))


def test_a_file_of_another_program_round_trips_at_less_than_half_of_xz():
    path = ORIGINALS / "cmu" / "09_01.bvh"
    clip = mocpack.read(path)
    data = mocpack.encode(clip, "lossless")
    assert same_bits(mocpack.decode(data).channels, clip.channels)
    assert len(data) < 0.5 * xz_size(path.read_bytes())


def xz_size(text):
    return len(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))


def test_a_real_clip_of_six_significant_digits_round_trips():
    clip = mocpack.read(ORIGINALS / "asfamc" / "02_03.amc")
    back = there_and_back(clip)
    assert same_bits(back.channels, clip.channels)
    assert np.array_equal(back.rotations, clip.rotations)
