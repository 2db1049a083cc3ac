"""The rows of the bench: what one codec at one target did to one clip."""

from __future__ import annotations

from typing import Required, TypedDict, TypeGuard

from mocpack.common.json_object import Json


class Row(TypedDict, total=False):
    """A measurement. Further fields are metrics, sizes, speeds and memory by name."""

    clip: Required[str]
    codec: Required[str]
    target: Required[str | None]
    failure: Required[str | None]
    bits_per_frame: float
    file_bytes: int
    with_model_bytes: int
    commit: str


def is_row(value: Json) -> TypeGuard[Row]:
    """Return whether parsed JSON is a row."""
    return isinstance(value, dict) and Row.__required_keys__ <= value.keys()


def get_number(row: Row, name: str) -> float | None:
    """Return a number of a row; None if it was not measured."""
    value = row.get(name)
    return value if isinstance(value, int | float) else None
