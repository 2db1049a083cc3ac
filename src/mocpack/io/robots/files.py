"""A robot's file, URDF or MJCF, by what it holds."""

from __future__ import annotations

from pathlib import Path

from mocpack.errors import FormatError
from mocpack.io.robots import mjcf, urdf
from mocpack.io.robots.model import Robot
from mocpack.io.robots.xml_tree import MAX_BYTES, parse


def read_robot(path: str | Path) -> Robot:
    """Read a URDF or MJCF file; complaints name it."""
    path = Path(path)

    def beside(relative: str) -> bytes:
        return _contents(path.parent / relative)

    try:
        top = parse(_contents(path))
        if top.tag == "robot":
            return urdf.read(top)
        if top.tag == "mujoco":
            return mjcf.read(top, beside)
        raise FormatError(f"<{top.tag[:40]}> is neither URDF (<robot>) nor MJCF (<mujoco>)")
    except FormatError as error:
        raise type(error)(f"robot {path}: {error}") from error


def _contents(path: Path) -> bytes:
    with path.open("rb") as file:
        found = file.read(MAX_BYTES + 1)
    if len(found) > MAX_BYTES:
        raise FormatError(f"more than {MAX_BYTES >> 20} MiB")
    return found
