"""The native kernels equal plain numpy."""

import numpy as np
import pytest

from mocpack import Clip, Skeleton
from mocpack.errors import UsageError
from mocpack.model.clip import measure_error
from mocpack.model.kinematics import (
    SHELL_RADIUS_M,
    end_positions,
    forward_kinematics,
)
from mocpack.model.kinematics import measure_error as promised
from mocpack.model.rotations import as_matrix, from_rotvec, multiply
from mocpack.testing import hard_clips
from naming import naming
from reference.kinematics import forward_kinematics_numpy

QUARTER = from_rotvec(np.array([0.0, 0.0, np.pi / 2]))  # about z: x to y
ELBOW = Skeleton(
    ("shoulder", "elbow"), (-1, 0), [[9, 9, 9], [1, 0, 0]], [[0, 2, 0]], end_site_joints=(1,)
)


def moved(clip, amount=1e-2, seed=0):
    rng = np.random.default_rng(seed)
    turns = from_rotvec(rng.normal(0, amount, (*clip.rotations.shape[:2], 3)))
    places = clip.translations + rng.normal(0, amount, clip.translations.shape)
    return Clip(clip.header, multiply(clip.rotations, turns), places)


def points(clip):
    """Every point that the promise is about, (T, J, 1 + 3 + ends at most, 3); NaN where none."""
    positions, world = forward_kinematics_numpy(
        clip.skeleton, clip.rotations, clip.translations, clip.translated_joints
    )
    out = np.full((*positions.shape[:2], 4 + len(clip.skeleton.end_sites), 3), np.nan)
    axes = np.swapaxes(as_matrix(world), -1, -2)  # one axis a row
    out[:, :, 0] = positions
    out[:, :, 1:4] = positions[:, :, np.newaxis] + SHELL_RADIUS_M * axes
    for e, j in enumerate(clip.skeleton.end_site_joints):
        out[:, j, 4 + e] = positions[:, j] + (as_matrix(world[:, j]) @ clip.skeleton.end_sites[e])
    return out


def test_a_bent_arm_by_hand():
    # shoulder at (0, 0, 5), turned so that x goes to y; the elbow, 1 along x, is then at (0, 1, 5),
    # and turned once more, so that its end, 2 along y, lies the other way: (0, 1 - 2, 5)
    local = np.array([[QUARTER, QUARTER]])
    positions, world = forward_kinematics(ELBOW, local, np.array([[[0.0, 0, 5]]]), (0,))
    np.testing.assert_allclose(positions, [[[0, 0, 5], [0, 1, 5]]], atol=1e-15)
    np.testing.assert_allclose(np.abs(world[0, 1]), [0, 0, 1, 0], atol=1e-15)
    ends = end_positions(ELBOW, positions, world)
    np.testing.assert_allclose(ends, [[[0, -1, 5]]], atol=1e-15)


def test_a_root_without_translation_is_at_its_offset():
    positions, _ = forward_kinematics(
        ELBOW, np.array([[QUARTER, QUARTER]]), np.zeros((1, 0, 3)), ()
    )
    np.testing.assert_allclose(positions, [[[9, 9, 9], [9, 10, 9]]])


def test_a_translation_replaces_the_offset_of_its_joint():
    place = np.array([[[0.0, 0, 0], [0, 3, 0]]])
    positions, _ = forward_kinematics(ELBOW, np.array([[QUARTER, QUARTER]]), place, (0, 1))
    np.testing.assert_allclose(positions, [[[0, 0, 0], [-3, 0, 0]]], atol=1e-15)


@pytest.mark.parametrize("name", hard_clips())
def test_native_kinematics_equals_numpy(name):
    clip = hard_clips()[name]
    motion = (clip.skeleton, clip.rotations, clip.translations, clip.translated_joints)
    positions, world = forward_kinematics(*motion)
    expected, expected_world = forward_kinematics_numpy(*motion)
    np.testing.assert_allclose(positions, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(world, expected_world, rtol=0, atol=1e-9)


@pytest.mark.parametrize("amount", [0.0, 1e-6, 1e-2, 2.0])
@pytest.mark.parametrize("name", hard_clips())
def test_promised_error_equals_numpy(name, amount):
    clip = hard_clips()[name]
    other = moved(clip, amount)
    distances = np.linalg.norm(points(clip) - points(other), axis=-1)
    by_joint = np.nanmax(distances, axis=2)
    found = measure_error(clip, other)
    tolerance = {"rtol": 0, "atol": 1e-9}
    np.testing.assert_allclose(found.frames, by_joint.max(1), **tolerance)
    np.testing.assert_allclose(found.joints, by_joint.max(0), **tolerance)
    np.testing.assert_allclose(found.max, by_joint.max(), **tolerance)
    np.testing.assert_allclose(
        by_joint[found.worst_frame, found.worst_joint], found.max, **tolerance
    )
    centers = distances[:, :, 0]
    np.testing.assert_allclose(found.joint_max, centers.max(), **tolerance)
    np.testing.assert_allclose(found.joint_mean, centers.mean(), **tolerance)
    np.testing.assert_allclose(found.joint_rms, np.sqrt(np.mean(centers**2)), **tolerance)


@pytest.mark.parametrize("frames", [1, 2, 3, 4, 5])
def test_no_frame_is_counted_twice_at_the_end(frames):
    # frames are solved two at a time; the last of an odd number must count once
    clip = hard_clips()["walk"].frames(0, frames)
    other = moved(clip)
    distances = np.linalg.norm(clip.positions() - other.positions(), axis=-1)
    assert measure_error(clip, other).joint_mean == pytest.approx(distances.mean(), rel=1e-12)


def test_promised_error_is_as_exact_far_away_as_near():
    clip = hard_clips()["walk"]
    other = moved(clip, 1e-3)
    away = np.array([3e6, -2e6, 1e6])
    far, far_other = (
        Clip(c.header, c.rotations, np.round(c.translations, 6) + away) for c in (clip, other)
    )
    near, near_other = (
        Clip(c.header, c.rotations, c.translations - away) for c in (far, far_other)
    )
    assert measure_error(far, far_other).max == pytest.approx(
        measure_error(near, near_other).max, abs=1e-12
    )


def test_the_shell_can_be_wider():
    # a quarter turn moves a point at 1 m by sqrt(2) m
    dot = Skeleton(("dot",), (-1,), [[0, 0, 0]])
    place = np.zeros((1, 1, 3))
    still = np.array([[[0.0, 0, 0, 1]]])
    found = promised(dot, (still, place), (QUARTER[None, None], place), (0,), shell=1.0)
    assert found.max == pytest.approx(np.sqrt(2))
    assert found.joint_max == 0


def test_clips_that_cannot_be_measured_say_why():
    walk, joint = hard_clips()["walk"], hard_clips()["one joint"]
    with pytest.raises(UsageError, match=naming("joints 21 1")):
        measure_error(walk, joint)
    with pytest.raises(UsageError, match=naming("frames 45 5")):
        measure_error(walk, walk.frames(0, 5))
