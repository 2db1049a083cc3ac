"""The Jacobian of positions: hand-computed values, small steps, and the composite method."""

import numpy as np
import pytest

from mocpack import Clip, Skeleton
from mocpack.model.dofs import from_dofs, to_dofs
from mocpack.papers.vasa.codec.jacobian import displacement_gram
from mocpack.testing import hard_clips, walk
from reference.jacobian import position_jacobian

CLIPS = {name: clip for name, clip in hard_clips().items() if len(clip.skeleton) < 50}


def arm() -> Clip:
    """Return a bone of 2 m along x with a hand at its end, in the rest pose."""
    skeleton = Skeleton(("a", "b"), (-1, 0), np.array([[0, 0, 0], [2.0, 0, 0]]))
    return Clip.build(skeleton, np.tile([0.0, 0, 0, 1], (1, 2, 1)), np.zeros((1, 3)))


def test_a_turn_about_z_moves_the_hand_along_y_by_the_length_of_the_bone():
    clip = arm()
    jacobian = position_jacobian(clip, to_dofs(clip))
    z_rotation = list(clip.skeleton.channels[0]).index("Zrotation")
    np.testing.assert_allclose(jacobian[0, :, :, z_rotation], [[0, 0, 0], [0, 2, 0]], atol=1e-12)


def test_a_shift_of_the_root_moves_everything_equally():
    clip = arm()
    jacobian = position_jacobian(clip, to_dofs(clip))
    np.testing.assert_allclose(jacobian[0, :, :, 0], [[1, 0, 0], [1, 0, 0]], atol=1e-12)


@pytest.mark.parametrize("clip", CLIPS.values(), ids=CLIPS.keys())
def test_the_jacobian_predicts_what_a_small_step_does(clip):
    matrix = to_dofs(clip)
    jacobian = position_jacobian(clip, matrix)
    step = 1e-6 * np.random.default_rng(0).normal(size=matrix.shape)
    moved = from_dofs(matrix + step, clip.header).positions()
    before = from_dofs(matrix, clip.header).positions()
    found = np.einsum("tpck,tk->tpc", jacobian, step)
    size = 1 + np.abs(before).max()
    np.testing.assert_allclose(moved - before, found, atol=1e-9 * size)


@pytest.mark.parametrize("points", ["joints", "ends", "shell"])
@pytest.mark.parametrize("clip", CLIPS.values(), ids=CLIPS.keys())
def test_the_composite_method_finds_the_mean_of_the_jacobians_squares(clip, points):
    matrix = to_dofs(clip)
    jacobian = position_jacobian(clip, matrix, points=points)
    flat = jacobian.reshape(-1, matrix.shape[1])
    expected = flat.T @ flat / (jacobian.shape[0] * jacobian.shape[1])
    found = displacement_gram(clip, matrix, points=points)
    np.testing.assert_allclose(found, expected, atol=1e-12 * max(1, np.abs(expected).max()))


def test_emphasis_on_one_joint_leaves_the_others_unfelt():
    clip = walk(0.2)
    hand = clip.skeleton.index("LeftHand")
    emphasis = np.zeros((clip.frame_count, len(clip.skeleton)))
    emphasis[:, hand] = 1
    gram = displacement_gram(clip, to_dofs(clip), emphasis=emphasis)
    names = [(j, c) for j, cs in enumerate(clip.skeleton.channels) for c in cs]
    leg = [k for k, (j, _) in enumerate(names) if clip.skeleton.names[j] == "LeftUpLeg"]
    arm_columns = [k for k, (j, _) in enumerate(names) if clip.skeleton.names[j] == "LeftArm"]
    assert np.abs(gram[leg]).max() == 0
    assert np.diag(gram)[arm_columns].max() > 0
