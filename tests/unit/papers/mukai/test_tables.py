"""Mukai's table: the definition of its errors, on generated meshes."""

import numpy as np
import pytest

from mocpack.model.clip import VertexClip
from mocpack.papers.mukai.codec import bspline
from mocpack.papers.mukai.tables import reproduce as mukai
from mocpack.papers.mukai.tables.particle_swarm import swarm_knots
from mocpack.testing import walk
from mocpack.testing.motions import vertex_wave
from reference.bspline import basis_numpy


def percent_error(clip, components, control_points, method):
    """Return E_D of one column of Table 1."""
    rows, dropped, points = mukai.to_latent(clip, components)
    return mukai.percent(mukai.fit_error(points, control_points, method), rows, dropped)


def moved(clip, by):
    return VertexClip(clip.header, clip.vertices + by[:, np.newaxis])


def test_the_mesh_may_travel_without_a_change_of_its_error():
    clip = vertex_wave(60, 6)
    travel = np.random.default_rng(1).normal(size=(60, 3)).cumsum(axis=0)
    still = percent_error(clip, 5, 12, "uniform")
    assert percent_error(moved(clip, travel), 5, 12, "uniform") == pytest.approx(still, rel=1e-9)


def test_the_error_of_even_knots_is_that_of_so_many_control_points():
    clip = vertex_wave(60, 6)
    shape = clip.vertices - clip.vertices.mean(axis=1, keepdims=True)
    rows = shape.reshape(60, -1)
    away = rows - rows.mean(axis=0)
    u, s, vt = np.linalg.svd(away, full_matrices=False)
    scores = u[:, :5] * s[:5]
    basis = basis_numpy(bspline.uniform_knots(12, 3), 3, np.linspace(0, 1, 60))
    assert basis.shape[1] == 12
    curve = basis @ np.linalg.lstsq(basis, scores, rcond=None)[0]
    left = away - curve @ vt[:5]
    expected = 100 * np.sqrt(np.sum(left**2) / np.sum(away**2))
    assert percent_error(clip, 5, 12, "uniform") == pytest.approx(expected, rel=1e-6)


def test_free_knots_find_the_jerk_of_a_mesh():
    clip = vertex_wave(120, 5)
    jerk = 1 / (1 + np.exp(-80 * (np.linspace(0, 1, 120) - 0.7)))
    clip = VertexClip(clip.header, clip.vertices * (1 + 3 * jerk[:, np.newaxis, np.newaxis]))
    even, fast = (percent_error(clip, 6, 12, method) for method in ("uniform", "fast"))
    assert fast < 0.6 * even


def test_figure_1_has_the_frame_that_even_knots_miss_most():
    clip = vertex_wave(60, 6)
    jerk = np.where(np.arange(60) == 40, 3.0, 1.0)
    clip = VertexClip(clip.header, clip.vertices * jerk[:, np.newaxis, np.newaxis])
    even = bspline.uniform_knots(12, 3)
    near = bspline.clamped(np.linspace(38, 42, 8) / 59, 3)  # around that frame
    rows = mukai.figure_1(mukai.FIGURE_1[0], clip, {"even": even, "free": near})
    assert {row["frame"] for row in rows} == {40}
    original, even_y, free_y = (
        np.array([row["y"] for row in rows if row["knots"] == kind])
        for kind in ("original", "even", "free")
    )
    assert np.abs(free_y - original).max() < 0.5 * np.abs(even_y - original).max()


def test_figure_1_of_a_skeleton_has_its_bones():
    clip = walk(1.0)
    rows = mukai.figure_1(mukai.FIGURE_1[1], clip, {"even": bspline.uniform_knots(8, 3)})
    original = [row for row in rows if row["knots"] == "original"]
    assert len(original) == 2 * (len(clip.skeleton) - 1)
    frame = original[0]["frame"]
    ends = clip.positions()[frame, 1:, 1]
    np.testing.assert_allclose([row["y"] for row in original[::2]], ends, atol=1e-6)


def test_figure_1_is_a_formula_beside_the_real_file():
    chicken, squirrel, _ = mukai.share_lines({"chicken": 1.5})
    assert (chicken.printed, chicken.literal, chicken.ours) == ("11", "10.9", "1.5")
    assert (squirrel.printed, squirrel.literal, squirrel.ours) == ("17", "17.4", "–")
    assert chicken.verdict == squirrel.verdict == "not measured"


def test_a_clip_of_table_1_that_is_missing_has_its_lines_and_says_so():
    lines = mukai.case_lines(mukai.CASES[0], None, None, None)
    assert [line.printed for line in lines] == ["24.1", "11.8"]
    assert all(line.verdict == "not measured" for line in lines)
    assert all("mesh/chickenCrossing" in line.reason for line in lines)


def test_another_clip_than_the_papers_is_neither_better_nor_worse():
    own, other = mukai.CASES[0], mukai.CASES[2]
    lines = mukai.case_lines(own, 24.1, [5.0, 6.0], 4.0)
    assert [line.verdict for line in lines] == ["reproduced", "better"]
    assert {line.verdict for line in mukai.case_lines(other, 19.5, [1.0], 1.0)} == {
        "not comparable"
    }


def test_claims_of_a_search_hold_within_ten_percent():
    found = mukai.Searches(10.0, after=[1.3, 1.3], final=[1.0, 1.0], swarm=[1.0, 1.1])
    lines = mukai.function_lines("(a) step", found)
    assert [line.verdict for line in lines] == ["holds", "fails", "holds"]
    assert lines[2].literal == "1.00, 1.05[1.00–1.10] times the least"


def test_the_swarm_finds_the_knot_of_a_kink():
    x = np.linspace(0, 1, 101)
    points = np.abs(x - 0.3)[:, np.newaxis]
    knots = swarm_knots(points, 3, 3, seed=0)
    assert np.abs(bspline.inner_knots(knots, 3) - 0.3).max() < 0.05
