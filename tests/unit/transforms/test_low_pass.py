import numpy as np
import pytest

from mocpack.transforms.low_pass import FILTERS, low_pass, taps

STRENGTHS = range(1, len(FILTERS))


def gain(strength, frequency):
    """Return the gain at a frequency given in radians a frame."""
    side = taps(strength)
    return side[0] + 2 * sum(h * np.cos(k * frequency) for k, h in enumerate(side) if k)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_a_straight_line_passes_unchanged(strength):
    line = np.linspace(0, 5, 60)[:, None] * [1.0, -2.0]
    assert low_pass(line, strength) == pytest.approx(line, abs=1e-12)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_both_ends_stay_where_they_are(strength):
    noise = np.random.default_rng(0).normal(size=(40, 3))
    smooth = low_pass(noise, strength)
    assert smooth[[0, -1]] == pytest.approx(noise[[0, -1]])


def test_the_half_band_filter_has_the_gain_of_its_formula():
    # K = L = 4 at a quarter of the frame rate: s = 1/2, (1/2)^4 (1 + 4/2 + 10/4 + 20/8) = 1/2
    assert gain(4, np.pi / 2) == pytest.approx(0.5)
    assert gain(1, np.pi / 2) == pytest.approx(1 - 0.125 / 2)
    assert gain(4, np.pi) == pytest.approx(0, abs=1e-12)


def test_each_filter_is_stronger_than_the_one_before():
    gains = [gain(strength, np.pi / 2) for strength in range(len(FILTERS))]
    assert gains == sorted(gains, reverse=True)
    assert gains[0] == 1


def test_a_clip_shorter_than_the_filter_passes_unchanged():
    noise = np.random.default_rng(1).normal(size=(5, 2))
    assert np.array_equal(low_pass(noise, 6), noise)
