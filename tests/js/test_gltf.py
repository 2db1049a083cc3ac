"""glTF animations have the positions that three.js computes with its own loader."""

from pathlib import Path

import numpy as np
import pytest
from in_three import find_three, largest_differences, pose
from made_gltf import Made

import mocpack

SAMPLES = Path(__file__).parents[1] / "samples"


@pytest.fixture(autouse=True)
def three():
    find_three()


def limb(seed=0):
    """A file of everything at once: matrix, scales, repeated names, all interpolations, weights."""
    rng = np.random.default_rng(seed)
    turn = [0.8, 0.6, 0, 0, -0.6, 0.8, 0, 0, 0, 0, 1, 0, 1, 2, 3, 1]
    faces = [{"primitives": [{"attributes": {"POSITION": 0}, "targets": [{"POSITION": 0}] * 2}]}]
    nodes = [
        {"matrix": turn, "children": [1, 5]},
        {"children": [2], "scale": [1, 2, 0.5], "name": "arm"},
        {"children": [3], "translation": [0.5, 0, 0], "rotation": [0.6, 0, 0, 0.8]},
        {"children": [4], "translation": [0.4, 0.1, 0], "name": "arm"},
        {"translation": [0.3, 0, 0.1], "mesh": 0, "name": "face"},
        {"translation": [0, 0.7, 0]},
        {"name": "alone"},
    ]
    made = Made(nodes, scenes=[{"nodes": [0, 6]}], scene=0, meshes=faces)
    made.array(rng.normal(size=(3, 3)), min=[-9] * 3, max=[9] * 3)

    def turns(count):
        found = rng.normal(size=(count, 4))
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    even, odd = np.linspace(0.25, 1.5, 6), np.cumsum(rng.uniform(0.02, 0.3, 7))
    spins = turns(18) * np.tile([[0.3], [1.0], [0.3]], (6, 1))
    made.animate(
        (1, "rotation", even, turns(6), "LINEAR"),
        (2, "rotation", even, spins, "CUBICSPLINE"),
        (3, "translation", even, rng.normal(size=(18, 3)), "CUBICSPLINE"),
        (3, "scale", even, rng.uniform(0.5, 2, (6, 3)), "LINEAR"),
        (4, "weights", even, rng.uniform(0, 1, 12), "LINEAR"),
    )
    made.animate(
        (1, "rotation", odd, turns(7), "LINEAR"),
        (4, "translation", even, rng.normal(size=(6, 3)), "STEP"),
        (6, "translation", odd, rng.normal(size=(7, 3)), "LINEAR"),
    )
    return made


def test_every_animation_of_the_sample_matches_three():
    found = list(largest_differences(SAMPLES / "Fox.glb"))
    assert [name for name, *_ in found] == ["Survey", "Walk", "Run"]
    # the fox is 100 units long
    assert max(max(apart) for _, *apart in found) < 1e-4


@pytest.mark.parametrize("seed", range(3))
def test_every_kind_of_key_and_node_matches_three(tmp_path, seed):
    (tmp_path / "limb.glb").write_bytes(limb(seed).glb())
    for _, at_frames, at_random in largest_differences(tmp_path / "limb.glb", count=300):
        assert at_frames < 1e-5
        assert at_random < 1e-3  # cubics go straight from frame to frame


def test_morph_weights_are_those_of_three(tmp_path):
    (tmp_path / "limb.glb").write_bytes(limb().glb())
    clip = mocpack.read(tmp_path / "limb.glb")
    _, weights = pose(tmp_path / "limb.glb", 0, clip.times)
    ours = np.stack([track.values for track in clip.tracks.values()], axis=1)
    assert list(clip.tracks) == ["face.weight 0", "face.weight 1"]
    np.testing.assert_allclose([row[4] for row in weights], ours, atol=1e-6)


@pytest.mark.parametrize("bound", ["20cm", "7.5cm"])
def test_a_packed_animation_keeps_its_bound_as_three_poses_it(bound):
    """At 1 000 random times and at every frame; the walking fox turns by up to 62° in one."""

    def packed(clip):
        return mocpack.decode(mocpack.encode(clip, max_error=bound, effort="fast"))

    for _, *apart in largest_differences(SAMPLES / "Fox.glb", packed=packed, count=1000):
        assert max(apart) <= float(bound[:-2]) / 100
