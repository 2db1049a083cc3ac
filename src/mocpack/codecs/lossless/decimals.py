"""Doubles as whole numbers and exact remainders: decimals nearly always, binary fractions else.

A source prints decimals, so a column of its numbers is ``whole / 10^digits`` and nothing remains.
Where a number has more digits than its column, or is no decimal at all, what remains is kept too:
as further digits, or as the distance in units of the last place. Every double comes back bit for
bit, negative zero and denormals included.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack.arrays import F64, I64, U64

MAX_DIGITS = 22  # 10^22 is the last power of ten that is a double
MAX_DECIMAL = 10**15  # any decimal of so many digits is told apart by a double
MAX_WHOLE = 2**29
MAX_BINARY_EXPONENT = 960  # largest magnitude of a column's binary scale
BY_ULPS = MAX_DIGITS + 1  # in place of a number of further digits
POWERS = 10.0 ** np.arange(MAX_DIGITS + 1)
WHOLE_POWERS = 10 ** np.arange(16, dtype=np.int64)
RARE_RATIO = (
    64  # a decade with fewer than one in this many numbers does not decide a column's digits
)


@dataclass(frozen=True)
class Scale:
    """What one unit of a column's whole numbers is: 10^-digits, or 2^-exponent."""

    decimal: bool
    exponent: int

    def __post_init__(self) -> None:
        low, high = (0, MAX_DIGITS) if self.decimal else (-MAX_BINARY_EXPONENT, MAX_BINARY_EXPONENT)
        if not low <= self.exponent <= high:
            raise ValueError(f"exponent must be in {low}..{high}, got {self.exponent}")

    def values(self, whole: I64) -> F64:
        """Return the doubles nearest to the whole numbers on this scale."""
        if self.decimal:
            return np.asarray(whole / POWERS[self.exponent])
        return np.ldexp(whole.astype(np.float64), -self.exponent)

    def nearest(self, values: F64) -> I64:
        """Return the nearest whole numbers, those out of range at its end."""
        with np.errstate(over="ignore"):
            if self.decimal:
                scaled = values * POWERS[self.exponent]
            else:
                scaled = np.ldexp(values, self.exponent)
        limited = np.clip(scaled, -MAX_WHOLE, MAX_WHOLE)
        return np.asarray(np.rint(limited).astype(np.int64))


def choose_scale(values: F64, digits: npt.NDArray[np.uint8]) -> Scale:
    """Return the scale on which a column leaves least over.

    Numbers printed to a fixed count of significant digits have fewer decimals the larger they
    are. The column takes those of its largest numbers: more would waste bits on zeros there.
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
    """Return how many decimals each number has, or BY_ULPS where it is no short decimal.

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
    """Return a column's whole numbers and what they leave over: its kind, and its amount.

    Kind 0 is nothing, 1 to 22 that many further digits, BY_ULPS a distance in the order of
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
    """Append zeros to whole numbers; none but 0 is followed by more than fifteen digits."""
    return whole * WHOLE_POWERS[np.minimum(count, len(WHOLE_POWERS) - 1)]


def _order(values: F64) -> U64:
    """Number all doubles in increasing order, negative zero just before zero."""
    bits = np.ascontiguousarray(values).view(np.int64)
    return (bits ^ ((bits >> 63) & np.int64(2**63 - 1))).view(np.uint64)
