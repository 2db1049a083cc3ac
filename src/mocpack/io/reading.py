"""Parse the bytes of motion files, and find the files that they are read with."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO, TypedDict

import numpy as np

from mocpack.common.arguments import is_url
from mocpack.common.choice import check_fps
from mocpack.common.source import open_source
from mocpack.errors import (
    FormatError,
    InvalidClipError,
    UnsupportedClipError,
    UsageError,
    convert_errors,
    name_errors,
)
from mocpack.io.amc import list_skeletons
from mocpack.io.external_files import (
    MAX_FILE_BYTES,
    external_file_reader,
    find_external_file,
)
from mocpack.io.table import Format, find_format, lazy_function
from mocpack.model.clip import AnyClip, check_coordinates, require_skeleton
from mocpack.model.space import UP_AXES

READ_CHUNK_BYTES = 1 << 24
PROBE_BYTES = 1 << 16  # enough to recognize a format that needs a skeleton file
REFUSED_OPTIONS = {
    "clip": "holds one motion, so leave out --clip (clip= in Python)",
    "body_model": "does not use a body model (body_model)",
    "robot": "is not a robot's motion (robot)",
    "up": "has its own up axis (up)",
    "quaternion": "has a fixed quaternion order (quaternion)",
}


class FormatOptions(TypedDict, total=False):
    """The options of `mocpack.read` that only some formats have."""

    clip: str | None
    fps: float | None
    up: str | None
    body_model: str | Path | None
    robot: str | Path | None
    quaternion: str | None
    ignore_limits: bool
    allow_pickle: bool


def parse_bytes(
    data: bytes,
    chosen: Format,
    options: FormatOptions,
    *,
    name: str = "input",
    unit: float | None = None,
    skeleton: bytes | None = None,
    read_external: Callable[[str], bytes] | None = None,
    allow_outside: bool = False,
) -> AnyClip:
    """Parse the bytes of a motion file of the format `chosen`; errors start with `name`.

    `unit` is in meters. `skeleton` is the content of the skeleton file, for formats that need one.
    `read_external` returns the bytes of an external file and decides what may be opened;
    `allow_outside` applies only to the includes of a robot's file.
    """
    if (up := options.get("up")) is not None and up not in UP_AXES:
        raise UsageError(f"{name}: up must be one of {', '.join(UP_AXES)}, got {up!r:.40}")
    extra: dict[str, object] = {}
    if chosen.find_skeleton is not None:
        if skeleton is None:
            raise FormatError(f"{name}: {chosen.name} needs a skeleton file; pass --skeleton FILE")
        extra["skeleton"] = skeleton
    for option, value in {**options, "read_external": read_external}.items():
        if option in chosen.options:
            extra[option] = value
        elif value is not None and option in REFUSED_OPTIONS:
            raise UsageError(f"{name}: {chosen.name} {REFUSED_OPTIONS[option]}")
    if "robot" in chosen.options:
        extra["allow_outside"] = allow_outside
    # Readers and clips report impossible numbers themselves, so numpy need not warn.
    with name_errors(name, FormatError, UsageError), np.errstate(all="ignore"):
        with convert_errors((InvalidClipError, UnsupportedClipError)):
            clip = chosen.read(data, unit=unit, **extra)
            check_coordinates(clip)
        return sample_evenly(clip, options.get("fps"))


def sample_evenly(clip: AnyClip, fps: float | None) -> AnyClip:
    """Return a clip at this frame rate; without one, or if it has this rate, the clip itself."""
    if fps is None:
        return clip
    check_fps(fps)
    if clip.take_data.times is None and math.isclose(clip.frame_rate, fps, rel_tol=1e-9):
        return clip
    return require_skeleton(clip, "fps").resample(fps)


def read_file_bytes(path: str | Path) -> bytes:
    """Return the bytes of a file, pipe or URL, opened once, of at most `MAX_FILE_BYTES`."""
    if is_url(str(path)):
        source = open_source(str(path))
        if source.size > MAX_FILE_BYTES:
            raise _too_large_error(str(path))
        return source.read(0, source.size)
    with Path(path).open("rb") as file:
        found = os.fstat(file.fileno())
        if found.st_size > MAX_FILE_BYTES:
            raise _too_large_error(str(path))
        return file.read() if S_ISREG(found.st_mode) else read_stream(file, str(path))


def read_stream(stream: BinaryIO, name: str) -> bytes:
    """Return the bytes of an open stream; `name` is for errors."""
    # A pipe has no size, so bytes are counted as they arrive.
    data = bytearray()
    while part := stream.read(READ_CHUNK_BYTES):
        data += part
        if len(data) > MAX_FILE_BYTES:
            raise _too_large_error(name)
    return bytes(data)


def files_to_read(
    path: str | Path, *, skeleton: str | Path | None = None, allow_outside: bool = False
) -> list[Path]:
    """Return the files that reading `path` opens: itself and its companions."""
    return [Path(path), *find_companions(path, skeleton=skeleton, allow_outside=allow_outside)]


def find_companions(
    path: str | Path,
    *,
    skeleton: str | Path | None = None,
    list_folder: Callable[[Path], list[Path]] = list_skeletons,
    allow_outside: bool = False,
) -> list[Path]:
    """Return the files that are read with a file: those that it names, or its skeleton.

    `list_folder` returns the skeletons of a folder. Files that reading would reject, such as those
    outside the folder without `allow_outside`, are not included.
    """
    path = Path(path)
    if not path.is_file():
        return []
    with path.open("rb") as file:
        chosen = find_format(file.read(PROBE_BYTES), str(path))
    if chosen.find_skeleton is not None:
        return [Path(skeleton) if skeleton is not None else chosen.find_skeleton(path, list_folder)]
    if chosen.list_external_files is None:
        return []
    read_external = external_file_reader(path, allow_outside=allow_outside)
    found = []
    for name in chosen.list_external_files(read_file_bytes(path), read_external):
        with suppress(FormatError):  # reading rejects it
            find_external_file(path, name, allow_outside=allow_outside)
            found.append(path.parent / name)
    return found


def list_robot_files(path: str | Path, *, allow_outside: bool = False) -> list[Path]:
    """Return the files that reading a robot opens: its own and its includes."""
    found: list[Path] = lazy_function("robots.files", "list_robot_files")(
        path, allow_outside=allow_outside
    )
    return found


def _too_large_error(name: str) -> FormatError:
    return FormatError(f"{name}: file is larger than the limit of {MAX_FILE_BYTES >> 30} GiB")
