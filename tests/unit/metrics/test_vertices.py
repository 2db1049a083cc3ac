import numpy as np
import pytest

from mocpack import VertexClip
from mocpack.metrics import compare
from mocpack.metrics.vertices import mesh_edges
from mocpack.testing.motions import vertex_wave

# sides 3, 4 and 5
TRIANGLE = np.array([[0.0, 0, 0], [3, 0, 0], [0, 4, 0]])
FACES = [[0, 1, 2]]


def mesh(*frames):
    return VertexClip.build(np.array(frames), FACES)


def test_sted_in_space_is_the_unevenness_of_edges_around_a_vertex():
    # vertex 1 goes to (6, 0, 0): edges 3 -> 6 (+1), 4 -> 4 (0), 5 -> sqrt(52) (+0.442221).
    # Weighted by length, around vertex 0: mean 3/7, deviation sqrt(3/7 - 9/49) = 0.494872;
    # vertex 1: mean 0.651388, deviation 0.270034; vertex 2: mean 0.245678, deviation 0.219741
    world_matrices = TRIANGLE * [2, 1, 1]
    found = compare(mesh(TRIANGLE), mesh(world_matrices))
    assert found["sted_spatial"] == pytest.approx((0.494872 + 0.270034 + 0.219741) / 3, abs=1e-5)
    assert found["sted_temporal"] is None
    assert found["sted"] is None


def test_even_growth_and_shifts_cost_nothing_in_space():
    found = compare(mesh(TRIANGLE, TRIANGLE), mesh(2 * TRIANGLE, TRIANGLE + 7))
    assert found["sted_spatial"] == pytest.approx(0, abs=1e-6)
    assert found["sted_temporal"] > 1


def test_sted_in_time_is_the_change_of_speed_over_speed():
    # the box has a diagonal of 5, so d = 0.0015; a step of 0.002 makes an edge of 0.0025
    found = compare(mesh(TRIANGLE, TRIANGLE + np.array([0, 0, 0.002])), mesh(TRIANGLE, TRIANGLE))
    assert found["sted_temporal"] == pytest.approx((0.0025 - 0.0015) / 0.0025)
    assert found["sted_spatial"] == pytest.approx(0, abs=1e-6)
    assert found["sted"] == pytest.approx(0.4)


def test_sted_is_the_hypotenuse_of_its_parts():
    clip = vertex_wave()
    noise = np.random.default_rng(0).normal(0, 0.01, clip.vertices.shape)
    found = compare(clip, VertexClip.build(clip.vertices + noise, clip.faces))
    assert found["sted"] == pytest.approx(np.hypot(found["sted_spatial"], found["sted_temporal"]))
    assert found["sted_spatial"] > 0.01


def test_shaking_costs_more_than_an_equal_shift():
    # the reason for STED: the same distance from the original, in step or out of step
    clip = vertex_wave()
    shift = np.full_like(clip.vertices, 0.01)
    shake = shift * np.where(np.arange(12) % 2, 1, -1)[:, None, None]
    shifted, shaken = (
        compare(clip, VertexClip.build(clip.vertices + d, clip.faces)) for d in (shift, shake)
    )
    assert shifted["mean_mm"] == pytest.approx(shaken["mean_mm"])
    assert shifted["sted"] == pytest.approx(0, abs=1e-6)
    assert shaken["sted"] > 0.1


def test_an_edge_between_two_faces_counts_once():
    assert mesh_edges(np.array([[0, 1, 2], [2, 1, 3]], np.int32)).tolist() == [
        [0, 1], [0, 2], [1, 2], [1, 3], [2, 3],
    ]  # fmt: skip


def test_points_without_faces_have_the_temporal_part_only():
    points = np.zeros((3, 4, 3)) + np.arange(4)[:, None]
    found = compare(VertexClip.build(points), VertexClip.build(points))
    assert found["sted_spatial"] is None
    assert found["sted_temporal"] == 0


def test_metrics_of_skeletons_are_null_for_meshes():
    found = compare(mesh(TRIANGLE), mesh(TRIANGLE + np.array([0, 3, 4])))
    assert found["max_error_mm"] == pytest.approx(5000)
    assert found["mean_mm"] == pytest.approx(5000)
    for key in ("rotation_deg_max", "eps_x_cm", "foot_skate_cm_s", "sk_ted", "e_angle_deg"):
        assert found[key] is None
