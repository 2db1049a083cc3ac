from dataclasses import dataclass

import numpy as np
import pytest

from mocpack.papers.beaudoin.codec.precision import check_bits, round_to_fit
from naming import naming


@dataclass(frozen=True)
class Grid:
    """Numbers rounded to that many bits of the largest."""

    values: np.ndarray
    bits: int

    def coefficients(self):
        step = np.abs(self.values).max() / 2 ** (self.bits - 1)
        return np.rint(self.values / step) * step


VALUES = np.random.default_rng(0).normal(size=(3, 50))


def squared(lost):
    """An error that starts at `lost` and grows with the rounding."""
    return lambda values: lost + float(np.sum((values - VALUES) ** 2))


def test_given_bits_are_taken():
    assert round_to_fit(VALUES, 7, Grid, squared(1.0)).bits == 7


def test_the_fewest_bits_that_add_two_percent_are_found():
    for lost in (1e-4, 1e-2, 1.0):
        found = round_to_fit(VALUES, "auto", Grid, squared(lost)).bits
        roots = [
            np.sqrt(squared(lost)(Grid(VALUES, b).coefficients()) / lost) for b in range(4, 17)
        ]
        assert found == 4 + next(i for i, root in enumerate(roots) if root <= 1.02)


def test_without_loss_all_bits_are_taken():
    assert round_to_fit(VALUES, "auto", Grid, squared(0.0)).bits == 16


@pytest.mark.parametrize("bits", [3, 17, 0, "many", None])
def test_impossible_bits_are_refused(bits):
    with pytest.raises(ValueError, match=naming("bits 4..16 auto")):
        check_bits(bits)
