"""The verdict of a comparison: largest error, its joint and frame, and the bound."""

import numpy as np

import mocpack
from mocpack.testing import still, walk
from naming import names

CLIP = walk(1.0)
STILL = still(60)


def moved(millimeters):
    return mocpack.Clip(
        CLIP.header, CLIP.rotations, CLIP.translations + np.array([millimeters / 1000, 0, 0])
    )


def test_the_verdict_says_how_far_where_and_the_mean():
    words = mocpack.compare(CLIP, moved(3)).verdict()
    assert names(words, "3 mm frame mean")
    assert words.count(" mm") == 2  # no bound was given


def test_the_verdict_says_whether_the_bound_is_kept():
    found = mocpack.compare(CLIP, moved(3))
    said = {mm: found.verdict(mm / 1000).replace(f"{mm} mm", "BOUND") for mm in (1, 2, 4, 5)}
    assert all("BOUND" in words for words in said.values())
    assert said[1] == said[2] != said[4] == said[5]
    assert [found.is_within(mm / 1000) for mm in (2, 3, 4)] == [False, True, True]


def test_the_verdict_reports_unchanged_feet():
    words = mocpack.compare(STILL, STILL).verdict()
    assert names(words, "feet 0 cm/s")


def test_the_verdict_reports_sliding_feet():
    sliding = STILL.translations.copy()
    sliding[:, 0, 0] += 0.05 * STILL.frame_time * np.arange(STILL.frame_count)  # 5 cm/s
    decoded = mocpack.Clip(STILL.header, STILL.rotations, sliding)
    words = mocpack.compare(STILL, decoded).verdict()
    assert names(words, "feet 5 cm/s 0")


def test_without_planted_feet_the_verdict_omits_feet():
    assert "feet" not in mocpack.compare(CLIP, moved(3)).verdict()


def test_the_verdict_comes_before_the_table():
    found = mocpack.compare(CLIP, moved(3))
    assert str(found) == f"{found.verdict()}\n\n{found.table()}"
