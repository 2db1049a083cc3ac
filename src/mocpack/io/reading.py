"""Motion files read: the reader is chosen by what the bytes look like."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

import numpy as np

from mocpack.clip import AnyClip, check_reach
from mocpack.errors import CorruptionError, FormatError, UnsupportedClipError, UsageError
from mocpack.io.amc import skeletons_in
from mocpack.io.beside import MAX_FILE, files_beside, find_beside, read_beside
from mocpack.io.table import Format, format_of, later

READ_AT_ONCE = 1 << 24
PROBED = 1 << 16  # bytes that a format with a skeleton file is known by
REFUSED = {
    "clip": "holds one motion; there is none to choose",
    "fps": "has frames of its own and is not sampled anew",
    "body_model": "needs no body model",
    "robot": "is no motion of a robot",
    "quaternion": "has quaternions of one order",
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
    """Read a motion file; complaints name the file.

    `skeleton` is the skeleton file of a motion file that needs one (the .asf of an .amc; other
    formats have their own). Left out, it is looked for beside the motion. `data` is what the file
    holds, where somebody has read it: a pipe can be read only once. `allow_outside` lets the file
    name others outside its folder. `options` are those of `read_bytes`.
    """
    path = Path(path)
    data = contents(path) if data is None else data
    chosen = format_of(data, str(path))
    options |= {"unit": unit, "allow_outside": allow_outside}
    if chosen.find_skeleton is None:
        beside = files_beside(path, allow_outside=allow_outside)
        return read_bytes(data, name=str(path), beside=beside, **options)
    companion = _companion(chosen, path, skeleton)
    assert companion is not None
    if skeleton is not None:
        bones = contents(companion)
    else:
        try:
            bones = read_beside(path, companion.name, allow_outside=allow_outside)
        except FormatError as error:
            raise FormatError(f"{path}: {error}") from error
    return read_bytes(data, name=f"{path} (skeleton {companion})", skeleton=bones, **options)


def read_bytes(
    data: bytes,
    *,
    name: str = "input",
    unit: float | None = None,
    skeleton: bytes | None = None,
    beside: Callable[[str], bytes] | None = None,
    allow_outside: bool = False,
    **options: Any,
) -> AnyClip:
    """Read a motion file's bytes: by content first, by the extension of `name` second.

    `skeleton` is the bytes of the skeleton file, for formats that need one, and `beside` returns
    those of a file beside this one. `allow_outside` lets a robot's file include others outside
    its folder; `beside` has a rule of its own. `options` are for formats that take them: `clip`,
    which of several clips; `fps`, the frames a second to sample at, or that a robot's table has;
    `body_model` and `robot`, files; `quaternion`, the order of a robot's.
    """
    chosen = format_of(data, name)
    if chosen.find_skeleton is not None and skeleton is None:
        raise FormatError(f"{name}: {chosen.name} needs a skeleton file (--skeleton FILE)")
    extra: dict[str, Any] = {} if chosen.find_skeleton is None else {"skeleton": skeleton}
    for option, value in (options | {"beside": beside}).items():
        if option in chosen.options:
            extra[option] = value
        elif value is not None and option in REFUSED:
            raise UsageError(f"{name}: {chosen.name} {REFUSED[option]}")
    if "robot" in chosen.options:
        extra["allow_outside"] = allow_outside
    try:
        # of numbers that cannot be, readers and clips complain; numpy's warnings would come before
        with np.errstate(all="ignore"):
            clip = chosen.read(data, unit=unit, **extra)
            check_reach(clip)
    except (FormatError, UsageError) as error:
        raise type(error)(f"{name}: {error}") from error
    except UnsupportedClipError as error:
        raise CorruptionError(f"{name}: {error}") from error
    return clip


def contents(path: str | Path) -> bytes:
    """Return the bytes of a file or a pipe, opened once; more than `MAX_FILE` is refused."""
    with Path(path).open("rb") as file:
        found = os.fstat(file.fileno())
        if found.st_size > MAX_FILE:
            raise _too_large(str(path))
        return file.read() if S_ISREG(found.st_mode) else stream_contents(file, str(path))


def stream_contents(stream: BinaryIO, name: str) -> bytes:
    """Return the bytes of an open stream, `name` for complaints."""
    # a pipe does not say how much will come, so it is counted as it comes
    data = bytearray()
    while part := stream.read(READ_AT_ONCE):
        data += part
        if len(data) > MAX_FILE:
            raise _too_large(name)
    return bytes(data)


def clip_names_of(path: str | Path, *, allow_outside: bool = False) -> list[str]:
    """Return the names of the clips in a motion file; none of a format of one clip."""
    beside = files_beside(path, allow_outside=allow_outside)
    return clip_names_in(contents(path), name=str(path), beside=beside)


def clip_names_in(
    data: bytes, *, name: str = "input", beside: Callable[[str], bytes] | None = None
) -> list[str]:
    """Return the names of the clips in a motion file's bytes; none of a format of one clip."""
    chosen = format_of(data, name)
    if chosen.names is None:
        return []
    try:
        return chosen.names(data, **_reach(chosen, beside))
    except FormatError as error:
        raise type(error)(f"{name}: {error}") from error


def left_out(
    data: bytes, *, name: str = "input", beside: Callable[[str], bytes] | None = None
) -> list[str]:
    """Return what a motion file holds that is no motion, in words, where its reader can say so."""
    chosen = format_of(data, name)
    return [] if chosen.left_out is None else chosen.left_out(data, **_reach(chosen, beside))


def format_name(data: bytes, name: str) -> str:
    """Return what a motion file is, in a word."""
    return format_of(data, name).name


def names_beside(
    data: bytes, *, name: str = "input", beside: Callable[[str], bytes] | None = None
) -> list[str]:
    """Return the files that a motion file's bytes name, as they name them."""
    chosen = format_of(data, name)
    return [] if chosen.names_beside is None else chosen.names_beside(data, beside)


def files_to_read(
    path: str | Path, *, skeleton: str | Path | None = None, allow_outside: bool = False
) -> list[Path]:
    """Return the files that reading `path` opens: itself, and those that belong to it."""
    return [Path(path), *companions(path, skeleton=skeleton, allow_outside=allow_outside)[0]]


def companions(
    path: str | Path,
    *,
    skeleton: str | Path | None = None,
    listed: Callable[[Path], list[Path]] = skeletons_in,
    allow_outside: bool = False,
) -> tuple[list[Path], bool]:
    """Return the files that are read with one, and whether their names stand in it.

    Otherwise they are looked for, and files that come and go beside it may change which they are.
    `listed` returns the skeletons of a folder. Files that reading refuses to open are not among
    them, such as those outside the folder without `allow_outside`.
    """
    path = Path(path)
    if not path.is_file():
        return [], False
    with path.open("rb") as file:
        chosen = format_of(file.read(PROBED), str(path))
    if chosen.find_skeleton is not None:
        companion = _companion(chosen, path, skeleton, listed)
        return ([] if companion is None else [companion]), False
    if chosen.names_beside is None:
        return [], True
    beside = files_beside(path, allow_outside=allow_outside)
    found = []
    for name in chosen.names_beside(contents(path), beside):
        with suppress(FormatError):  # reading refuses it
            find_beside(path, name, allow_outside=allow_outside)
            found.append(path.parent / name)
    return found, True


def robot_files(path: str | Path, *, allow_outside: bool = False) -> list[Path]:
    """Return the files that reading a robot opens: its own, and those that it includes."""
    found: list[Path] = later("robots.files", "robot_files")(path, allow_outside=allow_outside)
    return found


def _reach(chosen: Format, beside: Callable[[str], bytes] | None) -> dict[str, Any]:
    """Return what a reader is given to open other files with, if it opens any."""
    return {"beside": beside} if "beside" in chosen.options else {}


def _companion(
    chosen: Format,
    path: Path,
    skeleton: str | Path | None,
    listed: Callable[[Path], list[Path]] = skeletons_in,
) -> Path | None:
    """Return the skeleton file that a motion file needs: the one named, or the one beside it."""
    if chosen.find_skeleton is None:
        return None
    return Path(skeleton) if skeleton is not None else chosen.find_skeleton(path, listed)


def _too_large(name: str) -> FormatError:
    return FormatError(f"{name}: larger than {MAX_FILE >> 30} GiB")
