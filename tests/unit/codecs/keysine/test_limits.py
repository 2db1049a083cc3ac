"""Decoded hinges keep the limits that the source keeps."""

from dataclasses import replace

import numpy as np
import pytest

import mocpack
from mocpack.codecs.keysine import Keysine
from mocpack.corpora.features import window_plan
from mocpack.model import rotations
from mocpack.model.clip import measure_error
from mocpack.model.hinges import Hinges
from mocpack.model.skeleton import Skeleton
from reference.keysine import decode as decode_slowly

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
        assert measure_error(clip, back).max <= codec.max_error


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


def test_a_constant_angle_at_its_limit_is_not_rounded_past_it():
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


def arm(angles, limits, leaving=None):
    """An arm that turns about an axis for each column, and a hand that is fixed to it."""
    count = np.shape(angles)[1]
    hinges = Hinges((1,) * count, np.eye(3)[:count], np.broadcast_to(limits, (count, 2)))
    offsets = np.array([[0, 0, 0], [0, -0.1, 0], [0, -0.4, 0.1]])
    skeleton = Skeleton(("root", "arm", "hand"), (-1, 0, 1), offsets, hinges=hinges)
    clip = mocpack.Clip.from_angles(skeleton, angles, frame_rate=30)
    if leaving is None:
        return clip
    turns = clip.rotations.copy()
    turns[:, 1] = rotations.multiply(turns[:, 1], rotations.from_rotvec(np.asarray(leaving)))
    return mocpack.Clip(clip.header, turns, clip.translations)


def test_a_source_that_jumps_from_limit_to_limit_stays_within_both():
    low, high = -1.313, 2.460  # more than half a turn apart: the short way leads past both
    angles = np.where(np.arange(60) // 7 % 2, low, high)[:, np.newaxis]
    clip = arm(angles, (low, high))
    back = mocpack.decode(mocpack.encode(clip, max_error="3cm"))
    assert past(back, clip.skeleton.hinges.limits) <= 1e-12
    assert measure_error(clip, back).max <= 0.03


def test_two_axes_stay_within_limits_beside_a_mean_error():
    rng = np.random.default_rng(3)
    clip = arm(rng.uniform(-2.5, 2.5, (50, 2)), (-2.5, 2.5))
    back = mocpack.decode(mocpack.encode(clip, mean_error="5cm"))
    assert past(back, clip.skeleton.hinges.limits) <= 1e-12


@pytest.mark.parametrize("width", [0.0, 1e-9, 1e-6, 1e-4])
@pytest.mark.parametrize("bound", ["10cm", "1mm", "10um"])
def test_ranges_narrower_than_any_grid_are_kept(width, bound):
    clip = arm(np.full((20, 2), 0.3331), (0.3331, 0.3331 + width))
    back = mocpack.decode(mocpack.encode(clip, max_error=bound))
    assert past(back, clip.skeleton.hinges.limits) <= 1e-12


@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize("still", [True, False])
def test_a_joint_off_its_axes_is_held_by_the_nearest_angles(axes, still):
    time = np.arange(40)[:, np.newaxis] / 30
    angles = np.clip(0 * time if still else np.sin(5 * time + [0, 1][:axes]), -0.5, 0.4)
    clip = arm(np.broadcast_to(angles, (40, axes)), (-0.5, 0.4), leaving=[0.0, 0.05, 0.1])
    found = clip.hinge_angles().angles
    limits = np.stack([found.min(axis=0), found.max(axis=0)], axis=1)  # both are reached
    skeleton = replace(clip.skeleton, hinges=replace(clip.skeleton.hinges, limits=limits))
    clip = mocpack.Clip(replace(clip.header, skeleton=skeleton), clip.rotations, clip.translations)
    data = mocpack.encode(clip, max_error="5mm")
    back = mocpack.decode(data)
    assert clip.hinge_angles().off_axis.max() > 0.04
    assert past(back, limits) <= 1e-12
    assert measure_error(clip, back).max <= 5e-3


def test_a_source_that_rounds_past_its_limits_keeps_a_bound_of_a_micrometer():
    time = np.arange(40)[:, np.newaxis] / 30
    clip = arm(np.clip(np.sin(5 * time), -0.5, 0.4 + 9e-7), (-0.5, 0.4))
    back = mocpack.decode(mocpack.encode(clip, max_error="0.3um"))
    assert measure_error(clip, back).max <= 3e-7


def test_limits_hold_in_windows_of_single_precision():
    clip, codec = swinging(), CODECS["fast"]
    with mocpack.open(mocpack.encode(clip, codec)) as motion:
        plan = window_plan(motion.header, ("quaternion", "translations"))
        out = np.empty((clip.frame_count, plan.width), np.float32)
        motion.window_writer.write(plan, 0, clip.frame_count, out)
    turns = out[:, : 4 * len(clip.skeleton)].reshape(clip.frame_count, -1, 4).astype(np.float64)
    places = out[:, 4 * len(clip.skeleton) :].reshape(clip.frame_count, -1, 3).astype(np.float64)
    assert past(mocpack.Clip(clip.header, rotations.normalize(turns), places)) <= 2e-6
