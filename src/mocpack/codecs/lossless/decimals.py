"""Split doubles into integers and exact remainders, on a decimal or binary scale.

Sources print decimals, so a column is nearly always ``whole / 10^digits`` without a remainder. A
number with more digits has further digits as its remainder; any other number has the distance in
units in the last place. Every double is restored bit for bit, including -0.0 and denormals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack.common.arrays import F64, I64, U64

MAX_DIGITS = 22  # 10^22 is the last power of ten that is a double
MAX_DECIMAL = 10**15  # doubles represent all decimals of 15 digits uniquely
MAX_WHOLE = 2**29
MAX_BINARY_EXPONENT = 960  # of a column's binary scale
BY_ULPS = MAX_DIGITS + 1  # instead of a number of further digits
POWERS = 10.0 ** np.arange(MAX_DIGITS + 1)
WHOLE_POWERS = 10 ** np.arange(16, dtype=np.int64)
RARE_RATIO = 64  # a decade with fewer than 1/64 of the numbers does not decide a column's digits


@dataclass(frozen=True)
class Scale:
    """Unit of the integers of a column: 10^-digits or 2^-exponent."""

    decimal: bool
    exponent: int

    def __post_init__(self) -> None:
        low, high = (0, MAX_DIGITS) if self.decimal else (-MAX_BINARY_EXPONENT, MAX_BINARY_EXPONENT)
        if not low <= self.exponent <= high:
            raise ValueError(f"exponent must be in {low}..{high}, got {self.exponent}")

    def values(self, whole: I64) -> F64:
        """Return the doubles of integers on this scale."""
        if self.decimal:
            return np.asarray(whole / POWERS[self.exponent])
        return np.ldexp(whole.astype(np.float64), -self.exponent)

    def nearest(self, values: F64) -> I64:
        """Return the nearest integers, clamped to the range."""
        with np.errstate(over="ignore"):
            if self.decimal:
                scaled = values * POWERS[self.exponent]
            else:
                scaled = np.ldexp(values, self.exponent)
        limited = np.clip(scaled, -MAX_WHOLE, MAX_WHOLE)
        return np.asarray(np.rint(limited).astype(np.int64))


def choose_scale(values: F64, digits: npt.NDArray[np.uint8]) -> Scale:
    """Return the scale that leaves the smallest remainders.

    Numbers printed with a fixed count of significant digits have fewer decimals the larger they
    are. The scale takes the decimals of the largest numbers, to avoid coding zeros there.
    """
    decimal = digits <= MAX_DIGITS
    largest = float(np.abs(values).max(initial=0.0))
    if 2 * decimal.sum() < len(values) or largest > MAX_WHOLE:
        _, top = np.frexp(largest)
        return Scale(False, int(np.clip(29 - top, -MAX_BINARY_EXPONENT, MAX_BINARY_EXPONENT)))
    decimal &= values != 0  # 0 has no digits in any format
    if not decimal.any():
        return Scale(True, 0)
    sizes = np.searchsorted(POWERS[:10], np.abs(values[decimal]), side="right")
    kinds, counts = np.unique(sizes, return_counts=True)
    common = counts >= max(8, len(values) // RARE_RATIO)
    decades = kinds[common] if common.any() else kinds
    found = min(int(digits[decimal][sizes == decade].max()) for decade in decades)
    if not common.any():
        found = int(digits[decimal].max())
    while found and largest * POWERS[found] > MAX_WHOLE:
        found -= 1
    return Scale(True, found)


def count_digits(values: F64) -> npt.NDArray[np.uint8]:
    """Return the number of decimals of each number, or BY_ULPS if it is not a short decimal.

    >>> count_digits(np.array([2.0, -0.25, 1.6201e-14, 0.1 + 0.2])).tolist()
    [0, 2, 18, 23]
    """
    flat = values.ravel()
    digits = np.full(len(flat), BY_ULPS, np.uint8)
    left = np.flatnonzero(~((flat == 0) & np.signbit(flat)))
    with np.errstate(over="ignore", invalid="ignore"):
        for count in range(MAX_DIGITS + 1):
            whole = np.rint(flat[left] * POWERS[count])
            good = (whole / POWERS[count] == flat[left]) & (np.abs(whole) <= MAX_DECIMAL)
            digits[left[good]] = count
            left = left[~good]
    return digits.reshape(values.shape)


def split_values(
    values: F64, scale: Scale, digits: npt.NDArray[np.uint8]
) -> tuple[I64, npt.NDArray[np.uint8], I64]:
    """Return the integers of a column, and the kind and amount of their remainders.

    Kind 0 is no remainder, 1 to 22 that many further digits, BY_ULPS a distance in the ordering of
    doubles.
    """
    whole = scale.nearest(values)
    amounts = (_order(values) - _order(scale.values(whole))).view(np.int64)
    kinds = np.where(amounts == 0, 0, BY_ULPS).astype(np.uint8)
    if scale.decimal:
        longer = (kinds > 0) & (digits <= MAX_DIGITS) & (digits > scale.exponent)
        longer &= np.abs(whole) < MAX_WHOLE
        count = digits[longer]
        total = np.rint(values[longer] * POWERS[count]).astype(np.int64)
        kinds[longer] = count - scale.exponent
        amounts[longer] = total - _append_zeros(whole[longer], kinds[longer])
    return whole, kinds, amounts


def _append_zeros(whole: I64, count: npt.NDArray[np.uint8]) -> I64:
    """Append decimal zeros to integers; only 0 gets more than fifteen."""
    return whole * WHOLE_POWERS[np.minimum(count, len(WHOLE_POWERS) - 1)]


def _order(values: F64) -> U64:
    """Return the index of each double in increasing order; -0.0 comes just before 0.0."""
    bits = np.ascontiguousarray(values).view(np.int64)
    return (bits ^ ((bits >> 63) & np.int64(2**63 - 1))).view(np.uint64)
