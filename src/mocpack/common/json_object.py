"""Validate and serialize JSON objects for files.

`docs/format.md` (JSON objects) defines the limits; the core's reader checks them when reading.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mocpack.errors import InvalidClipError

MAX_METADATA = 1 << 24  # bytes, as text
END_NUMBER = 10**308  # numbers are smaller in magnitude, so that float64 holds them
MAX_NESTING = 100  # of objects and arrays, including the outermost


def pack_object(values: Mapping[str, Any], what: str, max_size: int) -> bytes:
    """Return an object as UTF-8 JSON; a value that JSON cannot store is an `InvalidClipError`.

    Parameters
    ----------
    values : mapping
    what : str
        Name of the object; errors add the key: ``metadata["mass"]``.
    max_size : int
        Maximum size in bytes.
    """
    _check_value(dict(values), what, 1)
    text = json.dumps(dict(values), separators=(",", ":"), sort_keys=True, allow_nan=False).encode()
    if len(text) > max_size:
        raise InvalidClipError(f"{what} must be at most {max_size} bytes of JSON, got {len(text)}")
    return text


def _check_value(value: Any, where: str, level: int) -> None:
    if isinstance(value, str):
        _check_string(value, where)
    elif isinstance(value, dict | list | tuple):
        if level > MAX_NESTING:
            raise InvalidClipError(
                f"{where[:200]}: must be nested at most {MAX_NESTING} levels deep"
            )
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
        value = float(value) if isinstance(value, float) else value  # numpy warns about NaN
        if not -END_NUMBER < value < END_NUMBER:
            raise InvalidClipError(f"{where} must be below 1e308, got {_describe_number(value)}")
    elif value is not None:
        raise InvalidClipError(
            f"{where} must be text, a number, true, false, null, a list or an object, "
            f"got {type(value).__name__}"
        )


def _check_string(text: str, where: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidClipError(f"{where} must be valid Unicode, got a lone surrogate") from None


def _describe_number(value: float) -> str:
    return str(value) if isinstance(value, float) else f"an integer of {value.bit_length()} bits"
