import numpy as np
import pytest

from mocpack.papers.beaudoin.codec import lifting
from mocpack.papers.beaudoin.codec.lifting import UPDATES
from reference.lifting import forward_numpy, inverse_numpy

LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 31, 100, 257)


def noise(signals, length, seed=0):
    return np.random.default_rng(seed).normal(size=(signals, length))


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("length", LENGTHS)
def test_the_inverse_gives_the_signal_back(length, update):
    signals = noise(3, length)
    back = lifting.inverse(lifting.forward(signals, update=update), update=update)
    np.testing.assert_allclose(back, signals, atol=1e-12)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("length", LENGTHS)
def test_native_and_numpy_agree(length, update):
    signals = noise(2, length, seed=length)
    coefficients = lifting.forward(signals, update=update)
    np.testing.assert_allclose(coefficients, forward_numpy(signals, update=update), atol=1e-13)
    np.testing.assert_allclose(
        lifting.inverse(coefficients, update=update),
        inverse_numpy(coefficients, update=update),
        atol=1e-12,
    )


def test_one_level_by_hand():
    # evens 0 8 64 216 (cubes of 0 2 4 6), odds off their cubic by 0 16 0
    signals = np.array([[0.0, 1, 8, 27 + 16, 64, 125, 216]])
    predicted = lifting.forward(signals, update="none")
    np.testing.assert_allclose(predicted[0, 4:], [0, 16, 0], atol=1e-12)
    # the update adds (0 + 16)/4 to the even samples on both sides of the detail
    coarse = lifting.inverse(lifting.forward(signals, update="4-2")[:, :4], update="4-2")
    np.testing.assert_allclose(coarse[0], [0, 8 + 4, 64 + 4, 216], atol=1e-12)


def test_the_wide_update_by_hand():
    # a single detail of 32 lifts its neighbors by 9 and the next ones by -1
    details = np.zeros((1, 16))
    details[0, 8 + 4] = 32.0
    signal = lifting.inverse(details, update="4-4")
    evens = signal[0, 0::2]
    np.testing.assert_allclose(evens, [0, 0, 0, 1, -9, -9, 1, 0], atol=1e-12)


@pytest.mark.parametrize("update", UPDATES)
def test_cubics_have_no_details_but_the_coarsest(update):
    time = np.linspace(-1, 1, 64)
    coefficients = lifting.forward((time**3 - time + 2)[np.newaxis], update=update)[0]
    # with four even samples or more every odd one lies on their cubic
    np.testing.assert_allclose(coefficients[4:], 0, atol=1e-12)


@pytest.mark.parametrize("update", UPDATES)
def test_a_constant_is_one_coefficient(update):
    coefficients = lifting.forward(np.full((1, 77), 2.5), update=update)[0]
    np.testing.assert_allclose(coefficients, [2.5] + [0] * 76, atol=1e-13)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("length", [1, 2, 5, 64, 301])
def test_norms_are_those_of_the_basis_functions(length, update):
    basis = lifting.inverse(np.eye(length), update=update)
    np.testing.assert_allclose(
        lifting.synthesis_norms(length, update), np.linalg.norm(basis, axis=1), rtol=1e-12
    )


def test_the_input_is_untouched():
    signals = noise(2, 9)
    before = signals.copy()
    lifting.forward(signals)
    lifting.inverse(signals)
    np.testing.assert_array_equal(signals, before)
