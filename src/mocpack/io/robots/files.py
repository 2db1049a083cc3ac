"""A robot's file, URDF or MJCF, by what it holds."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from mocpack.errors import FormatError
from mocpack.io.external_files import find_external_file, read_external_file
from mocpack.io.robots import mjcf, urdf
from mocpack.io.robots.model import Robot
from mocpack.io.robots.xml_tree import MAX_BYTES, parse


def read_robot(path: str | Path, *, allow_outside: bool = False) -> Robot:
    """Read a URDF or MJCF file; complaints name it.

    An MJCF may include files in its own folder and below; `allow_outside` permits all others.
    """
    return _read(Path(path), [], allow_outside=allow_outside)


def list_robot_files(path: str | Path, *, allow_outside: bool = False) -> list[Path]:
    """Return the files that reading a robot opens: its own, and those that it includes."""
    opened: list[Path] = []
    with suppress(FormatError, OSError):  # of one that cannot be read: it was to be opened anyway
        _read(Path(path), opened, allow_outside=allow_outside)
    return list(dict.fromkeys(opened))


def _read(path: Path, opened: list[Path], *, allow_outside: bool) -> Robot:
    """Read a robot; what is opened for it is appended to a list."""

    def included(name: str) -> bytes:
        find_external_file(path, name, allow_outside=allow_outside)
        opened.append(path.parent / name)
        return read_external_file(path, name, allow_outside=allow_outside, limit=MAX_BYTES)

    opened.append(path)
    try:
        top = parse(_read_limited(path))
        if top.tag == "robot":
            return urdf.read(top)
        if top.tag == "mujoco":
            return mjcf.read(top, included)
        raise FormatError(f"<{top.tag[:40]}> is neither URDF (<robot>) nor MJCF (<mujoco>)")
    except FormatError as error:
        raise type(error)(f"robot {path}: {error}") from error


def _read_limited(path: Path) -> bytes:
    with path.open("rb") as file:
        found = file.read(MAX_BYTES + 1)
    if len(found) > MAX_BYTES:
        raise FormatError(f"more than {MAX_BYTES >> 20} MiB")
    return found
