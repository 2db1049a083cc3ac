"""Helpers of the reproductions: frames that are read, interpolation, work on all cores."""

import numpy as np
import pytest

import mocpack
from mocpack.bench.papers.measuring import (
    interpolate_log,
    load_frames,
    map_parallel,
    mean_error,
    without_cache,
)
from mocpack.model.clip import Clip
from mocpack.testing import walk


def test_frames_are_read_without_the_first_or_by_a_stride(tmp_path):
    clip = walk(0.5)
    path = tmp_path / "walk.npz"
    mocpack.write(clip, path)
    assert load_frames(path).frame_count == clip.frame_count - 1
    found = load_frames(path, 3, 2, 5)
    assert np.array_equal(found.rotations, clip.rotations[3:13:2])
    assert found.frame_time == pytest.approx(2 * clip.frame_time)


def test_outside_its_points_a_curve_has_no_value():
    points = [(1.0, 10.0), (100.0, 1000.0)]
    assert interpolate_log(10.0, points) == pytest.approx(100.0)
    assert interpolate_log(0.5, points) is None
    assert interpolate_log(200.0, points) is None
    assert interpolate_log(1.0, []) is None


def test_the_mean_error_of_a_shifted_clip_is_its_shift():
    clip = walk(0.2)
    moved = clip.translations.copy()
    moved[:, 0, 0] += 0.25
    assert mean_error(clip, Clip(clip.header, clip.rotations, moved)) == pytest.approx(0.25)
    assert mean_error(clip, without_cache(clip)) == 0


def test_results_have_the_order_of_the_tasks():
    assert map_parallel(pow, 2, [3, 1, 4], "powers") == [8, 2, 16]
