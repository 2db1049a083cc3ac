import numpy as np
import pytest

from mocpack import read
from mocpack.bench.datasets import COMMITTED, collection, require_clip
from mocpack.model import rotations
from mocpack.papers.li.codec.bodies import find_bodies, find_still
from mocpack.papers.li.codec.channel_fit import clip_of_bodies
from mocpack.papers.li.codec.direction_twist import (
    AngleFrame,
    choose_frame,
    directions,
    from_angles,
    shortest_turn,
    to_angles,
)
from mocpack.testing import hard_clips

Z_UP = AngleFrame(np.array([[1.0, 0, 0]]), np.array([2], np.uint8), np.array([0], np.uint8))


def paper_frame(axes):
    """Return the paper's own choice: polar angles from z, twist from the rest pose."""
    zeros = np.zeros(len(axes), np.uint8)
    return AngleFrame(axes, zeros + np.uint8(2), zeros)


def turned(rotvecs):
    return rotations.from_rotvec(np.atleast_2d(rotvecs).astype(float))[:, np.newaxis]


def there_and_back(clip, frame_of):
    still = find_still(clip)
    bodies = find_bodies(clip.header, still)
    world = bodies.world(clip)[1]
    frame = frame_of(world, bodies.axes)
    again = from_angles(to_angles(world, frame), frame)
    slides = clip.translations[:, ~still.translations]
    return clip_of_bodies(clip.header, still, bodies, again, slides)


def test_angles_are_the_papers_spherical_ones():
    # the x axis, a quarter turn about z: along y, so polar π/2 and azimuth π/2; no twist
    angles = to_angles(turned([0, 0, np.pi / 2]), Z_UP)[0, 0]
    np.testing.assert_allclose(angles, [np.pi / 2, np.pi / 2, 0], atol=1e-12)
    # a turn about the bone itself is all twist
    angles = to_angles(turned([0.7, 0, 0]), Z_UP)[0, 0]
    np.testing.assert_allclose(angles, [np.pi / 2, 0, 0.7], atol=1e-12)


def test_twist_leaves_the_direction_alone():
    angles = np.array([[[0.8, -2.0, 0.0]], [[0.8, -2.0, 1.3]]])
    bones = rotations.rotate(from_angles(angles, Z_UP), Z_UP.axes)
    np.testing.assert_allclose(bones[0], bones[1], atol=1e-15)
    np.testing.assert_allclose(bones[0], directions(angles[:1, :, :2], Z_UP.poles)[0], atol=1e-15)


def test_a_bone_goes_straight_through_a_pole():
    # about y, from the x axis over the pole and beyond, several times round
    turns = np.linspace(0, -6 * np.pi, 400)
    angles = to_angles(turned(np.stack([0 * turns, turns, 0 * turns], axis=1)), Z_UP)[:, 0]
    np.testing.assert_allclose(np.abs(np.diff(angles[:, 0])), 6 * np.pi / 399, atol=1e-9)
    assert np.ptp(angles[:, 1]) < 1e-9


def test_full_turns_about_the_pole_add_up():
    turns = np.linspace(0, 8 * np.pi, 200)
    angles = to_angles(turned(np.stack([0 * turns, 0 * turns, turns], axis=1)), Z_UP)[:, 0]
    assert angles[-1, 1] - angles[0, 1] == pytest.approx(8 * np.pi)


def test_the_chosen_pole_and_reference_keep_away_from_the_motion():
    rng = np.random.default_rng(0)
    # a bone along z, then everywhere near -z: both the paper's poles and its twist would fail
    wobble = rng.normal(size=(300, 3)) * 0.1
    world = turned(wobble + np.array([np.pi, 0, 0]))
    frame = choose_frame(world, np.array([[0.0, 0, 1]]))
    angles = to_angles(world, frame)
    assert frame.poles[0] != 2
    assert np.abs(np.diff(angles, axis=0)).max() < 1.0


@pytest.mark.parametrize("name", hard_clips())
@pytest.mark.parametrize("frame_of", [choose_frame, lambda world, axes: paper_frame(axes)])
def test_every_hard_clip_round_trips(name, frame_of):
    clip = hard_clips()[name]
    back = there_and_back(clip, frame_of)
    scale = 1 + np.abs(clip.translations).max()
    assert np.abs(back.positions() - clip.positions()).max() < 1e-12 * scale
    assert rotations.angle_between(back.rotations, clip.rotations).max() < 1e-7


def test_every_real_clip_round_trips_within_a_nanometer():
    paths = collection("asfamc", COMMITTED)
    names = ("16_32", "49_04", "05_03", "85_12")
    paths += [require_clip(f"cmu/{name}", COMMITTED) for name in names]
    for path in paths:
        clip = read(path)
        clip = clip.frames(0, min(clip.frame_count, 600))
        back = there_and_back(clip, choose_frame)
        assert np.abs(back.positions() - clip.positions()).max() < 1e-9, path


def test_the_shortest_turn_takes_one_vector_to_the_other():
    rng = np.random.default_rng(1)
    a, b = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in rng.normal(size=(2, 50, 3)))
    b[:3] = -a[:3]
    turn = shortest_turn(a, b)
    np.testing.assert_allclose(rotations.rotate(turn, a), b, atol=1e-12)
    angle = rotations.angle_between(turn, rotations.IDENTITY)
    np.testing.assert_allclose(angle, np.arccos(np.clip(np.sum(a * b, axis=1), -1, 1)), atol=1e-7)
