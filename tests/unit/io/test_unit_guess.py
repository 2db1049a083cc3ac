"""The guessed length unit is right for bodies of all sizes and units."""

from dataclasses import dataclass

import numpy as np
import pytest

import mocpack
from mocpack.bench.datasets import COMMITTED, collection
from mocpack.io.unit_guess import CANDIDATES, CMU_UNIT, guess_unit
from mocpack.model.skeleton import Skeleton
from mocpack.testing.motions import humanoid

UNITS = {name: meters for name, (meters, _) in CANDIDATES.items()}


@dataclass
class Tree:
    parents: list[int]
    offsets: list[list[float]]
    end_sites: list[list[float]]
    end_joints: list[int]
    channels: list[tuple[str, ...]]


def tree_of(skeleton: Skeleton, scale: float) -> Tree:
    return Tree(
        list(skeleton.parents),
        (skeleton.offsets * scale).tolist(),
        (skeleton.end_sites * scale).tolist(),
        list(skeleton.end_site_joints),
        list(skeleton.channels),
    )


@pytest.mark.parametrize("unit", list(UNITS))
@pytest.mark.parametrize("size", [0.7, 1.0, 1.1])
def test_people_are_measured_right_in_every_unit(unit, size):
    found, name = guess_unit(tree_of(humanoid(), size / UNITS[unit]))
    assert (found, name) == (UNITS[unit], unit)


@pytest.mark.parametrize("unit", ["m", "cm", "mm"])
@pytest.mark.parametrize("size", [0.5, 0.8, 1.3])
def test_children_and_giants_are_measured_right_in_metric_units(unit, size):
    assert guess_unit(tree_of(humanoid(), size / UNITS[unit]))[1] == unit


def test_a_point_has_no_size_to_guess_from():
    assert guess_unit(Tree([-1], [[0, 0, 0]], [], [], [()])) == (1.0, "m")


def test_the_position_of_the_root_is_not_a_bone():
    tree = tree_of(humanoid(), 100.0)
    far = Tree(
        [-1, *(p + 1 for p in tree.parents)],
        [[0, 0, 0], [900.0, 90.0, 900.0], *tree.offsets[1:]],
        tree.end_sites,
        [j + 1 for j in tree.end_joints],
        [(), *tree.channels],
    )
    assert guess_unit(far)[1] == "cm"


def test_joints_that_move_are_where_the_first_frame_puts_them():
    skeleton = humanoid()
    tree = tree_of(skeleton, 100.0)
    channels = [("Xposition", "Yposition", "Zposition")] * len(skeleton)
    first = (skeleton.offsets * 100).ravel()
    tree = Tree(tree.parents, [[0.0, 0, 0]] * len(skeleton), [], [], channels)
    assert guess_unit(tree, first)[1] == "cm"


@pytest.mark.slow
def test_every_real_clip_is_measured_right():
    for path in collection("cmu", COMMITTED):
        clip = mocpack.read(path)
        text = mocpack.io.write_bytes(clip.frames(0, min(clip.frame_count, 30)), ".bvh")
        back = mocpack.read_data(text)
        assert (back.unit, back.metadata["unit_guessed"]) == (CMU_UNIT, "CMU's 5.644cm"), path


def test_the_guess_is_reported():
    skeleton = humanoid()
    clip = mocpack.Clip.build(skeleton, np.tile([0.0, 0, 0, 1], (1, 21, 1)), np.zeros((1, 3)))
    back = mocpack.read_data(mocpack.io.write_bytes(clip, ".bvh"))
    assert back.metadata["unit_guessed"] == "m"
