import pytest

from mocpack.papers.beaudoin.codec.pca import Pca
from mocpack.papers.beaudoin.codec.wavelet import Wavelet
from mocpack.papers.beaudoin.tables.eps_x_curves import (
    Point,
    curve,
    error_at,
    of,
    size_at,
)
from mocpack.testing import walk

POINTS = [
    Point("a", "wavelet", 2, 1000, 10.0, 0.1, None),
    Point("a", "wavelet", 8, 250, 40.0, 0.4, 3.5),
    Point("b", "wavelet", 8, 77, 40.0, 0.4, None),
]


def test_between_two_points_sizes_are_logarithmic():
    own = of(POINTS, "a", "wavelet")
    # halfway in logarithms: twice the error, half the size
    assert size_at(own, 0.2) == pytest.approx(500)
    assert error_at(own, 20.0) == pytest.approx(0.2)


def test_outside_the_points_nothing_is_claimed():
    own = of(POINTS, "a", "wavelet")
    assert size_at(own, 0.05) is None
    assert size_at(own, 0.5) is None
    assert error_at(own, 50.0) is None
    assert size_at([], 0.2) is None


@pytest.mark.parametrize("codec", [Wavelet(), Pca()])
def test_a_curve_turns_the_knob_of_the_codec(codec):
    clip = walk(0.5)
    found = curve("walk", clip, codec.codec_id, codec, (2, 8))
    assert [p.knob for p in found] == [2, 8]
    sign = codec.quality.error_sign
    assert (found[1].eps_x - found[0].eps_x) * sign > 0
    assert found[0].ratio == pytest.approx(4 * 30 * 66 / found[0].size)
