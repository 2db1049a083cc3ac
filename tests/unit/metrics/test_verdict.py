"""A comparison in words: how far off, where, and whether that was promised."""

import numpy as np
import pytest

import mocpack
from mocpack.testing import still, walk

CLIP = walk(1.0)
STILL = still(60)


def moved(millimetres):
    return mocpack.Clip(
        CLIP.header, CLIP.rotations, CLIP.translations + np.array([millimetres / 1000, 0, 0])
    )


def test_the_verdict_says_how_far_where_and_the_mean():
    words = mocpack.compare(CLIP, moved(3)).verdict()
    assert words.startswith("The largest error is 3 mm at ")
    assert "frame " in words
    assert "The mean is 3 mm." in words
    assert "declares" not in words


@pytest.mark.parametrize(
    ("bound", "words"),
    [(0.004, ": within the 4 mm that"), (0.003, ": within the 3 mm"), (0.002, ": NOT within the")],
)
def test_the_verdict_says_whether_the_bound_is_kept(bound, words):
    found = mocpack.compare(CLIP, moved(3))
    assert words in found.verdict(bound)
    assert found.keeps(bound) == (bound >= 0.003)


def test_feet_that_stand_as_before_are_said_to():
    assert "Planted feet stand as in the source" in mocpack.compare(STILL, STILL).verdict()


def test_feet_that_slide_are_said_to():
    sliding = STILL.translations.copy()
    sliding[:, 0, 0] += 0.05 * STILL.frame_time * np.arange(STILL.frame_count)  # 5 cm/s
    decoded = mocpack.Clip(STILL.header, STILL.rotations, sliding)
    words = mocpack.compare(STILL, decoded).verdict()
    assert "Planted feet slide: 5 cm/s, in the source 0." in words


def test_where_no_foot_is_planted_nothing_is_said_of_feet():
    assert "feet" not in mocpack.compare(CLIP, moved(3)).verdict()


def test_the_verdict_comes_before_the_table():
    found = mocpack.compare(CLIP, moved(3))
    assert str(found) == f"{found.verdict()}\n\n{found.table()}"
