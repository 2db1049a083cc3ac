"""Arguments of public functions, checked: errors name the argument, its value and what it must be.

Each function takes the class of the error, which says whose fault it is.
"""

from __future__ import annotations

import math
import os
import sys
from contextlib import suppress
from dataclasses import fields
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from mocpack.errors import InvalidClipError, MocpackError, UsageError

MAX_FLOAT = sys.float_info.max
TYPE_NAMES = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "a text",
    "None": "null",
}
# the annotations that fit a value, by the first of these kinds that it is of
ACCEPTED_TYPES: tuple[tuple[Any, set[str]], ...] = (
    ((bool, np.bool_), {"bool"}),
    (Integral, {"int", "float"}),
    (Real, {"float"}),
    (str, {"str"}),
    (type(None), {"None"}),
    (object, set()),
)


def check_number(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    error: type[MocpackError] = UsageError,
) -> float:
    """Return a real number from `low` to `high`; NaN is none.

    >>> check_number("fps", 30, 1, 1000)
    30.0
    """
    with suppress(OverflowError):  # of a whole number beyond all floats
        if isinstance(value, Real) and low <= float(value) <= high:
            return float(value)
    limits = "" if (low, high) == (-math.inf, math.inf) else f" from {low:g} to {high:g}"
    raise error(f"{name} must be a number{limits}, got {value!r:.80}")


def is_finite(value: Any) -> bool:
    """Whether a value is a real number, and neither NaN nor infinite nor beyond all floats."""
    try:
        return isinstance(value, Real) and math.isfinite(value)
    except OverflowError:
        return False


def check_integer(
    name: str,
    value: Any,
    low: int,
    high: int,
    *,
    error: type[MocpackError] = UsageError,
) -> int:
    """Return a whole number from `low` to `high`."""
    if isinstance(value, Integral) and low <= int(value) <= high:
        return int(value)
    raise error(f"{name} must be a whole number from {low} to {high}, got {value!r:.80}")


def check_array(
    name: str, values: Any, *, error: type[MocpackError] = InvalidClipError
) -> npt.NDArray[Any]:
    """Return an array of real numbers or truth values, of whatever shape."""
    try:
        array: npt.NDArray[Any] = np.asanyarray(values)
    except (TypeError, ValueError, OverflowError) as fault:
        raise error(f"{name} must be an array of numbers: {fault}") from fault
    # an empty list is one of numbers too
    if array.dtype.kind not in "fiub":
        raise error(f"{name} must be an array of numbers, got {values!r:.80}")
    return array


def check_path(name: str, value: Any) -> None:
    """Complain about what is no path: a text, or an object that stands for one."""
    if not isinstance(value, str | os.PathLike):
        raise UsageError(f"{name} must be a path, got {value!r:.80}")


def check_sequence(
    name: str, values: Any, *, error: type[MocpackError] = InvalidClipError
) -> list[Any]:
    """Return the members of what can be gone through; a text is taken for a mistake."""
    try:
        if not isinstance(values, str | bytes):
            return list(values)
    except TypeError:
        pass
    raise error(f"{name} must be a sequence, got {values!r:.80}")


def check_fields(owner: str, record: Any) -> None:
    """Check a dataclass's fields whose annotations are such as ``float | None``, and no others.

    NaN and whole numbers beyond all floats are refused.
    """
    for one in fields(record):
        words = str(one.type).replace(" ", "").split("|")
        if not one.init or not set(words) <= TYPE_NAMES.keys():
            continue
        value = getattr(record, one.name)
        for kind, fitting in ACCEPTED_TYPES:
            if isinstance(value, kind):
                fits = bool(fitting & set(words))
                break
        size: Any = abs(value) if isinstance(value, Real) else 0
        if not fits or not (size <= MAX_FLOAT or size == math.inf):
            expected = " or ".join(TYPE_NAMES[word] for word in words)
            raise UsageError(f"{owner}: {one.name} must be {expected}, got {value!r:.80}")
