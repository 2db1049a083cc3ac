"""Read motion files; the content of a file chooses the reader."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

import numpy as np

from mocpack.common.arguments import did_you_mean
from mocpack.errors import (
    CorruptionError,
    FormatError,
    InvalidClipError,
    UnsupportedClipError,
    UsageError,
    name_errors,
)
from mocpack.io.amc import list_skeletons
from mocpack.io.choice import check_fps
from mocpack.io.external_files import (
    MAX_FILE_BYTES,
    external_file_reader,
    find_external_file,
    read_external_file,
)
from mocpack.io.table import FORMATS, Format, find_format, lazy_function
from mocpack.model.clip import AnyClip, Clip, check_coordinates
from mocpack.model.space import UP_AXES

READ_CHUNK_BYTES = 1 << 24
PROBE_BYTES = 1 << 16  # enough to recognize a format that needs a skeleton file
OPTIONS = {option for one in FORMATS for option in one.options}
REFUSED_OPTIONS = {
    "clip": "holds one motion, so leave out --clip (clip= in Python)",
    "body_model": "does not use a body model (body_model)",
    "robot": "is not a robot's motion (robot)",
    "up": "has its own up axis (up)",
    "quaternion": "has a fixed quaternion order (quaternion)",
}


def read_file(
    path: str | Path,
    *,
    unit: float | None = None,
    skeleton: str | Path | None = None,
    data: bytes | None = None,
    allow_outside: bool = False,
    **options: Any,
) -> AnyClip:
    """Read a motion file; errors name the file.

    `skeleton` is the skeleton file of formats that need one (the .asf of an .amc); by default it is
    searched in the folder of the motion. `data` is the content of the file if it was read already:
    a pipe can be read only once. `allow_outside` permits external files outside the folder of the
    file. `options` are those of `read_bytes`.
    """
    path = Path(path)
    data = read_file_bytes(path) if data is None else data
    chosen = find_format(data, str(path))
    options |= {"unit": unit, "allow_outside": allow_outside}
    if chosen.find_skeleton is None:
        read_external = external_file_reader(path, allow_outside=allow_outside)
        return read_bytes(data, name=str(path), read_external=read_external, **options)
    companion = chosen.find_skeleton(path) if skeleton is None else Path(skeleton)
    if skeleton is not None:
        bones = read_file_bytes(companion)
    else:
        with name_errors(path):
            bones = read_external_file(path, companion.name, allow_outside=allow_outside)
    return read_bytes(data, name=f"{path} (skeleton {companion})", skeleton=bones, **options)


def read_bytes(
    data: bytes,
    *,
    name: str = "input",
    unit: float | None = None,
    skeleton: bytes | None = None,
    read_external: Callable[[str], bytes] | None = None,
    allow_outside: bool = False,
    **options: Any,
) -> AnyClip:
    """Read the bytes of a motion file, recognized by content, or else by the extension of `name`.

    `skeleton` is the content of the skeleton file, for formats that need one. `read_external`
    returns the bytes of an external file and decides what may be opened; `allow_outside` applies
    only to the includes of a robot's file. `options` are for formats that support them: `clip` (one
    of several motions), `body_model` and `robot` (files), and `quaternion` (component order in a
    robot's file). `fps` is the rate to sample at, or the frame rate of a file that states none.
    """
    unknown = options.keys() - OPTIONS
    if unknown:
        close = did_you_mean(min(unknown), OPTIONS)
        raise UsageError(f"{name}: unknown option {min(unknown)!r}{close}")
    if (up := options.get("up")) is not None and up not in UP_AXES:
        raise UsageError(f"{name}: up must be one of {', '.join(UP_AXES)}, got {up!r:.40}")
    chosen = find_format(data, name)
    if chosen.find_skeleton is not None and skeleton is None:
        raise FormatError(f"{name}: {chosen.name} needs a skeleton file; pass --skeleton FILE")
    extra: dict[str, Any] = {} if chosen.find_skeleton is None else {"skeleton": skeleton}
    for option, value in (options | {"read_external": read_external}).items():
        if option in chosen.options:
            extra[option] = value
        elif value is not None and option in REFUSED_OPTIONS:
            raise UsageError(f"{name}: {chosen.name} {REFUSED_OPTIONS[option]}")
    if "robot" in chosen.options:
        extra["allow_outside"] = allow_outside
    # Readers and clips report impossible numbers themselves, so numpy need not warn.
    with name_errors(name, FormatError, UsageError), np.errstate(all="ignore"):
        try:
            clip = chosen.read(data, unit=unit, **extra)
            check_coordinates(clip)
        except (InvalidClipError, UnsupportedClipError) as error:
            raise CorruptionError(str(error)) from error
        return sample_evenly(clip, options.get("fps"))


def sample_evenly(clip: AnyClip, fps: float | None) -> AnyClip:
    """Return a clip at this frame rate; without one, or if it has this rate, the clip itself."""
    if fps is None:
        return clip
    check_fps(fps)
    is_even = not isinstance(clip, Clip) or clip.take_data.times is None
    if is_even and math.isclose(clip.frame_rate, fps, rel_tol=1e-9):
        return clip
    if not isinstance(clip, Clip):
        raise UsageError("fps applies to skeleton clips; a vertex animation keeps its frames")
    return clip.resample(fps)


def read_file_bytes(path: str | Path) -> bytes:
    """Return the bytes of a file or pipe, opened once, of at most `MAX_FILE_BYTES`."""
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


def list_clips_in_bytes(
    data: bytes, *, name: str = "input", read_external: Callable[[str], bytes] | None = None
) -> list[str]:
    """Return the names of the clips in a file's bytes, or none if its format holds one clip."""
    chosen = find_format(data, name)
    if chosen.list_clips is None:
        return []
    with name_errors(name):
        return chosen.list_clips(data, **_external_option(chosen, read_external))


def count_ignored(
    data: bytes, *, name: str = "input", read_external: Callable[[str], bytes] | None = None
) -> dict[str, int]:
    """Count the meshes, materials, blend shapes and so on of a motion file, by singular noun."""
    chosen = find_format(data, name)
    if chosen.count_ignored is None:
        return {}
    with name_errors(name):
        found = chosen.count_ignored(data, **_external_option(chosen, read_external))
    return {word: count for word, count in found.items() if count}


def list_external_files(
    data: bytes, *, name: str = "input", read_external: Callable[[str], bytes] | None = None
) -> list[str]:
    """Return the names of the external files that a motion file refers to."""
    chosen = find_format(data, name)
    return (
        []
        if chosen.list_external_files is None
        else chosen.list_external_files(data, read_external)
    )


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


def _external_option(
    chosen: Format, read_external: Callable[[str], bytes] | None
) -> dict[str, Any]:
    """Return the keyword argument for a reader that opens external files."""
    return {"read_external": read_external} if "read_external" in chosen.options else {}


def _too_large_error(name: str) -> FormatError:
    return FormatError(f"{name}: file is larger than the limit of {MAX_FILE_BYTES >> 30} GiB")
