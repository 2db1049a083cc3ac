"""JSON objects in a file: what they may hold, checked when they are written and when they are read.

`docs/format.md` defines them (JSON objects), and every reader refuses the same ones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from mocpack.errors import CorruptionError, InvalidClipError

MAX_METADATA = 1 << 24  # bytes, as text
MAX_LEVELS = 100  # of objects and arrays inside one another, the outermost included
BRACKETS = ("{", "[")


def pack_object(values: Mapping[str, Any], what: str, max_size: int) -> bytes:
    """Return the UTF-8 text of an object; a value that JSON cannot hold is an `InvalidClipError`.

    Parameters
    ----------
    values : mapping
    what : str
        What the object is, for the error, which also names the key: ``metadata["mass"]``.
    max_size : int
        Bytes.
    """
    _check_value(dict(values), what, 1)
    text = json.dumps(dict(values), separators=(",", ":"), sort_keys=True, allow_nan=False).encode()
    if len(text) > max_size:
        raise InvalidClipError(f"{what} takes {len(text)} bytes as JSON, at most {max_size} fit")
    return text


def unpack_object(text: bytes, what: str) -> dict[str, Any]:
    """Return the object of a text; `what` is the chunk that it stands in."""
    try:
        found = json.loads(
            text.decode(), parse_int=_integer, parse_float=_float, parse_constant=_no_constant
        )
        _check_text(found)
    except (ValueError, RecursionError) as error:
        raise CorruptionError(f"{what}: not a JSON object: {error}") from error
    if not isinstance(found, dict):
        raise CorruptionError(f"{what}: not a JSON object but a {type(found).__name__}")
    brackets = sum(text.count(bracket.encode()) for bracket in BRACKETS)
    if brackets > MAX_LEVELS and _levels(found) > MAX_LEVELS:
        raise CorruptionError(f"{what}: JSON nested deeper than {MAX_LEVELS} levels")
    return found


def _check_value(value: Any, where: str, level: int) -> None:
    if isinstance(value, str):
        _check_string(value, where)
    elif isinstance(value, dict | list | tuple):
        if level > MAX_LEVELS:
            raise InvalidClipError(f"{where[:200]}: nested deeper than {MAX_LEVELS} levels")
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            place = str(key)
            if isinstance(value, dict):
                if not isinstance(key, str):
                    raise InvalidClipError(f"{where}: keys must be text, got {key!r}")
                _check_string(key, f"{where}: the key {key[:40]!r}")
                place = json.dumps(key[:40])
            _check_value(item, f"{where}[{place}]", level + 1)
    elif isinstance(value, int | float):
        if not _is_finite(value):
            raise InvalidClipError(f"{where} must be a finite float64, got {_shortened(value)}")
    elif value is not None:
        raise InvalidClipError(
            f"{where} must be text, a number, true, false, null, a list or an object, "
            f"got {type(value).__name__}"
        )


def _check_string(text: str, where: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidClipError(
            f"{where} must be text that UTF-8 can hold, got a lone surrogate"
        ) from None


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond float64
        return False


def _shortened(value: float) -> str:
    return str(value) if isinstance(value, float) else f"an integer of {value.bit_length()} bits"


def _integer(text: str) -> int:
    _float(text)
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is beyond float64")
    return value


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is not a JSON value")


def _check_text(found: Any) -> None:
    """Refuse text with half of a surrogate pair, which an escape can spell."""
    json.dumps(found, ensure_ascii=False).encode()


def _levels(found: Any) -> int:
    """Return how deep objects and arrays are nested."""
    level, count = [found], 0
    while level:
        count += 1
        children = (v.values() if isinstance(v, dict) else v for v in level)
        level = [item for items in children for item in items if isinstance(item, dict | list)]
    return count
