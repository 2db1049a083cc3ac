"""Code series of real numbers, exactly or within a bound: scales, times and tracks.

Decimal fractions, and values within a bound, become integers on a grid, which are predicted over
time. Several codes are tried and the smallest is written. `docs/format.md` specifies the bits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.coding.fields import FieldWriter, deflate
from mocpack.coding.series import (
    MAX_VALUE,
    NOISY_FORECAST,
    SMOOTH_FORECAST,
    ColumnGroup,
    encode_series,
)
from mocpack.common.arrays import F64, I64

DOUBLES, FLOATS, DECIMALS, GRID, KNOWN_GRID, HALF_GRID = range(6)
BRIEF, MAX_BRIEF_DEPTH = 6, 30  # known step and plain series; limit of the first column's depth
DEFLATED = 0
SERIES = {1: NOISY_FORECAST, 2: SMOOTH_FORECAST}
SIZED_SERIES = {3: NOISY_FORECAST, 4: SMOOTH_FORECAST}
PLAIN, ORDERS, FLOORED = 5, (0, 1, 2, 3), 3
AS_DOUBLE, MAX_SHORT_NUMBER = 255, 2.0**31  # forms of a short number
RECIPROCAL, MAX_RECIPROCAL = 31, 223  # one byte: 1/1 to 1/223
MAX_ERROR_LOG2 = 28  # limit of `_error_logs`
MAX_DIGITS = 15
MAX_INTEGER = 2**53


def pack_numbers(
    values: F64, step: float = 0.0, *, known: bool = False, simple: bool = False
) -> bytes:
    """Return the code of values (N, K): exact, or within half of `step` if it is given.

    A `known` step is not written, because the reader has it. A `simple` code uses only deflate.
    """
    if not len(values):
        return b""
    ways = _grid_codes(values, step, known, simple) if step else _exact_codes(values, simple)
    return min(ways, key=len)  # the first of equal sizes


def pack_short(out: FieldWriter, value: float) -> None:
    """Append a number as a short decimal or its reciprocal (0.002, 1/60), else as a float64."""
    near = round(1 / value) if abs(value) >= 1 / (MAX_RECIPROCAL + 1) else 0
    if 1 <= near <= MAX_RECIPROCAL and 1 / near == value:
        out.u8(RECIPROCAL + near)
        return
    found = list(_short_forms(value))
    if found:
        _, form, whole = min(found)
        out.u8(form)
        out.signed(whole)
        return
    out.u8(AS_DOUBLE)
    out.f64(value)


def _short_forms(value: float) -> Iterator[tuple[int, int, int]]:
    """Yield (magnitude of n, form, n) of each short decimal form of a number."""
    for digits in range(MAX_DIGITS + 1):
        for reciprocal in (0, 1):
            near = 10.0**digits / value if reciprocal else value * 10.0**digits
            whole = round(near) if abs(near) < MAX_SHORT_NUMBER else 0
            if whole and _short(whole, digits, reciprocal) == value:
                yield abs(whole), 16 * reciprocal + digits, whole


def _short(whole: int, digits: int, reciprocal: int) -> float:
    return 10.0**digits / whole if reciprocal else whole / 10.0**digits


def _exact_codes(values: F64, simple: bool) -> Iterator[bytes]:
    digits = _decimal_digits(values)
    if digits is not None:
        for body in _integer_codes(np.rint(values * 10.0**digits).astype(np.int64), simple):
            yield bytes([DECIMALS, digits]) + body
    with np.errstate(over="ignore"):
        floats = values.astype("<f4")
    if np.array_equal(floats.astype(np.float64).view(np.uint64), values.view(np.uint64)):
        yield bytes([FLOATS]) + _float_code(floats.view("<u4"))
    else:
        yield bytes([DOUBLES]) + _float_code(np.ascontiguousarray(values, "<f8").view("<u8"))


def _grid_codes(values: F64, step: float, known: bool, simple: bool) -> Iterator[bytes]:
    """Yield codes on a grid; the second kind repeats values while the bound allows it."""
    step = step if known else _round_down_to_float32(step)
    fine = step / 2
    if not step or not np.abs(values).max(initial=0.0) / fine < MAX_INTEGER / 4:
        yield from _exact_codes(values, simple)
        return
    for pitch, rounded in ((step, np.rint(values / step)), (fine, _hold_values(values, step))):
        numbers = rounded.astype(np.int64)
        head = FieldWriter()
        if known:
            yield from _brief_codes(numbers, BRIEF + 4 * (pitch != step))
            head.u8(KNOWN_GRID if pitch == step else HALF_GRID)
        else:
            head.u8(GRID)
            head.f32(pitch)
        for body in _integer_codes(numbers, simple):
            yield head.bytes() + body


def _brief_codes(numbers: I64, form: int) -> Iterator[bytes]:
    """Yield codes with a one-byte head: empty for zeros, one row for constant values."""
    if not numbers.any():
        yield b""
    elif not (numbers - numbers[0]).any():
        yield bytes([form]) + _pack_integers(numbers[0])
    else:
        for order, base, depths, code in _plain_series(numbers):
            if depths[0] <= MAX_BRIEF_DEPTH:
                yield bytes([form + order + 8 * depths[0]]) + base + depths[1:] + code


def _round_down_to_float32(step: float) -> float:
    """Return the largest float32 that is at most `step`; 0 if the step is too small."""
    single = np.float32(min(step, 1e30))
    if single > step:
        single = np.nextafter(single, np.float32(0))
    return float(single) if single > 1e-30 else 0.0


def _hold_values(values: F64, step: float) -> F64:
    """Round to multiples of half a step; repeat the previous value if it is within half a step."""
    fine = step / 2
    out = np.rint(values / fine)
    low, high = (values - fine) / fine, (values + fine) / fine
    for t in range(1, len(out)):
        stays = (out[t - 1] >= low[t]) & (out[t - 1] <= high[t])
        out[t, stays] = out[t - 1, stays]
    return out


def _integer_codes(numbers: I64, simple: bool) -> Iterator[bytes]:
    """Yield codes of integers (N, K): the first row, then the other rows minus the first."""
    first, rest = _pack_integers(numbers[0]), numbers[1:] - numbers[:1]
    if not rest.any():
        yield first + bytes([DEFLATED])
        return
    yield first + bytes([DEFLATED]) + deflate(_pack_integers(np.diff(numbers, axis=0)))
    if not simple and np.abs(rest).max() <= MAX_VALUE // 2:
        groups = _groups(numbers.shape[1])
        for coder, forecast in SERIES.items():
            yield first + bytes([coder]) + encode_series(rest, groups, forecast)
        logs = _error_logs(numbers)
        for coder, forecast in SIZED_SERIES.items():
            coded = encode_series(rest, groups, forecast, sizes=2 ** logs.astype(np.int64))
            yield first + bytes([coder]) + logs.tobytes() + coded
        for order, base, depths, code in _plain_series(numbers):
            yield base + bytes([PLAIN, order]) + depths + code


def _plain_series(numbers: I64) -> Iterator[tuple[int, bytes, bytes, bytes]]:
    """Yield (order, base, depths, code) of the residuals of an extrapolation, per order."""
    for order in ORDERS:
        base = numbers[0] if order else _typical_row(numbers)
        less, floors = numbers - base, np.zeros(0, np.int32)
        if order == FLOORED:  # for columns that never fall below 0
            if numbers.min(initial=1) != 0 or np.abs(base).max() > MAX_VALUE:
                continue
            floors = np.ascontiguousarray(-base, np.int32)
        if np.abs(less).max() <= MAX_VALUE:
            rows = np.ascontiguousarray(less, np.int32)
            yield order, _pack_integers(base), *_core.plain_series_encode(rows, order, floors)


def _typical_row(numbers: I64) -> I64:
    """Return each column's most frequent value if it is common, else the middle of its range."""
    found = []
    for column in numbers.T:
        values, counts = np.unique(column, return_counts=True)
        often = 4 * counts.max() > len(column)
        middle = (int(values[0]) + int(values[-1])) // 2
        found.append(int(values[counts.argmax()]) if often else middle)
    return np.array(found, np.int64)


def _error_logs(numbers: I64) -> npt.NDArray[np.uint8]:
    """Return log2 of the expected first prediction error of each column, in units of 1/256."""
    steps = np.abs(np.diff(numbers, axis=0))
    bends = np.abs(np.diff(numbers, 2, axis=0)) if len(numbers) > 2 else steps
    expected = 256.0 * np.minimum(steps.mean(0), bends.mean(0))
    logs = np.rint(np.log2(np.maximum(expected, 1.0)))
    return np.asarray(np.clip(logs, 0, MAX_ERROR_LOG2), np.uint8)


def _groups(columns: int) -> list[ColumnGroup]:
    """Return groups of columns that are predicted from one another: 3 for vectors, else 4."""
    width = 3 if columns % 3 == 0 else 4
    starts = range(0, columns, width)
    return [ColumnGroup(tuple(range(s, min(s + width, columns)))) for s in starts]


def _float_code(bits: npt.NDArray[np.unsignedinteger]) -> bytes:
    """Return the bits of each column XORed with the previous row, as byte planes, deflated."""
    changed = bits.copy()
    changed[1:] ^= bits[:-1]
    width = bits.dtype.itemsize
    split = np.ascontiguousarray(changed.T).view(np.uint8).reshape(-1, width)
    return deflate(split.T[::-1].tobytes())


def _pack_integers(numbers: I64) -> bytes:
    out = FieldWriter()
    for value in numbers.ravel().tolist():
        out.signed(value)
    return out.bytes()


def _decimal_digits(values: F64) -> int | None:
    """Return the fewest decimal digits that restore all numbers bit for bit, or None."""
    if ((values == 0) & np.signbit(values)).any():
        return None
    for digits in range(MAX_DIGITS + 1):
        whole = np.rint(values * 10.0**digits)
        if np.abs(whole).max(initial=0.0) >= MAX_INTEGER / 2:  # so that differences also fit
            return None
        if np.array_equal(whole / 10.0**digits, values):
            return digits
    return None
