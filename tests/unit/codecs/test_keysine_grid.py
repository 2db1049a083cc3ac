"""keysine on a grid in time: the bound, windows, previews, cut and hostile payloads."""

import contextlib
from dataclasses import replace

import numpy as np
import pytest

import mocpack
from mocpack import rotations
from mocpack.bench.datasets import data_folder
from mocpack.clip import Clip, promised_error
from mocpack.codecs.keysine import Keysine
from mocpack.codecs.keysine.grid_head import read_head, write_head
from mocpack.codecs.keysine.payload import GRID, checksum
from mocpack.errors import FormatError
from mocpack.testing import CLIP_CHECKS, CODEC_CHECKS, hard_clips, walk
from mocpack.transforms.joint_axes import find_axes

BOUND = 2e-4
CODEC = Keysine(max_error=BOUND, mode="grid", effort="fast")
CLIPS = {name: clip for name, clip in hard_clips().items() if len(clip.skeleton) < 100}
LONG = walk(2.5, frame_rate=60, seed=3)


def reader(payload):
    return lambda offset, size: payload[offset : offset + size]


@pytest.fixture(scope="module")
def payload():
    return CODEC.encode(LONG)


@pytest.mark.parametrize("clip", CLIPS.values(), ids=CLIPS.keys())
def test_the_bound_holds_on_hard_clips(clip):
    back = CODEC.decode(CODEC.encode(clip), clip.header)
    assert promised_error(clip, back).max <= BOUND


@pytest.mark.parametrize("check", [*CLIP_CHECKS, *CODEC_CHECKS], ids=lambda c: c.__name__)
def test_the_grid_keeps_the_contract(check):
    check(CODEC, CLIPS["walk"])


def test_a_payload_names_its_mode(payload):
    assert payload[payload[0] // 128 + 1] == GRID


def test_a_window_is_what_the_whole_has_there(payload):
    whole = CODEC.decode(payload, LONG.header)
    asked = []

    def read(offset, size):
        asked.append(size)
        return payload[offset : offset + size]

    part = CODEC.decode_frames(read, LONG.header, 70, 80, None)
    np.testing.assert_array_equal(part.rotations, whole.rotations[70:80])
    assert max(asked) < len(payload) / 2


def test_a_cut_payload_plays_to_its_end_within_the_error_it_states(payload):
    head = read_head(reader(payload), LONG.header)
    cut = payload[: sum(head.groups_at(0, 1)) + 5]
    back = CODEC.decode_partial(cut, LONG.header)
    assert back.frame_count == LONG.frame_count
    assert promised_error(LONG, back).max <= head.keys_error
    whole = CODEC.decode(payload, LONG.header)
    first = head.group_length
    np.testing.assert_array_equal(back.rotations[:first], whole.rotations[:first])


def test_the_preview_is_the_first_frame_of_each_group(payload):
    head = read_head(reader(payload), LONG.header)
    keys = CODEC.decode_preview(reader(payload), LONG.header)
    assert keys.frame_count == len(head.group_sizes) == 3
    thin = LONG.frames(0, LONG.frame_count).rotations[:: head.group_length]
    assert np.abs(np.abs(np.sum(keys.rotations * thin, axis=-1)) - 1).max() < 1e-4


def test_a_head_is_written_as_it_was_read(payload):
    head = read_head(reader(payload), LONG.header)
    again = read_head(reader(write_head(head)), LONG.header)
    np.testing.assert_array_equal(again.steps, head.steps)
    np.testing.assert_array_equal(again.axes.joints[3].basis, head.axes.joints[3].basis)
    assert again.group_sizes == head.group_sizes


def test_bytes_at_random_never_crash(payload):
    rng = np.random.default_rng(5)
    head = read_head(reader(payload), LONG.header)
    parts = [(0, head.size), head.keys_at(), *(head.groups_at(g, 1) for g in range(3))]
    for _ in range(150):
        at, size = parts[rng.integers(len(parts))]
        broken = bytearray(payload)
        broken[at + rng.integers(size)] = rng.integers(256)
        if at:
            broken[at : at + 2] = checksum(bytes(broken[at + 2 : at + size]))
        else:
            broken[size - 2 : size] = checksum(bytes(broken[: size - 2]))
        with contextlib.suppress(FormatError):
            CODEC.decode(bytes(broken), LONG.header)


def test_a_head_that_tells_any_expected_error_is_read(payload):
    head = read_head(reader(payload), LONG.header)
    wild = replace(head, sizes=np.full_like(head.sizes, 255))
    assert wild.told_sizes().max() == 2**28
    broken = write_head(wild) + payload[head.size :]
    with contextlib.suppress(FormatError):
        CODEC.decode(broken, LONG.header)


def test_a_motion_too_small_for_a_surface_has_three_channels():
    rng = np.random.default_rng(2)
    turns = rotations.from_rotvec(1e-4 * rng.normal(size=(80, 1, 3)))
    clip = Clip.build(walk(0.1).skeleton.subset([0]), turns, np.zeros((80, 1, 3)))
    assert find_axes(clip).joints[0].count == 3
    back = CODEC.decode(CODEC.encode(clip), clip.header)
    assert promised_error(clip, back).max <= BOUND


def test_a_leap_from_frame_to_frame_is_kept():
    rng = np.random.default_rng(4)
    clip = walk(0.5)
    far = Clip(clip.header, clip.rotations, clip.translations + 1e3 * rng.normal(size=(30, 1, 3)))
    codec = Keysine(max_error=BOUND, effort="default")
    assert promised_error(far, codec.decode(codec.encode(far), far.header)).max <= BOUND


def test_auto_takes_the_smaller_mode():
    sizes = {
        mode: len(Keysine(max_error=BOUND, mode=mode).encode(LONG))
        for mode in ("auto", "transform", "grid")
    }
    assert sizes["auto"] == min(sizes["transform"], sizes["grid"])


def test_a_grid_promises_a_largest_error_only():
    with pytest.raises(ValueError, match="mode grid keeps max_error"):
        Keysine(mode="grid", mean_error="1mm")
    with pytest.raises(ValueError, match="mode must be one of auto, transform, grid"):
        Keysine(mode="lattice")


def test_a_real_clip_is_smaller_on_a_grid_where_the_bound_is_tight():
    folder = data_folder()
    if folder is None:
        pytest.skip("no motion data: set MOCPACK_DATA")
    clip = mocpack.read(folder / "cmu-train" / "11_01.bvh").frames(1, 361)
    sizes = [len(Keysine(max_error="0.1mm", mode=m).encode(clip)) for m in ("grid", "transform")]
    assert sizes[0] < sizes[1]
