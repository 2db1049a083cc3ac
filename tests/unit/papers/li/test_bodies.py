import numpy as np
import pytest

from mocpack import Clip, Skeleton
from mocpack.model import rotations
from mocpack.papers.li.codec.bodies import find_bodies, find_still
from mocpack.papers.li.codec.chains import find_chains
from mocpack.testing import hard_clips, walk


def bodies_of(clip):
    return find_bodies(clip.header, find_still(clip))


def names(clip, bodies, chains):
    return [[clip.skeleton.names[bodies.joints[b]] for b in chain] for chain in chains]


def helper_clip():
    """A root, a helper that never turns, and an arm on it."""
    skeleton = Skeleton(
        ("root", "helper", "arm"),
        (-1, 0, 1),
        np.array([[0, 0, 0], [0, 1, 0], [0.5, 0, 0]]),
        np.array([[0, 0, 0.2]]),
        (2,),
    )
    local = np.tile(rotations.IDENTITY, (4, 3, 1))
    local[:, 1] = rotations.from_rotvec(np.array([0, 0, np.pi / 2]))
    local[:, 2] = rotations.from_rotvec(np.linspace([0, 0, 0], [1, 0, 0], 4))
    local[:, 0] = rotations.from_rotvec(np.linspace([0, 0, 0], [0, 1, 0], 4))
    return Clip.build(skeleton, local, np.zeros((4, 3)))


def test_still_joints_ride_on_the_body_above():
    bodies = bodies_of(helper_clip())
    assert bodies.joints.tolist() == [0, 2]
    assert bodies.owners.tolist() == [0, 0, 1]
    # half a meter along the helper's x axis, which is the root's y
    np.testing.assert_allclose(bodies.attachments[1], [0, 1.5, 0], atol=1e-12)
    assert bodies.lengths.tolist() == pytest.approx([1.5, 0.2])
    assert not bodies.twist_places.any()


@pytest.mark.parametrize("name", hard_clips())
def test_bodies_sit_where_forward_kinematics_puts_them(name):
    clip = hard_clips()[name]
    still = find_still(clip)
    bodies = find_bodies(clip.header, still)
    positions, world = bodies.world(clip)
    slides = clip.translations[:, ~still.translations]
    for b in range(len(bodies)):
        found = bodies.place(b, positions, world, slides)
        np.testing.assert_allclose(found, positions[:, b], atol=1e-9)


def test_twist_counts_where_it_moves_a_joint():
    clip = walk(0.5)
    bodies = bodies_of(clip)
    twisted = {clip.skeleton.names[bodies.joints[b]] for b in np.flatnonzero(bodies.twist_places)}
    assert twisted == {"Hips", "Chest"}


def test_arms_legs_trunk_and_head_are_found():
    clip = walk(0.5)
    bodies = bodies_of(clip)
    found = names(clip, bodies, find_chains(bodies))
    assert ["Spine", "Chest"] in found
    assert ["LeftShoulder", "LeftArm", "LeftForeArm", "LeftHand"] in found
    assert ["RightUpLeg", "RightLeg", "RightFoot"] in found
    assert ["Neck", "Head"] in found
