"""keysine's grid mode: bound, reference decoder, windows, truncated files, hostile bytes."""

import binascii
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import mocpack
from keysine_payload import FIRST_FRAME_ALONE, GRID, THOROUGH
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.codec import Payload
from mocpack.codecs.keysine import Keysine
from mocpack.errors import BoundError, CorruptionError, FormatError, TruncatedError
from mocpack.model import rotations
from mocpack.model.clip import Clip, measure_error
from mocpack.testing import CLIP_CHECKS, CODEC_CHECKS, hard_clips, walk
from naming import naming
from reference import keysine as reference
from reference.keysine_head import head_of
from reference.keysine_head_writer import write_head

BOUND = 2e-4
CODEC = Keysine(max_error=BOUND, mode="grid", effort="fast")
CLIPS = hard_clips()
LONG = walk(2.5, frame_rate=60, seed=3)


def reader(payload):
    return lambda offset, size: payload[offset : offset + size]


@pytest.fixture(scope="module")
def payload():
    return CODEC.encode(LONG)


@pytest.mark.parametrize("clip", CLIPS.values(), ids=CLIPS.keys())
def test_the_bound_holds_on_hard_clips(clip):
    back = CODEC.decode(CODEC.encode(clip), clip.header)
    assert measure_error(clip, back).max <= BOUND


@pytest.mark.parametrize("check", [*CLIP_CHECKS, *CODEC_CHECKS], ids=lambda c: c.__name__)
def test_the_grid_keeps_the_contract(check):
    check(CODEC, CLIPS["walk"])


@pytest.mark.parametrize("effort", ["fast", "best"])
@pytest.mark.parametrize("name", ["walk", "full turns", "every joint translates", "two frames"])
def test_the_readable_decoder_gives_the_same_motion(name, effort):
    clip = CLIPS[name].frames(0, min(CLIPS[name].frame_count, 40))
    codec = Keysine(max_error=BOUND, mode="grid", effort=effort, group_seconds=0.4)
    payload = codec.encode(clip)
    ours, plain = codec.decode(payload, clip.header), reference.decode(payload, clip.header)
    np.testing.assert_allclose(ours.rotations, plain.rotations, atol=1e-12)
    np.testing.assert_allclose(ours.translations, plain.translations, atol=1e-12)


def test_positions_on_finer_grids_are_read_equally():
    rng = np.random.default_rng(8)
    clip = walk(0.5)
    shaken = rotations.multiply(
        clip.rotations, rotations.from_rotvec(0.3 * rng.normal(size=(*clip.rotations.shape[:2], 3)))
    )
    clip = Clip(clip.header, shaken, clip.translations)
    payload = CODEC.encode(clip)
    ours, plain = CODEC.decode(payload, clip.header), reference.decode(payload, clip.header)
    np.testing.assert_allclose(ours.rotations, plain.rotations, atol=1e-12)


def mode_of(payload, clip):
    return head_of(payload, clip.header).mode


def test_a_payload_names_its_mode(payload):
    assert mode_of(payload, LONG) == GRID
    best = Keysine(max_error=BOUND, mode="grid", effort="best").encode(LONG)
    assert mode_of(best, LONG) == GRID | THOROUGH


def test_a_pose_added_before_the_first_frame_is_detected():
    posed = LONG.rotations.copy()
    posed[0] = [0, 0, 0, 1]
    clip = Clip(LONG.header, posed, LONG.translations)
    payload = CODEC.encode(clip)
    assert mode_of(payload, clip) == GRID | FIRST_FRAME_ALONE
    back = CODEC.decode(payload, clip.header)
    assert measure_error(clip, back).max <= BOUND
    np.testing.assert_array_equal(
        CODEC.open(payload, clip.header).frames(0, 1).rotations[0],
        back.rotations[0],
    )


def test_a_window_equals_its_part_of_the_clip(payload):
    whole = CODEC.decode(payload, LONG.header)
    asked = []

    def read(offset, size):
        asked.append(size)
        return payload[offset : offset + size]

    source = SimpleNamespace(size=len(payload), data=None, start=b"", read=read)
    part = CODEC.open(Payload(source, 0, len(payload)), LONG.header).frames(70, 80)
    np.testing.assert_array_equal(part.rotations, whole.rotations[70:80])
    assert max(asked) < len(payload) / 2


def test_some_joints_are_those_of_the_whole_motion(payload):
    whole = CODEC.decode(payload, LONG.header)
    part = CODEC.open(payload, LONG.header).frames(10, 50, [5])
    kept = [LONG.skeleton.names.index(name) for name in part.skeleton.names]
    np.testing.assert_array_equal(part.rotations, whole.rotations[10:50][:, kept])


def test_threads_change_nothing(payload):
    codec = Keysine(max_error=BOUND, mode="grid", effort="fast", threads=3)
    assert codec.encode(LONG) == payload
    whole = CODEC.decode(payload, LONG.header)
    np.testing.assert_array_equal(codec.decode(payload, LONG.header).rotations, whole.rotations)


def test_a_cut_payload_plays_nothing(payload):
    with pytest.raises(TruncatedError, match=str(len(payload))):
        CODEC.open(payload[:-5], LONG.header).partial()


def test_the_preview_is_the_key_of_each_group_and_the_last_frame(payload):
    head = head_of(payload, LONG.header)
    keys = CODEC.open(payload, LONG.header).preview()
    assert keys.frame_count == head.group_count + 1 == 4
    whole = CODEC.decode(payload, LONG.header)
    at = [head.key_frame(k, LONG.frame_count) for k in range(4)]
    np.testing.assert_allclose(keys.rotations, whole.rotations[at], atol=1e-12)


def test_groups_are_no_longer_than_a_block_may_be():
    still = walk(12.0, frame_rate=120)
    codec = Keysine(max_error="0.5mm", mode="grid", effort="fast", group_seconds=60)
    payload = codec.encode(still)
    assert head_of(payload, still.header).group_count == 3


@pytest.mark.parametrize(
    ("mode", "layers", "named"),
    [
        (8, 1, "head foot lock 1 0"),
        (GRID | 8, 1, "head foot lock 1 0"),
        (GRID, 2, "head layers 2 1"),
    ],
)
def test_a_mode_that_is_not_is_corrupt(payload, mode, layers, named):
    head = head_of(payload, LONG.header)
    grid = SimpleNamespace(
        mode=mode, steps=head.grid.steps, initial_scales=head.grid.initial_scales
    )
    shifts = np.zeros((layers - 1, 2, head.track_count), np.uint8)
    errors = ((0, 0),) * layers if layers > 1 else ()
    other = replace(head, grid=grid, layer_count=layers, errors=errors, shifts=shifts)
    with pytest.raises(CorruptionError, match=naming(named)):
        CODEC.decode(write_head(other, LONG.header, []), LONG.header)


def with_body(payload, body):
    """Return a payload with other bytes in its first group and a valid checksum."""
    at, size = head_of(payload, LONG.header).groups_at(0, 1)
    seal = binascii.crc_hqx(body, 0xFFFF).to_bytes(2, "little")
    assert len(body) == size - 2
    return payload[:at] + seal + body + payload[at + size :]


def body_size(payload):
    return head_of(payload, LONG.header).groups_at(0, 1)[1] - 2


@pytest.mark.parametrize("seed", range(12))
def test_other_bytes_are_a_motion_or_a_clear_error_and_the_readable_decoder_agrees(payload, seed):
    rng = np.random.default_rng(seed)
    at, size = head_of(payload, LONG.header).groups_at(0, 1)
    body = bytearray(payload[at + 2 : at + size])
    first = int(rng.integers(3, 40))
    body[first::7] = rng.bytes(len(body[first::7]))
    other = with_body(payload, bytes(body))
    try:
        back = CODEC.decode(other, LONG.header)
    except FormatError as error:
        with pytest.raises(type(error)):
            reference.decode(other, LONG.header)
    else:
        assert np.isfinite(back.rotations).all()


def test_a_number_far_beyond_the_grid_is_corrupt(payload):
    # a state of all ones stands in the last, rarest symbol of a table: an escape, with 31 bits
    other = with_body(payload, b"\xff" * body_size(payload))
    with pytest.raises(CorruptionError):
        CODEC.decode(other, LONG.header)


def test_a_leap_from_frame_to_frame_is_kept():
    rng = np.random.default_rng(4)
    clip = walk(0.5)
    far = Clip(clip.header, clip.rotations, clip.translations + 1e3 * rng.normal(size=(30, 1, 3)))
    for codec in (CODEC, Keysine(max_error=BOUND)):
        assert measure_error(far, codec.decode(codec.encode(far), far.header)).max <= BOUND


def test_a_grid_of_too_many_channels_is_refused_and_auto_takes_none():
    joints = 1500
    parents = (-1, *range(joints - 1))
    names = tuple(f"j{j}" for j in range(joints))
    skeleton = mocpack.Skeleton(names, parents, np.tile([0.0, 0.001, 0.0], (joints, 1)))
    turns = np.tile([0.0, 0, 0, 1], (3, joints, 1))
    places = np.tile(skeleton.offsets, (3, 1, 1))
    every = tuple(range(joints))
    clip = Clip.build(skeleton, turns, places, translated_joints=every)
    with pytest.raises(BoundError, match=naming("mode grid 4096")):
        CODEC.encode(clip)
    payload = Keysine(max_error=BOUND).encode(clip)
    assert mode_of(payload, clip) == 0


def test_auto_takes_the_smaller_mode():
    sizes = {
        mode: len(Keysine(max_error=BOUND, mode=mode).encode(LONG))
        for mode in ("auto", "transform", "grid")
    }
    assert sizes["auto"] == min(sizes["transform"], sizes["grid"])


def test_a_grid_promises_a_largest_error_only():
    with pytest.raises(ValueError, match=naming("mode grid max_error mean_error step")):
        Keysine(mode="grid", mean_error="1mm")
    with pytest.raises(ValueError, match=naming("mode auto transform grid 'lattice'")):
        Keysine(mode="lattice")


def test_a_real_clip_is_smaller_on_a_grid_where_the_bound_is_tight():
    clip = load_clip("cmu/07_01", COMMITTED).frames(1, 241)
    sizes = [len(Keysine(max_error="0.1mm", mode=m).encode(clip)) for m in ("grid", "transform")]
    assert sizes[0] < sizes[1]
