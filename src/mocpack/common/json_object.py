"""JSON: the type of its values, how to read them, and how to write objects to files.

`docs/format.md` (JSON objects) defines the limits; the core's reader checks them when reading.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeGuard, TypeVar

from mocpack.errors import CorruptionError, InvalidClipError, MocpackError

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = dict[str, Json]
Member = TypeVar("Member", bool, int, float, str)

MAX_METADATA = 1 << 24  # bytes, as text
END_NUMBER = 10**308  # numbers are smaller in magnitude, so that float64 holds them
MAX_NESTING = 100  # of objects and arrays, including the outermost


def parse_json(text: str | bytes) -> Json:
    """Parse JSON of another program: `ValueError` if it is none, `RecursionError` if too deep."""
    value: Json = json.loads(text)
    return value


def is_object(value: object) -> TypeGuard[JsonObject]:
    """Return whether parsed JSON is an object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Json]]:
    """Return whether parsed JSON is a list."""
    return isinstance(value, list)


def get_member(
    fields: Mapping[str, Json],
    name: str,
    kind: type[Member],
    where: str,
    error: type[MocpackError] = CorruptionError,
) -> Member:
    """Return a member of an object; an error if it is no `kind`. A float may be an integer."""
    value = fields.get(name)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise error(f"{where}: {name} must be a {kind.__name__}, got {value!r:.80}")
    return value


def pack_object(values: Mapping[str, Json], what: str, max_size: int) -> bytes:
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


def _check_value(value: object, where: str, level: int) -> None:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidClipError(f"{where} must be valid Unicode, got a lone surrogate") from None
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
                _check_value(key, f"{where}: the key {key[:40]!r}", level)
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


def _describe_number(value: float) -> str:
    return str(value) if isinstance(value, float) else f"an integer of {value.bit_length()} bits"
