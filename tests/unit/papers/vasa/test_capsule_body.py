"""The capsule body follows its bones."""

import numpy as np

from mocpack.papers.vasa.tables.capsule_body import capsule_body, skin
from mocpack.testing import still, walk
from mocpack.testing.motions import humanoid


def test_every_vertex_is_held_whole():
    body = capsule_body(humanoid())
    np.testing.assert_allclose(body.shares.sum(axis=1), 1)
    assert body.shares.min() >= 0
    assert body.faces.max() == len(body.holders) - 1


def test_a_body_that_moves_as_one_keeps_its_shape():
    clip = still(3)
    surface = skin(clip, capsule_body(clip.skeleton)).vertices
    np.testing.assert_allclose(surface[0], surface[2], atol=1e-12)


def test_the_surface_stays_near_the_bones():
    clip = walk(0.5)
    surface = skin(clip, capsule_body(clip.skeleton)).vertices
    bones = clip.positions()
    reach = np.linalg.norm(surface[:, :, np.newaxis] - bones[:, np.newaxis], axis=-1).min(axis=2)
    assert reach.max() < 0.35
