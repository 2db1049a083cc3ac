"""Grouping and rotation of joints on animals and people of other databases."""

import numpy as np
import pytest

import mocpack
from mocpack.papers.li.codec.bodies import find_bodies, find_still
from mocpack.papers.li.codec.chains import find_chains
from mocpack.papers.li.codec.channel_fit import clip_of_bodies
from mocpack.papers.li.codec.direction_twist import choose_frame, from_angles, to_angles


def test_the_dogs_legs_and_tail_are_found(real):
    clip = mocpack.read(real("dog/D1_007_KAN01_001"))
    bodies = find_bodies(clip.header, find_still(clip))
    ends = [clip.skeleton.names[bodies.joints[chain[-1]]] for chain in find_chains(bodies)]
    assert ends == [
        "Spine1",
        "Head",
        "LeftHand",
        "RightHand",
        "LeftFoot",
        "RightFoot",
        "Tail1",
    ]


@pytest.mark.parametrize("name", ["bandai", "dog"])
def test_every_clip_round_trips_from_directions_and_twists_within_a_nanometer(whole, name):
    for path in whole(name):
        clip = mocpack.read(path)
        clip = clip.frames(0, min(clip.frame_count, 600))
        still = find_still(clip)
        bodies = find_bodies(clip.header, still)
        world = bodies.world(clip)[1]
        frame = choose_frame(world, bodies.axes)
        again = from_angles(to_angles(world, frame), frame)
        slides = clip.translations[:, ~still.translations]
        back = clip_of_bodies(clip.header, still, bodies, again, slides)
        assert np.abs(back.positions() - clip.positions()).max() < 1e-9, path
