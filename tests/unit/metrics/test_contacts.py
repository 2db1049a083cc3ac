import numpy as np
import pytest

from mocpack import Clip, Skeleton
from mocpack.metrics import compare, foot_skate_excess, has_foot_skate
from mocpack.model.contacts import find_feet, find_planted
from mocpack.model.rotations import IDENTITY
from mocpack.testing import humanoid

LEG = Skeleton(("Hips", "LeftFoot"), (-1, 0), [[0, 0, 0], [0, -1, 0]])
RATE = 100.0


def standing(hips, skeleton=LEG):
    """A body with given hip positions, whose joints do not rotate."""
    hips = np.asarray(hips, float)
    local = np.tile(IDENTITY, (len(hips), len(skeleton), 1))
    return Clip.build(skeleton, local, hips, frame_rate=RATE)


def path(frames, **axes):
    hips = np.tile([0.0, 1.0, 0.0], (frames, 1))
    for axis, values in axes.items():
        hips[:, "xyz".index(axis)] += values
    return hips


def sliding(speed, frames=50):
    """A foot that slides sideways at `speed` m/s."""
    return standing(path(frames, x=speed * np.arange(frames) / RATE))


def test_a_foot_that_slides_1_mm_a_frame_slides_10_cm_a_second():
    found = compare(sliding(0), sliding(0.1))
    assert found["foot_skate_cm_s"] == pytest.approx(10)
    assert found["foot_skate_source_cm_s"] == pytest.approx(0, abs=1e-9)


def test_the_sources_own_sliding_is_stated_beside():
    found = compare(sliding(0.05), sliding(0))
    assert found["foot_skate_cm_s"] == pytest.approx(0, abs=1e-9)
    assert found["foot_skate_source_cm_s"] == pytest.approx(5)


def test_going_up_and_down_is_not_sliding():
    bob = 0.001 * (np.arange(50) % 2)
    assert compare(standing(path(50)), standing(path(50, y=bob)))["foot_skate_cm_s"] == 0


def test_only_steps_in_which_the_original_is_planted_count():
    # 60 frames on the ground, then 60 frames 20 cm up; the decoded foot slides while it is up
    height = 0.2 * (np.arange(120) >= 60)
    slide = 0.001 * np.maximum(np.arange(120) - 60, 0)
    original = standing(path(120, y=height))
    assert compare(original, standing(path(120, y=height, x=slide)))["foot_skate_cm_s"] == 0
    assert compare(original, standing(path(120, x=0.001 * np.arange(120))))[
        "foot_skate_cm_s"
    ] == pytest.approx(10)


def test_planted_is_low_and_slow():
    # at 100 frames per second the speed is taken over 5 frames to each side, at the ends over less
    slow, fast, high = 0.0014, 0.0016, 0.5
    x = np.array([slow, fast, 0.0])
    steps = np.arange(40)[:, np.newaxis] * x
    points = np.stack([steps, np.zeros_like(steps), np.zeros_like(steps)], axis=-1)
    points[30:, 2, 1] = high
    on = find_planted(points, RATE)
    assert on[:, 0].all()
    assert not on[:, 1].any()
    assert on[:25, 2].all()
    assert not on[30:, 2].any()


def test_a_body_that_never_stands_has_no_foot_skate():
    found = compare(sliding(3.0), sliding(3.0))
    assert found["foot_skate_cm_s"] is None
    assert found["foot_skate_source_cm_s"] is None
    assert foot_skate_excess(sliding(3.0), sliding(3.0), 0.001) == 0


def test_slip_is_measured_against_a_fifth_of_the_bound_each_frame():
    # 1 mm at 100 frames per second: a foot may slip 0.2 mm a frame, 2 cm/s
    assert foot_skate_excess(sliding(0), sliding(0.1), 0.001) == pytest.approx(5)
    assert has_foot_skate(sliding(0), sliding(0.021), 0.001)
    assert not has_foot_skate(sliding(0), sliding(0.019), 0.001)
    # plus the source's own speed
    assert foot_skate_excess(sliding(0.03), sliding(0.05), 0.001) == pytest.approx(1)


def test_one_slipping_foot_of_two_is_enough():
    skeleton = Skeleton(
        ("Hips", "LeftFoot", "RightFoot"),
        (-1, 0, 0),
        [[0, 0, 0], [0.1, -1, 0], [-0.1, -1, 0]],
        channels=(("Yposition",), ("Xposition", "Yposition", "Zposition"), ()),
    )
    local = np.tile(IDENTITY, (50, 3, 1))
    places = np.tile(skeleton.offsets[:2], (50, 1, 1))
    original = Clip.build(skeleton, local, places, frame_rate=RATE, translated_joints=(0, 1))
    places = places.copy()
    places[:, 1, 0] += 0.1 * np.arange(50) / RATE
    decoded = Clip.build(skeleton, local, places, frame_rate=RATE, translated_joints=(0, 1))
    assert compare(original, decoded)["foot_skate_cm_s"] == pytest.approx(5)
    assert foot_skate_excess(original, decoded, 0.001) == pytest.approx(5)


def test_feet_are_found_by_name():
    skeleton = humanoid()
    names = [skeleton.names[j] for j in find_feet(skeleton, np.zeros((1, len(skeleton), 3)))]
    assert names == ["LeftFoot", "LeftToe", "RightFoot", "RightToe"]


def test_feet_without_a_name_are_the_lowest_leaves():
    skeleton = Skeleton(
        ("a", "b", "c", "d"), (-1, 0, 1, 0), [[0, 0, 0], [0, -0.5, 0], [0, -0.5, 0], [0.5, 0, 0]]
    )
    clip = standing(path(3), skeleton)
    assert find_feet(skeleton, clip.positions()) == [2]
