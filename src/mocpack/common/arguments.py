"""Check arguments of public functions; errors name the argument, its value and what is expected.

Each function takes the class of the error to raise.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import fields
from numbers import Integral, Real
from typing import TYPE_CHECKING, TypeGuard, TypeVar

import numpy as np

from mocpack.common.arrays import AnyArray
from mocpack.errors import InvalidClipError, MocpackError, UsageError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Item = TypeVar("Item")

MAX_FLOAT = sys.float_info.max
MAX_INTEGER = sys.maxsize
TYPE_NAMES = {
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "str": "a string",
    "None": "null",
}
# The annotations that accept a value, by the first of these types that it is an instance of.
ACCEPTED_TYPES: tuple[tuple[type | tuple[type, ...], set[str]], ...] = (
    ((bool, np.bool_), {"bool"}),
    (Integral, {"int", "float"}),
    (Real, {"float"}),
    (str, {"str"}),
    (type(None), {"None"}),
    (object, set()),
)


def check_number(
    name: str,
    value: object,
    low: float = -MAX_FLOAT,
    high: float = MAX_FLOAT,
    *,
    error: type[MocpackError] = UsageError,
) -> float:
    """Return a real number from `low` to `high`; booleans, NaN and, by default, inf are errors.

    >>> check_number("fps", 30, 1, 1000)
    30.0
    """
    with suppress(OverflowError):  # an integer too large for a float
        if _is_real(value) and low <= float(value) <= high:
            return float(value)
    limits = _format_limits(low, high, MAX_FLOAT)
    raise error(f"{name} must be a number{limits}, got {value!r:.80}")


def is_finite(value: object) -> bool:
    """Return whether a value is a finite real number that a float can represent."""
    try:
        return _is_real(value) and math.isfinite(value)
    except OverflowError:
        return False


def check_integer(
    name: str,
    value: object,
    low: int = -MAX_INTEGER,
    high: int = MAX_INTEGER,
    *,
    error: type[MocpackError] = UsageError,
) -> int:
    """Return an integer from `low` to `high`; booleans are errors."""
    if isinstance(value, Integral) and not isinstance(value, bool) and low <= int(value) <= high:
        return int(value)
    limits = _format_limits(low, high, MAX_INTEGER)
    raise error(f"{name} must be an integer{limits}, got {value!r:.80}")


def check_integers(
    name: str,
    values: Iterable[object],
    low: int = -MAX_INTEGER,
    high: int = MAX_INTEGER,
    *,
    error: type[MocpackError] = UsageError,
) -> list[int]:
    """Return a sequence of integers as a list, each from `low` to `high`."""
    given = check_sequence(name, values, error=error)
    return [check_integer(f"each of {name}", n, low, high, error=error) for n in given]


def _is_real(value: object) -> TypeGuard[Real]:
    return isinstance(value, Real) and not isinstance(value, bool)


def _format_limits(low: float, high: float, most: float) -> str:
    low_text, high_text = (str(n) if isinstance(n, int) else f"{n:g}" for n in (low, high))
    if high < most:
        return f" from {low_text} to {high_text}"
    return f" of at least {low_text}" if low > -most else ""


def check_array(
    name: str, values: object, *, error: type[MocpackError] = InvalidClipError
) -> AnyArray:
    """Return an array of real numbers or booleans, of any shape."""
    try:
        array: AnyArray = np.asanyarray(values)
    except (TypeError, ValueError, OverflowError) as fault:
        raise error(f"{name} must be an array of numbers: {fault}") from fault
    # an empty list is accepted too
    if array.dtype.kind not in "fiub":
        raise error(f"{name} must be an array of numbers, got {values!r:.80}")
    return array


def is_url(name: str) -> bool:
    """Return whether a name is a URL; a Windows path such as C:\\ is not."""
    scheme, separator, _ = name.partition("://")
    return bool(separator) and len(scheme) > 1


def check_path(name: str, value: object, *, may_be_url: bool = False) -> None:
    """Raise `UsageError` if a value is no path, or a URL where none is allowed."""
    if not isinstance(value, str | os.PathLike):
        raise UsageError(f"{name} must be a path, got {value!r:.80}")
    if is_url(str(value)) and not may_be_url:
        raise UsageError(
            f"{value} is a URL, expected a local file; mocpack reads files from URLs, but writes "
            "only archives (.mocps) to them"
        )


def check_sequence(
    name: str, values: Iterable[Item], *, error: type[MocpackError] = InvalidClipError
) -> list[Item]:
    """Return the items of an iterable as a list; a string or bytes is an error."""
    try:
        if not isinstance(values, str | bytes):
            return list(values)
    except TypeError:
        pass
    raise error(f"{name} must be a sequence, got {values!r:.80}")


def check_fields(owner: str, record: DataclassInstance) -> None:
    """Check those fields of a dataclass whose annotations are simple types (``float | None``).

    NaN and integers too large for a float are errors.
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
        is_huge = isinstance(value, int) and abs(value) > MAX_FLOAT
        if not fits or is_huge or value != value:  # NaN differs from itself
            expected = " or ".join(TYPE_NAMES[word] for word in words)
            raise UsageError(f"{owner}: {one.name} must be {expected}, got {value!r:.80}")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question that names the closest known word, to end an error with, or "".

    >>> did_you_mean("keysin", ["raw", "keysine"]), did_you_mean("zip", ["raw"])
    ("; did you mean 'keysine'?", '')
    """
    from difflib import get_close_matches  # only errors need it

    close = get_close_matches(word, list(known), 1)
    return f"; did you mean {close[0]!r}?" if close else ""
