"""A skeleton that is small enough for mental arithmetic."""

import numpy as np
import pytest

from mocpack import Clip, Skeleton
from mocpack.model.rotations import IDENTITY, from_rotvec, multiply

# root ---0.4 m along x--- hand ---0.2 m along x--- end site
ARM = Skeleton(
    ("root", "hand"),
    (-1, 0),
    [[0, 0, 0], [0.4, 0, 0]],
    np.array([[0.2, 0, 0]]),
    end_site_joints=(1,),
)


class Arms:
    """Build motions of the arm; all joints are constant except the named ones."""

    skeleton = ARM

    def __call__(self, frames=2, *, turns=(), root=(), frame_rate=100.0, skeleton=ARM, unit=1.0):
        """`turns` are (frame, joint, rotation vector), `root` are (frame, position)."""
        local = np.tile(IDENTITY, (frames, len(skeleton), 1))
        for t, j, vector in turns:
            local[t, j] = from_rotvec(np.array(vector, float))
        places = np.zeros((frames, 3))
        for t, place in root:
            places[t] = place
        return Clip.build(skeleton, local, places, frame_rate=frame_rate, unit=unit)


@pytest.fixture
def arm():
    return Arms()


@pytest.fixture
def noisy():
    """Moves a clip a little, everywhere."""

    def move(clip, amount=1e-3, seed=0):
        rng = np.random.default_rng(seed)
        turns = from_rotvec(rng.normal(0, amount, (*clip.rotations.shape[:2], 3)))
        places = clip.translations + rng.normal(0, amount, clip.translations.shape)
        return Clip(clip.header, multiply(clip.rotations, turns), places)

    return move
