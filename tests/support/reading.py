"""Parse the bytes of motion files of other programs, without warnings."""

from __future__ import annotations

from typing import Unpack

from mocpack.io.reading import FormatOptions, parse_bytes
from mocpack.io.table import find_format
from mocpack.model.clip import AnyClip


def read_bytes(
    data: bytes,
    *,
    name: str = "input",
    unit: float | None = None,
    skeleton: bytes | None = None,
    **options: Unpack[FormatOptions],
) -> AnyClip:
    """Return a clip; `unit` is in meters, `skeleton` the bytes of the skeleton file."""
    chosen = find_format(data, name)
    return parse_bytes(data, chosen, options, name=name, unit=unit, skeleton=skeleton)
