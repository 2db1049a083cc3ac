"""Readers and writers on files that other programs wrote."""

import numpy as np
import pytest

import mocpack
from mocpack.bench.datasets import COMMITTED, find_clip
from mocpack.io import amc, bvh
from mocpack.model.kinematics import end_positions

ANIMATED = ["bandai/dataset-1_kick_normal_001", "dog/D1_007_KAN01_001"]


@pytest.mark.parametrize("name", ["cmu", "asfamc"])
def test_the_clips_of_the_repository_are_their_originals_to_the_bit(whole, name):
    for path in whole(name):
        packed = find_clip(f"{name}/{path.stem}", COMMITTED)
        original, decoded = mocpack.read(path), mocpack.read(packed)
        assert decoded.header == original.header, path
        for field in ("rotations", "translations", "channels"):
            assert getattr(decoded, field).tobytes() == getattr(original, field).tobytes(), path


@pytest.mark.parametrize("name", ANIMATED)
def test_bvh_round_trips_number_for_number(real, name):
    clip = mocpack.read(real(name))
    back = mocpack.read_data(bvh.write(clip))
    assert back.skeleton == clip.skeleton
    assert back.frame_time == clip.frame_time
    assert np.array_equal(back.channels, clip.channels)
    assert np.array_equal(back.positions(), clip.positions())


@pytest.mark.parametrize("name", ANIMATED)
def test_bvh_survives_acclaim_files(real, name):
    clip = mocpack.read(real(name)).frames(0, 100)
    back = amc.read(amc.write(clip), skeleton=amc.write_skeleton(clip))
    names = clip.skeleton.names
    a, b = places(back, names), places(clip, names)
    np.testing.assert_allclose(a, b, atol=1e-6)


def places(clip, names):
    """Positions of the named joints (Acclaim calls the first one root), then of bone ends."""
    own = [0, *(clip.skeleton.index(name) for name in names[1:])]
    positions, world = clip.world()
    ends = end_positions(clip.skeleton, positions, world)
    ends = ends[:, clip.skeleton.end_sites.any(axis=1)]
    order = np.lexsort(np.round(ends[0], 4).T)
    return np.concatenate([positions[:, own], ends[:, order]], axis=1)


@pytest.mark.parametrize("name", ["bandai", "dog"])
def test_the_unit_is_guessed_right(whole, name):
    for path in whole(name)[:12]:
        assert mocpack.read(path).unit == 0.01, path


def test_a_mesh_is_read(real):
    clip = mocpack.read(real("mesh/horse-gallop"))
    assert clip.vertices.shape == (48, 8431, 3)
    assert clip.faces.shape == (16843, 3)
