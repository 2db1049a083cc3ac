"""Tests that are specific to latent-spline."""

import numpy as np
import pytest

import mocpack
from mocpack.bench.datasets import load_clip
from mocpack.errors import UnsupportedClipError
from mocpack.model import rotations
from mocpack.model.clip import Clip, measure_error
from mocpack.papers.mukai.codec import bspline, geodesic
from mocpack.papers.mukai.codec.latent import component_count
from mocpack.papers.mukai.codec.latent_spline import LatentSpline, knots_on_grid
from mocpack.testing import still, turn, walk
from mocpack.testing.motions import vertex_wave
from naming import naming

WALK = walk(1.0)
RNG = np.random.default_rng(8)


def rms(clip, codec):
    back = codec.decode(codec.encode(clip), clip.header)
    return measure_error(clip, back).joint_rms


@pytest.mark.parametrize("tolerance", [0.02, 0.002, 0.0002])
def test_the_tolerance_applies_to_the_decoded_motion(tolerance):
    assert 0.1 * tolerance < rms(WALK, LatentSpline(tolerance=tolerance)) < 1.5 * tolerance


def test_free_knots_are_never_worse_than_even_ones():
    fixed = {"control_points": 10, "components": 8, "tolerance": 1e-4}
    even = rms(WALK, LatentSpline(knots="uniform", **fixed))
    assert rms(WALK, LatentSpline(knots="fast", **fixed)) <= even * 1.01
    assert rms(WALK, LatentSpline(knots="cma", candidates=20, **fixed)) <= even * 1.01


def test_captured_motion_keeps_the_tolerance_at_the_knots_that_are_written():
    # close knots and large control points: fitted at other knots than the file's, they miss it
    clip = load_clip("cmu/16_46")
    assert rms(clip.frames(1, clip.frame_count), LatentSpline(tolerance=1e-4)) < 1e-4


def test_control_points_are_fitted_at_the_knots_that_are_written():
    rows = RNG.normal(size=(50, 4)).cumsum(axis=0)
    model = LatentSpline(tolerance=0.01).fit(rows)
    np.testing.assert_array_equal(model.knots, knots_on_grid(model.knots, 3, 50))
    at = bspline.inner_knots(model.knots, 3) * 49 * 32
    np.testing.assert_allclose(at, np.rint(at), atol=1e-6)
    scores = (rows - model.mean) @ model.basis.T
    expected, _ = bspline.fit(model.knots, 3, scores)
    np.testing.assert_allclose(model.controls, expected, atol=1e-9)


def test_several_full_turns_make_no_jump():
    clip = turn(2.0, turns=4)
    back = LatentSpline(tolerance=0.002).decode(
        LatentSpline(tolerance=0.002).encode(clip), clip.header
    )
    assert measure_error(clip, back).max < 0.05


def test_a_still_clip_costs_its_pose_and_nothing_more():
    clip = still(200)
    payload = LatentSpline().encode(clip)
    assert len(payload) < 900
    assert measure_error(clip, LatentSpline().decode(payload, clip.header)).max < 1e-9


def test_the_motion_is_known_between_frames_and_backwards():
    data = mocpack.encode(WALK, LatentSpline(tolerance=0.001))
    with mocpack.Motion(data) as motion:
        times = [0.5, 0.501, 0.1, -3.0, 99.0]
        poses = [motion.sample(t).positions()[0] for t in times]
    whole = mocpack.decode(data).positions()
    np.testing.assert_allclose(poses[0], whole[30], atol=2e-3)
    assert 0 < np.abs(poses[1] - poses[0]).max() < 0.01
    np.testing.assert_allclose(poses[3], whole[0], atol=1e-9)
    np.testing.assert_allclose(poses[4], whole[-1], atol=1e-9)


def test_vertex_animations_keep_their_tolerance():
    clip = vertex_wave(40, 8)
    codec = LatentSpline(tolerance=0.001)
    back = codec.decode(codec.encode(clip), clip.header)
    assert np.sqrt(np.mean(np.sum((clip.vertices - back.vertices) ** 2, axis=(1, 2)))) < 0.0015


def test_more_control_points_than_frames_are_refused():
    with pytest.raises(UnsupportedClipError, match=naming("61 60")):
        LatentSpline(control_points=61).encode(WALK)


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"degree": 4}, "degree 2 3 4"),
        ({"control_points": 3}, "control_points degree 3"),
        ({"knots": "random"}, "knots fast cma uniform 'random'"),
        ({"tolerance": -1.0}, "tolerance -1.0"),
        ({"select": "share", "amount": 2.0}, "amount 0..1 2.0"),
    ],
)
def test_impossible_parameters_are_refused(params, named):
    with pytest.raises(ValueError, match=naming(named)):
        LatentSpline(**params)


def test_components_are_counted_as_each_rule_says():
    energies = np.array([90.0, 9.0, 0.9, 0.1])
    assert component_count(energies, select="share", amount=0.98) == 2
    assert component_count(energies, select="floor", amount=1.0) == 2
    assert component_count(energies, select="tolerance", amount=1.1) == 2
    assert component_count(np.zeros(3), select="tolerance", amount=1.0) == 0


def test_the_intrinsic_mean_of_turns_about_one_axis_is_their_mean_angle():
    angles = np.array([0.1, 0.2, 0.9])
    q = rotations.from_rotvec(angles[:, np.newaxis] * np.array([0.0, 1.0, 0.0]))
    mean = rotations.as_rotvec(geodesic.intrinsic_mean(q))
    np.testing.assert_allclose(mean, [0, 0.4, 0], atol=1e-9)


def test_a_spinning_joint_is_described_by_its_quaternion():
    clip = turn(1.0, turns=2)
    assert isinstance(clip, Clip)
    mean = geodesic.intrinsic_mean(clip.rotations[:, 0])
    assert geodesic.kind_of_motion(clip.rotations[:, 0], mean) == geodesic.QUATERNION


def test_a_lever_is_how_far_a_radian_moves_the_joints_below():
    positions = np.array([[[0.0, 0, 0], [0, 0.3, 0]]])
    # two of three axes turn a point, and the skin is 3 cm away; the mean is over both joints
    expected = np.sqrt([(0.09 * 2 / 3 + 0.0009) / 2, 0.0009 / 2])
    np.testing.assert_allclose(geodesic.levers(positions, (-1, 0), 0.03), expected)
