"""The readable encoder: its files are valid, keep the bound and are nearly as small."""

import numpy as np
import pytest
from format_file import decode_file

import mocpack
from keysine_tracks import ROTATION_KIND, Rotation
from mocpack import container
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.codecs.keysine import Keysine
from mocpack.model import rotations
from mocpack.model.clip import Clip, measure_error
from mocpack.testing import jump, walk
from reference import keysine as reference
from reference.keysine_encoder import encode
from reference.keysine_head import head_of
from robots import hinged_motion, hinged_skeleton


def fast(clip, bound):
    return Keysine(max_error=bound, effort="fast").encode(clip)


def error_of(clip, payload):
    return measure_error(clip, Keysine().decode(payload, clip.header)).max


@pytest.mark.parametrize(
    ("clip", "bound"),
    [
        (load_clip("cmu/49_02", COMMITTED).frames(0, 300), 1e-2),
        (load_clip("cmu/02_01", COMMITTED).frames(0, 200), 1e-3),
        (walk(1.0, seed=3), 1e-3),
        (jump(1.0, frame_rate=30, seed=4), 5e-3),
    ],
    ids=["49_02", "02_01", "walk", "jump"],
)
def test_payloads_keep_the_bound_within_a_quarter_of_the_size_of_effort_fast(clip, bound):
    payload = encode(clip, bound)
    assert 0 < error_of(clip, payload) <= bound
    assert len(payload) <= 1.25 * len(fast(clip, bound))


def test_files_open_in_every_reader():
    clip = load_clip("cmu/02_01", COMMITTED).frames(100, 180)
    payload = encode(clip, 5e-3)
    ours = Keysine().decode(payload, clip.header)
    readable = reference.decode(payload, clip.header)
    assert np.allclose(ours.rotations, readable.rotations, atol=1e-9)
    assert np.allclose(ours.translations, readable.translations, atol=1e-9)
    errors = container.Errors(declared=5e-3)
    file = container.pack(container.FileContents(clip.header, "keysine", 1, {}, payload, errors))
    assert np.array_equal(mocpack.decode(file).rotations, ours.rotations)
    assert np.allclose(decode_file(file)["rotations"], ours.rotations, atol=1e-9)


@pytest.mark.parametrize("frames", [1, 2, 3, 7])
def test_short_clips_keep_the_bound(frames):
    clip = walk(1.0, seed=3).frames(5, 5 + frames)
    assert error_of(clip, encode(clip, 1e-3)) <= 1e-3


def test_rotations_far_from_their_mean_become_quaternions():
    clip = walk(1.0, seed=3)
    angles = np.linspace(0, 12, clip.frame_count)[:, np.newaxis] * np.array([0.3, 1.0, -0.2])
    turned = clip.rotations.copy()
    turned[:, 0] = rotations.from_rotvec(angles)
    turning = Clip.build(clip.skeleton, turned, clip.translations, frame_rate=60)
    payload = encode(turning, 1e-3)
    assert error_of(turning, payload) <= 1e-3
    assert head_of(payload, turning.header).table[0, ROTATION_KIND] == Rotation.QUATERNION


def test_a_still_clip_takes_a_head_and_keys_only():
    clip = walk(1.0, seed=3).frames(0, 1)
    still = Clip.build(
        clip.skeleton,
        np.repeat(clip.rotations, 90, axis=0),
        np.repeat(clip.translations, 90, axis=0),
        frame_rate=30,
    )
    payload = encode(still, 1e-3)
    assert error_of(still, payload) <= 1e-3
    assert len(payload) <= 1.25 * len(fast(still, 1e-3))


def test_hinges_are_refused():
    with pytest.raises(ValueError, match="hinges"):
        encode(hinged_motion(hinged_skeleton()), 1e-3)
