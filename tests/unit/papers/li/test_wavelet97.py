import numpy as np
import pytest

from mocpack.papers.li.codec import wavelet97
from reference.wavelet97 import forward_numpy, inverse_numpy

LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33, 100, 101]


def signals(frames, seed=0):
    return np.random.default_rng(seed).normal(size=(frames, 3))


@pytest.mark.parametrize("frames", LENGTHS)
@pytest.mark.parametrize("levels", [0, 1, 2, 5])
def test_core_and_numpy_agree_and_invert(frames, levels):
    x = signals(frames)
    bands = wavelet97.forward(x, levels)
    np.testing.assert_allclose(bands, forward_numpy(x, levels), atol=1e-13)
    np.testing.assert_allclose(wavelet97.inverse(bands, levels), x, atol=1e-12)
    np.testing.assert_allclose(inverse_numpy(bands, levels), x, atol=1e-12)


def test_the_filters_are_those_of_cohen_daubechies_and_feauveau():
    # the analysis low-pass filter, seen by the coefficients around impulses at even and odd places
    taps = {0: 0.852698679, 1: 0.377402856, 2: -0.110624404, 3: -0.023849465, 4: 0.037828456}
    impulse = np.zeros((64, 1))
    impulse[32] = 1
    low = wavelet97.forward(impulse, 1)[:32, 0]
    np.testing.assert_allclose(low[14:19], [taps[4], taps[2], taps[0], taps[2], taps[4]], atol=1e-8)
    low = wavelet97.forward(np.roll(impulse, 1, axis=0), 1)[:32, 0]
    np.testing.assert_allclose(low[15:19], [taps[3], taps[1], taps[1], taps[3]], atol=1e-8)


def test_cubics_leave_no_high_band_inside():
    t = np.linspace(-1, 1, 64)[:, np.newaxis]
    high = wavelet97.forward(t**3 - t, 1)[32:]
    assert np.abs(high[4:-4]).max() < 1e-12


def test_white_noise_stays_nearly_white():
    x = signals(4096)
    for band in wavelet97.band_slices(4096, 3):
        assert 0.9 < wavelet97.forward(x, 3)[band].std() < 1.12


def test_bands_cover_all_rows_once():
    for frames in LENGTHS:
        levels = wavelet97.level_count(frames)
        rows = [r for band in wavelet97.band_slices(frames, levels) for r in range(frames)[band]]
        assert rows == list(range(frames))


@pytest.mark.parametrize("levels", [1, 2, 3, 4])
def test_touched_coefficients_are_exactly_those_that_show(levels):
    frames = np.zeros(64, bool)
    frames[20:23] = True
    basis = wavelet97.inverse(np.eye(64), levels)
    shows = (np.abs(basis[frames]) > 1e-12).any(axis=0)
    np.testing.assert_array_equal(wavelet97.touched(frames, levels), shows)
