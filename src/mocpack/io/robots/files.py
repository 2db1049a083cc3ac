"""Read a robot from a URDF or MJCF file, recognized by content."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from mocpack.errors import FormatError, name_errors
from mocpack.io.external_files import find_external_file, read_external_file
from mocpack.io.robots import mjcf, urdf
from mocpack.io.robots.model import Robot
from mocpack.io.robots.xml_tree import MAX_BYTES, parse


def read_robot(path: str | Path, *, allow_outside: bool = False) -> Robot:
    """Read a URDF or MJCF file; errors name the file.

    An MJCF may include files in its own folder and below; `allow_outside` permits others.
    """
    return _read(Path(path), [], allow_outside=allow_outside)


def list_robot_files(path: str | Path, *, allow_outside: bool = False) -> list[Path]:
    """Return the files that reading a robot opens: its own and its includes."""
    opened: list[Path] = []
    with suppress(FormatError, OSError):  # files that were requested count even if reading fails
        _read(Path(path), opened, allow_outside=allow_outside)
    return list(dict.fromkeys(opened))


def _read(path: Path, opened: list[Path], *, allow_outside: bool) -> Robot:
    """Read a robot and append the paths of opened files to `opened`."""

    def read_include(name: str) -> bytes:
        find_external_file(path, name, allow_outside=allow_outside)
        opened.append(path.parent / name)
        return read_external_file(path, name, allow_outside=allow_outside, limit=MAX_BYTES)

    opened.append(path)
    with name_errors(f"robot {path}"):
        top = parse(_read_limited(path))
        if top.tag == "robot":
            return urdf.read(top)
        if top.tag == "mujoco":
            return mjcf.read(top, read_include)
        raise FormatError(
            f"root element must be <robot> (URDF) or <mujoco> (MJCF), got <{top.tag[:40]}>"
        )


def _read_limited(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise FormatError(f"file is larger than the limit of {MAX_BYTES >> 20} MiB")
    return data
