"""Hinges with limits: what the source kept is kept by what is decoded."""

from dataclasses import replace

import numpy as np
import pytest

import mocpack
from mocpack.clip import promised_error
from mocpack.codecs.keysine import Keysine
from mocpack.hinges import Hinges
from mocpack.skeleton import Skeleton
from mocpack.testing.reference.keysine import decode as decode_slowly

LIMITS = np.array([[-0.6, 0.5], [-np.inf, 0.4], [-0.05, 0.05], [-0.3, np.inf]])


def limbs(limits):
    """A free root, two hinges in a row, a slider that also turns."""
    hinges = Hinges(
        (1, 2, 3, 3),
        np.array([[1.0, 0, 0], [0, 0.6, 0.8], [0, 0, 1.0], [0, 1.0, 0]]),
        limits,
        np.array([False, False, True, False]),
        ("hip", "knee", "rail", "wrist"),
    )
    offsets = np.array([[0, 0, 0], [0, -0.1, 0], [0, -0.4, 0], [0, -0.3, 0.0]])
    channels = ("Xposition", "Yposition", "Zposition", "Zrotation", "Xrotation", "Yrotation")
    return Skeleton(
        ("root", "thigh", "shin", "foot"),
        (-1, 0, 1, 2),
        offsets,
        np.array([[0, -0.1, 0.1]]),
        (3,),
        (channels, channels[3:], channels[3:], channels),
        hinges=hinges,
    )


def swinging(limits=LIMITS, most=1.0, frames=120):
    """Angles that rest on their limits for much of the time; on `most` times those."""
    time = np.arange(frames)[:, np.newaxis] / 30
    angles = np.sin(time * [5.0, 7.0, 4.0, 6.0] + [0, 1, 2, 3]) * [0.9, 0.7, 0.1, 0.6]
    angles = np.clip(angles, *(most * LIMITS.T))
    places = np.concatenate([time, 0.9 + 0 * time, 0.1 * np.sin(time)], axis=1)
    turns = np.tile([0, 0, 0, 1.0], (frames, 1))
    return mocpack.Clip.from_angles(limbs(limits), angles, places, turns, frame_rate=30)


CODECS = {
    "transform": Keysine(max_error=5e-3),
    "fast": Keysine(max_error=5e-3, effort="fast"),
    "layers": Keysine(max_error=5e-3, layers=3),
    "grid": Keysine(max_error=0.5e-3, mode="grid"),
    "angles": Keysine(max_error=5e-3, max_angle=0.004),
    "step": Keysine(step=5e-3),
}


def past(clip, limits=LIMITS):
    angles = clip.hinge_angles().angles
    return np.maximum(limits[:, 0] - angles, angles - limits[:, 1]).max()


@pytest.mark.parametrize("name", CODECS)
def test_decoded_angles_stay_within_limits_that_the_source_kept(name):
    clip, codec = swinging(), CODECS[name]
    back = codec.decode(codec.encode(clip), clip.header)
    assert past(back) <= 1e-12
    if not codec.step:
        assert promised_error(clip, back).max <= codec.max_error


def test_without_limits_the_same_motion_overshoots():
    free = np.tile([-np.inf, np.inf], (4, 1))
    clip, codec = swinging(free), CODECS["transform"]
    assert past(codec.decode(codec.encode(clip), clip.header)) > 1e-4


def test_limits_that_the_source_passes_hold_nothing_back():
    clip, codec = swinging(most=1.2), CODECS["angles"]
    back = codec.decode(codec.encode(clip), clip.header)
    assert past(back) > 0.05
    turning = [0, 1, 3]
    off = (back.hinge_angles().angles - clip.hinge_angles().angles)[:, turning]
    assert np.abs(off).max() <= codec.max_angle


@pytest.mark.parametrize("name", ["transform", "grid"])
def test_the_slow_decoder_holds_the_same_limits(name):
    clip, codec = swinging(frames=40), CODECS[name]
    payload = codec.encode(clip)
    found, slow = codec.decode(payload, clip.header), decode_slowly(payload, clip.header)
    np.testing.assert_allclose(slow.rotations, found.rotations, atol=1e-9)
    np.testing.assert_allclose(slow.translations, found.translations, atol=1e-9)


def test_what_is_still_at_its_limit_is_not_rounded_past_it():
    clip = swinging()
    angles = np.tile(LIMITS[:, 1], (20, 1))
    angles[:, 3] = LIMITS[3, 0]
    places, turns = clip.translations[:20, 0], clip.rotations[:20, 0]
    still = mocpack.Clip.from_angles(clip.skeleton, angles, places, turns, frame_rate=30)
    back = mocpack.decode(mocpack.encode(still, max_error="5mm"))
    assert past(back) <= 1e-12


def test_a_window_is_held_as_the_whole_is(tmp_path):
    path = tmp_path / "clip.mocp"
    path.write_bytes(mocpack.encode(swinging(), max_error="5mm"))
    with mocpack.open(path) as motion:
        window = motion.frames(50, 80)
    np.testing.assert_array_equal(window.rotations, mocpack.read(path).rotations[50:80])
    assert past(window) <= 1e-12


def test_rounding_in_the_last_digits_is_no_passing():
    clip = swinging()
    nearly = replace(clip.skeleton.hinges, limits=LIMITS - np.array([0, 4e-7]))
    skeleton = replace(clip.skeleton, hinges=nearly)
    header = replace(clip.header, skeleton=skeleton)
    nearly_kept = mocpack.Clip(header, clip.rotations, clip.translations)
    back = mocpack.decode(mocpack.encode(nearly_kept, max_error="5mm"))
    assert past(back, nearly.limits) <= 1e-12
