"""A comparison in words: how far off, where, and whether that was promised."""

import numpy as np
import pytest

import mocpack
from mocpack.testing import walk

CLIP = walk(1.0)


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
    assert "Planted feet stand as in the source" in mocpack.compare(CLIP, moved(3)).verdict()


def test_feet_that_slide_are_said_to():
    sliding = CLIP.translations.copy()
    sliding[:, 0, 0] += 0.05 * CLIP.frame_time * range(CLIP.frame_count)  # 5 cm/s
    decoded = mocpack.Clip(CLIP.header, CLIP.rotations, sliding)
    words = mocpack.compare(CLIP, decoded).verdict()
    assert "Planted feet slide: " in words


def test_the_verdict_comes_before_the_table():
    found = mocpack.compare(CLIP, moved(3))
    assert str(found) == f"{found.verdict()}\n\n{found.table()}"
