import numpy as np
import pytest

from mocpack.errors import CorruptionError, FormatError
from mocpack.papers.beaudoin.codec.coefficients import (
    decode_coefficients,
    encode_coefficients,
    round_coefficients,
)

PLACES = np.array([True, False, True, False])


def sparse(seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(4, 300)) * (rng.random((4, 300)) < 0.1)
    values[0, 0], values[2, 0] = 8000.125, -3.0
    return values


@pytest.mark.parametrize("packing", ["none", "words", "bytes"])
@pytest.mark.parametrize("bits", [16, 9, 4])
def test_the_decoded_coefficients_are_the_rounded_ones(bits, packing):
    rounded = round_coefficients(sparse(), bits, is_place=PLACES)
    data = encode_coefficients(rounded, packing=packing)
    back = decode_coefficients(data, PLACES, 300, packing=packing)
    np.testing.assert_array_equal(back, rounded.coefficients())


@pytest.mark.parametrize("bits", [16, 9])
def test_rounding_is_to_the_nearest_step(bits):
    values = sparse()
    rounded = round_coefficients(values, bits, is_place=PLACES)
    missed = np.abs(rounded.coefficients() - values).max(1)
    steps = rounded.steps
    assert (missed <= 0.5 * steps * (1 + 1e-9)).all()
    # the largest coefficient takes all the bits, and no more
    assert np.abs(rounded.numbers).max() <= 32255 >> (16 - bits)
    assert rounded.steps[~PLACES][0] == pytest.approx(
        np.abs(values[~PLACES]).max() / (32255 >> (16 - bits)), rel=1e-6
    )


def test_a_root_far_away_does_not_coarsen_the_steps():
    rounded = round_coefficients(sparse(), 16, is_place=PLACES)
    assert rounded.steps[PLACES][0] < 2e-4
    assert rounded.coefficients()[0, 0] == pytest.approx(8000.125, abs=1e-4)


def test_all_zero_coefficients_survive():
    rounded = round_coefficients(np.zeros((4, 5)), 16, is_place=PLACES)
    data = encode_coefficients(rounded, packing="none")
    assert len(data) == 4 + 4 + 2 + 4 * 2
    np.testing.assert_array_equal(decode_coefficients(data, PLACES, 5, packing="none"), 0)


def test_a_step_that_is_no_number_is_corruption():
    data = encode_coefficients(round_coefficients(sparse(), 16, is_place=PLACES), packing="bytes")
    for bad in (np.nan, np.inf, -1.0):
        broken = np.array(bad, "<f4").tobytes() + data[4:]
        with pytest.raises(CorruptionError, match="step"):
            decode_coefficients(broken, PLACES, 300, packing="bytes")


@pytest.mark.parametrize("packing", ["none", "words", "bytes"])
def test_every_cut_is_a_format_error(packing):
    data = encode_coefficients(round_coefficients(sparse(), 8, is_place=PLACES), packing=packing)
    for end in range(len(data)):
        with pytest.raises(FormatError):
            decode_coefficients(data[:end], PLACES, 300, packing=packing)


@pytest.mark.parametrize("packing", ["none", "words", "bytes"])
def test_a_step_per_signal_rounds_small_signals_more_finely_and_round_trips(packing):
    values = sparse()
    values[-1] *= 1e-3
    shared, own = (
        round_coefficients(values, 8, is_place=PLACES, step_per_signal=s) for s in (False, True)
    )
    assert own.steps[-1] < 0.01 * shared.steps[-1]
    data = encode_coefficients(own, packing=packing, step_per_signal=True)
    back = decode_coefficients(data, PLACES, 300, packing=packing, step_per_signal=True)
    np.testing.assert_allclose(back, own.coefficients(), rtol=1e-6)
