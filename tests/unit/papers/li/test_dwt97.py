import numpy as np
import pytest

from mocpack.papers.li.codec.dwt97 import Dwt97
from mocpack.testing import still, walk


def error(codec, clip):
    back = codec.decode(codec.encode(clip), clip.header)
    return np.linalg.norm(back.positions() - clip.positions(), axis=-1).mean()


def test_a_still_clip_has_no_coefficient_but_zero():
    assert not Dwt97().symbols(still(50)).any()


def test_finer_steps_cost_more_and_err_less():
    clip = walk(1.0)
    errors = [error(Dwt97(step=s), clip) for s in (0.3, 0.03, 0.003, 1e-6)]
    sizes = [len(Dwt97(step=s).encode(clip)) for s in (0.3, 0.03, 0.003, 1e-6)]
    assert errors == sorted(errors, reverse=True)
    assert sizes == sorted(sizes)
    assert errors[-1] < 1e-6


def test_smooth_motion_needs_few_coefficients():
    symbols = Dwt97(step=0.05).symbols(walk(2.0, frame_rate=120))
    assert np.mean(symbols == 0) > 0.8


@pytest.mark.parametrize("wrong", [{"step": 0}, {"levels": 40}, {"step": 11}, {"lever": -1}])
def test_impossible_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Dwt97(**wrong)
