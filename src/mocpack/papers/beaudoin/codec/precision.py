"""Choose the bits per coefficient, so that rounding adds little to the error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from mocpack.common.arrays import F64
from mocpack.papers.beaudoin.codec.coefficients import Rounded

Bits = int | Literal["auto"]
MOST, FEWEST = 16, 4
ALLOWANCE = 0.02  # relative increase of the error that rounding may cause


def round_to_fit(
    kept: F64, bits: Bits, round_to: Callable[[F64, int], Rounded], error: Callable[[F64], float]
) -> Rounded:
    """Round coefficients to `bits`, or to the fewest that add at most 2 % to the error.

    Parameters
    ----------
    kept : array, shape (S, n)
        Coefficients before rounding.
    round_to : callable
        From coefficients and bits to rounded coefficients.
    error : callable
        From coefficients to the squared error.
    """
    if bits != "auto":
        return round_to(kept, bits)
    limit = (1 + ALLOWANCE) ** 2 * error(kept)
    low, high = FEWEST, MOST
    while low < high:
        middle = (low + high) // 2
        if error(round_to(kept, middle).coefficients()) <= limit:
            high = middle
        else:
            low = middle + 1
    return round_to(kept, high)


def check_bits(bits: Bits) -> None:
    """Raise `ValueError` for an invalid number of bits."""
    if bits != "auto" and bits not in range(FEWEST, MOST + 1):
        raise ValueError(f"bits must be in {FEWEST}..{MOST} or auto, got {bits}")
