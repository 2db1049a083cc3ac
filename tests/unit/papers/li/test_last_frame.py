import numpy as np
import pytest

from mocpack import Clip, Skeleton
from mocpack.model import rotations
from mocpack.papers.li.codec.last_frame import LastFrame
from mocpack.testing import walk


def sliding(places):
    """One joint that moves along x only."""
    skeleton = Skeleton(("root",), (-1,), np.zeros((1, 3)))
    moves = np.zeros((len(places), 3))
    moves[:, 0] = places
    return Clip.build(skeleton, np.tile(rotations.IDENTITY, (len(places), 1, 1)), moves)


def test_symbols_are_the_changes_of_the_rounded_value():
    clip = sliding([0.0, 0.014, 0.016, 0.031])
    # on a grid of 1 cm: 0, 1, 2, 3
    assert LastFrame(step=0.01, lever=1.0).symbols(clip)[:, 0].tolist() == [1, 1, 1]


def test_closed_loop_follows_a_slow_drift_and_open_loop_never_notices():
    clip = sliding(0.004 * np.arange(200))
    for open_loop, error in ((False, 0.005), (True, 0.004 * 199)):
        codec = LastFrame(step=0.01, lever=1.0, open_loop=open_loop)
        back = codec.decode(codec.encode(clip), clip.header)
        found = np.abs(back.translations - clip.translations).max()
        assert found == pytest.approx(error, abs=1e-3)


def test_no_channel_is_further_off_than_half_a_step():
    clip = walk(1.0)
    codec = LastFrame(step=0.01)
    back = codec.decode(codec.encode(clip), clip.header)
    assert np.abs(back.translations - clip.translations).max() <= 0.01 * codec.lever / 2 + 1e-12
    assert rotations.angle_between(back.rotations, clip.rotations).max() < 0.01 * 3**0.5 / 2 + 1e-9


def test_error_falls_to_nothing_with_the_step():
    clip = walk(0.5)
    codec = LastFrame(step=1e-6)
    back = codec.decode(codec.encode(clip), clip.header)
    assert np.abs(back.positions() - clip.positions()).max() < 1e-5


@pytest.mark.parametrize(
    "wrong", [{"step": 0}, {"step": float("nan")}, {"lever": 0}, {"open_loop": "yes"}]
)
def test_impossible_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LastFrame(**wrong)
