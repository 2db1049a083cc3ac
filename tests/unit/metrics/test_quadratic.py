import numpy as np
import pytest

from mocpack.metrics import measure
from mocpack.metrics.quadratic import QUADRATIC, point_weights
from mocpack.model.clip import Clip
from mocpack.model.kinematics import end_positions
from mocpack.testing import hard_clips, walk

SCALE = {"eps_x_cm": 100, "eps_x_center_cm": 100, "rms_mm": 1000}


def points(clip):
    positions, world = clip.world()
    return np.concatenate([positions, end_positions(clip.skeleton, positions, world)], axis=1)


@pytest.mark.parametrize("key", QUADRATIC)
def test_the_weights_give_the_metric(key):
    clip = walk(0.3)
    other = Clip(clip.header, walk(0.3, seed=9).rotations, clip.translations + 0.01)
    gaps = []
    for c in (clip, other):
        positions, world = c.world()
        gaps.append(
            np.concatenate([positions, end_positions(c.skeleton, positions, world)], axis=1)
        )
    squares = np.sum((gaps[0] - gaps[1]) ** 2, axis=-1)
    found = np.sqrt(np.mean(squares @ point_weights(clip.skeleton, key)))
    assert SCALE[key] * found == pytest.approx(measure(key, clip, other))


@pytest.mark.parametrize("key", QUADRATIC)
def test_a_skeleton_without_length_still_has_weights(key):
    skeleton = hard_clips()["one joint"].joints([0]).skeleton
    weights = point_weights(skeleton, key)
    assert weights.sum() == pytest.approx(1)
