"""Angle errors: hinges about their axes, other joints by the angle between rotations."""

from dataclasses import replace

import numpy as np
import pytest

import mocpack
from mocpack.metrics import angles
from mocpack.model import rotations
from mocpack.model.clip import Clip
from mocpack.model.hinges import Hinges
from mocpack.model.skeleton import Skeleton


@pytest.fixture
def pair():
    """Return two motions of a free root and a knee, which is 0.01 · frame² off about its axis."""
    skeleton = Skeleton(
        ("root", "knee"),
        (-1, 0),
        np.array([[0, 0, 0], [0, -0.4, 0]]),
        hinges=Hinges((1,), np.array([[0.0, 0, 1]])),
    )
    time = np.arange(5.0)[:, np.newaxis]
    off = 0.01 * time**2
    first = Clip.from_angles(skeleton, 0.1 * time, frame_rate=10)
    turned = rotations.from_rotvec(0.03 * time * [0, 1.0, 0])
    return first, Clip.from_angles(
        skeleton, 0.1 * time + off, np.zeros((5, 3)), turned, frame_rate=10
    )


def test_hinges_count_by_their_angle_and_other_joints_by_their_turn(pair):
    errors = angles.angle_errors(*pair)
    np.testing.assert_allclose(errors[:, 0], 0.01 * np.arange(5) ** 2, atol=1e-12)
    np.testing.assert_allclose(errors[:, 1], 0.03 * np.arange(5), atol=1e-9)
    assert angles.largest_angle(*pair) == pytest.approx(0.16)
    assert angles.angle_errors(*pair).mean() == pytest.approx((0.3 + 0.3) / 10)


def test_velocity_and_acceleration_are_differences_of_the_error(pair):
    speeds = angles.rate_errors(*pair, 1)
    np.testing.assert_allclose(speeds[:, 0], 0.1 * np.array([1, 3, 5, 7]), atol=1e-9)
    np.testing.assert_allclose(speeds[:, 1], 0.3, atol=1e-9)
    np.testing.assert_allclose(angles.rate_errors(*pair, 2)[:, 0], 2.0, atol=1e-9)


def test_clips_too_short_have_no_rates(pair):
    short = [clip.frames(0, 1) for clip in pair]
    assert angles.rate_errors(*short, 1) is None
    found = mocpack.compare(*short)
    assert found["angle_velocity_max_deg_s"] is None
    assert found["angle_deg_max"] == pytest.approx(0.0, abs=1e-9)


def test_a_full_turn_is_no_error(pair):
    first, _ = pair
    turned = Clip.from_angles(first.skeleton, first.angles + 2 * np.pi, frame_rate=10)
    assert angles.largest_angle(first, turned) < 1e-12


def test_compare_says_it_in_degrees(pair):
    found = mocpack.compare(*pair)
    assert found["angle_deg_max"] == pytest.approx(np.degrees(0.16))
    assert found["angle_velocity_max_deg_s"] == pytest.approx(np.degrees(0.7))
    assert found["angle_velocity_rms_deg_s"] == pytest.approx(
        np.degrees(np.sqrt(np.mean([0.01, 0.09, 0.25, 0.49, *[0.09] * 4])))
    )
    assert found["angle_acceleration_max_deg_s2"] == pytest.approx(np.degrees(2.0))


def test_without_hinges_every_joint_counts_by_its_turn(pair):
    bare = [
        Clip(
            replace(clip.header, skeleton=replace(clip.skeleton, hinges=None)),
            clip.rotations,
            clip.translations,
        )
        for clip in pair
    ]
    np.testing.assert_allclose(
        np.sort(angles.angle_errors(*bare), axis=1),
        np.sort(angles.angle_errors(*pair), axis=1),
        atol=1e-7,
    )


def test_the_decoded_clip_can_lack_hinges(pair):
    first, second = pair
    bare = Clip(
        replace(second.header, skeleton=replace(second.skeleton, hinges=None)),
        second.rotations,
        second.translations,
    )
    assert angles.largest_angle(first, bare) == pytest.approx(0.16)
