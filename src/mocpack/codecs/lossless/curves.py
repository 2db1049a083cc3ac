"""Find columns that are a smooth function of one or two others, and fit polynomials.

A knee turns about one axis, yet a BVH writes three Euler angles: two of them follow from the
third, up to rounding. An ankle has two axes, and one angle follows from the other two. A curve is a
sum of Chebyshev polynomials with integer coefficients in 1/16 of the columns' unit. It is evaluated
with + - * / of doubles only, one array operation at a time, so that every machine rounds equally.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mocpack.common.arrays import F64, I64

COEFFICIENT_SCALE = 16  # coefficients are in 1/16 of a unit
DEGREES = {1: (2, 4, 6, 8, 10, 12, 16, 20), 2: (3, 4, 5, 6, 8, 10)}
PROBE_DEGREES = {1: 8, 2: 6}  # at these degrees a real curve already beats prediction over time
SAMPLE_FRAMES = 400  # for the first fit
COEFFICIENT_BITS = 20  # approximate cost of a coefficient
MAX_CURVE_VALUE = 2.0**40  # beyond all values of a file


@dataclass(frozen=True, eq=False)
class Curve:
    """``column ≈ Σ coefficients[p, q] T_p(x) T_q(y)`` with x, y the drivers, scaled to -1..1.

    Attributes
    ----------
    column : int
        The dependent column.
    drivers : tuple of int
        One or two columns that have no curve themselves.
    low, high : tuple of int
        Range of each driver.
    coefficients : array of int, shape (D + 1, D + 1) or (D + 1, 1)
        In 1/16 of a unit; those with p + q > D are 0.
    """

    column: int
    drivers: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    coefficients: I64

    @property
    def degree(self) -> int:
        return len(self.coefficients) - 1


def evaluate(curve: Curve, columns: I64) -> F64:
    """Return the curve's value for each row of `columns` (T, C)."""
    spans = zip(curve.drivers, curve.low, curve.high, strict=True)
    at = [_scale_to_unit(columns[:, d], low, high) for d, low, high in spans]
    inner = curve.coefficients / COEFFICIENT_SCALE
    rows: list[F64 | float]
    if len(at) == 2:
        rows = [_clenshaw(row[: len(inner) - p], at[1]) for p, row in enumerate(inner)]
    else:
        rows = [float(row[0]) for row in inner]
    return np.clip(_clenshaw(rows, at[0]), -MAX_CURVE_VALUE, MAX_CURVE_VALUE)


def residual(curve: Curve, columns: I64) -> I64:
    """Return the residual of the column, positive on the side of the unrounded value."""
    value = evaluate(curve, columns)
    return np.asarray((columns[:, curve.column] - _round(value)) * _rounding_side(value))


def find_curves(columns: I64, families: Sequence[Sequence[int]]) -> list[Curve]:
    """Return a curve for every column that it makes smaller.

    Parameters
    ----------
    columns : array of int, shape (T, C)
    families : sequence of sequence of int
        Groups of columns to search: the angles of one joint.
    """
    found: list[Curve] = []
    for candidates in families:
        # a column that moves only in its remainders has no range
        family = [c for c in candidates if np.ptp(columns[:, c])]
        if len(family) > 1:
            found += _find_one_axis(columns, family) or _find_two_axes(columns, family)
    return found


def _find_one_axis(columns: I64, family: Sequence[int]) -> list[Curve]:
    """Return curves of all columns as functions of the one that moves most, or none."""
    ranges = np.ptp(columns[:, list(family)], axis=0)
    driver = family[int(np.argmax(ranges))]
    rest = [c for c in family if c != driver]
    degrees = [_cheapest_degree(columns, c, (driver,))[1] for c in rest]
    if not all(degrees):
        return []
    pairs = zip(rest, degrees, strict=True)
    return [_least_squares(columns, columns, c, (driver,), degree) for c, degree in pairs]


def _find_two_axes(columns: I64, family: Sequence[int]) -> list[Curve]:
    """Return a curve of one column as a function of the other two, or none."""
    if len(family) != 3:
        return []
    choices = [(c, tuple(d for d in family if d != c)) for c in family]
    saved, degree, column, drivers = max(
        (*_cheapest_degree(columns, c, others), c, others) for c, others in choices
    )
    return [_least_squares(columns, columns, column, drivers, degree)] if saved > 0 else []


def _cheapest_degree(columns: I64, column: int, drivers: tuple[int, ...]) -> tuple[float, int]:
    """Return the bits that a curve saves against prediction over time, and its degree."""
    sample = _sample(columns, [column, *drivers])
    in_time = 0.75 * _bits(np.diff(columns[:, column], 2)) * len(columns)

    def cost(degree: int) -> float:
        curve = _least_squares(columns, sample, column, drivers, degree)
        return _bits(residual(curve, sample)) * len(columns)

    best = (0.0, 0)
    for degree in (PROBE_DEGREES[len(drivers)], *DEGREES[len(drivers)]):
        count = len(_terms(degree, len(drivers))[0])
        if 2 * count > len(sample):
            continue
        bits = cost(degree)
        if degree == PROBE_DEGREES[len(drivers)] and bits > in_time:
            break
        best = max(best, (in_time - bits - COEFFICIENT_BITS * count, degree))
    return best


def _least_squares(
    columns: I64, sample: I64, column: int, drivers: tuple[int, ...], degree: int
) -> Curve:
    low = tuple(int(columns[:, d].min()) for d in drivers)
    high = tuple(int(columns[:, d].max()) for d in drivers)
    p, q = _terms(degree, len(drivers))
    at = [_scale_to_unit(sample[:, d], a, b) for d, a, b in zip(drivers, low, high, strict=True)]
    basis = [np.polynomial.chebyshev.chebvander(x, degree) for x in at]
    matrix = basis[0][:, p] * (basis[1][:, q] if len(drivers) == 2 else 1.0)
    fitted = _solve(np.asarray(matrix, np.float64), sample[:, column].astype(np.float64))
    coefficients = np.zeros((degree + 1, degree + 1 if len(drivers) == 2 else 1), np.int64)
    coefficients[p, q] = np.rint(
        np.clip(fitted * COEFFICIENT_SCALE, -MAX_CURVE_VALUE, MAX_CURVE_VALUE)
    )
    return Curve(column, drivers, low, high, coefficients)


def _solve(matrix: F64, values: F64) -> F64:
    """Solve least squares by its normal equations, refined once.

    einsum and a small solve use one thread; lstsq would start all threads for little work.
    """
    moments = np.einsum("ti,tj->ij", matrix, matrix)
    moments[np.diag_indices_from(moments)] += 1e-13 * np.trace(moments)
    fitted = np.zeros(matrix.shape[1])
    for _ in range(2):
        rest = values - np.einsum("ti,i->t", matrix, fitted)
        fitted += np.linalg.solve(moments, np.einsum("ti,t->i", matrix, rest))
    return fitted


def _terms(degree: int, drivers: int) -> tuple[list[int], list[int]]:
    """Return the degrees of each term in the first and second driver."""
    last = degree if drivers == 2 else 0
    pairs = [(p, q) for p in range(degree + 1) for q in range(last + 1) if p + q <= degree]
    return [p for p, _ in pairs], [q for _, q in pairs]


def _sample(columns: I64, family: list[int]) -> I64:
    """Return evenly spread rows, and the rows of each column's minimum and maximum."""
    spread = np.linspace(0, len(columns) - 1, min(SAMPLE_FRAMES, len(columns))).astype(np.intp)
    ends = [f(columns[:, c]) for c in family for f in (np.argmin, np.argmax)]
    return np.asarray(columns[np.unique([*spread, *ends])])


def _bits(values: I64) -> float:
    """Return the approximate cost of a value in bits."""
    if not len(values):
        return 0.0
    return float(np.log2(1 + 2 * np.abs(values).mean()))


def _scale_to_unit(column: I64, low: int, high: int) -> F64:
    return np.asarray((2.0 * column - float(low + high)) / float(high - low))


def _clenshaw(coefficients: Sequence[F64 | float] | F64, x: F64) -> F64:
    """Sum coefficients times Chebyshev polynomials of x, last first."""
    later, latest = np.zeros_like(x), np.zeros_like(x)
    for c in reversed(list(coefficients[1:])):
        later, latest = c + 2.0 * x * later - latest, later
    return np.asarray(coefficients[0] + x * later - latest)


def _round(values: F64) -> I64:
    return np.asarray(np.floor(values + 0.5).astype(np.int64))


def _rounding_side(values: F64) -> I64:
    """Return 1 for each value above its nearest integer, or equal to it, and -1 for others."""
    return np.where(values >= np.floor(values + 0.5), 1, -1)
