"""Files that another file names: the buffers of a glTF, layers of a USD, includes of an MJCF.

A file may come from a stranger, so it must not choose what is read from the rest of the disk. The
files that it names must lie in its folder or below, after links are resolved, unless the caller
allows others. Only regular files are opened: a pipe or a device could block forever.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from mocpack.errors import FormatError

MAX_FILE_BYTES = 4 << 30  # bytes of one file
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # a drive of Windows has one letter
# O_NONBLOCK, because opening a pipe waits for its writer otherwise
OPEN_FLAGS = os.O_RDONLY
for _flag in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"):
    OPEN_FLAGS |= getattr(os, _flag, 0)


def external_file_reader(
    path: str | Path, *, allow_outside: bool = False
) -> Callable[[str], bytes]:
    """Return a function that reads the files that `path` names, by their names in it."""
    return lambda name: read_external_file(path, name, allow_outside=allow_outside)


def read_external_file(
    path: str | Path, name: str, *, allow_outside: bool = False, limit: int = MAX_FILE_BYTES
) -> bytes:
    """Return the bytes of a file that the file `path` names.

    Parameters
    ----------
    path : path
        The file that names the other one.
    name : str
        What it calls it: a path from its own folder, or an absolute one.
    allow_outside : bool
        Whether the other file may lie outside the folder of `path`.
    limit : int
        The most bytes that it may have.

    Raises
    ------
    FormatError
        If it lies outside, is no regular file, is too large, or cannot be read.
    """
    found = find_external_file(path, name, allow_outside=allow_outside)
    try:
        with open_regular_file(found) as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(size) if size <= limit else b""
    except OSError as error:
        reason = error.strerror or error
        raise FormatError(f"it refers to {name[:200]!r}, which cannot be read: {reason}") from error
    if size > limit:
        raise FormatError(f"it refers to {name[:200]!r}, which has more than {limit} bytes")
    return data


def find_external_file(path: str | Path, name: str, *, allow_outside: bool = False) -> Path:
    """Return the path of a file that the file `path` names, with all links resolved."""
    if URL.match(name):
        raise FormatError(f"it refers to {name[:200]!r}; only files are opened, not addresses")
    folder = os.path.realpath(Path(path).parent)
    try:
        found = os.path.realpath(Path(folder, name))
        os.fsencode(found)
    except ValueError as error:
        raise FormatError(f"it refers to {name[:200]!r}, which no file can be called") from error
    if not allow_outside and not Path(found).is_relative_to(folder):
        raise _outside_error(name, found)
    return Path(found)


def check_inside_folder(name: str) -> None:
    """Check a name in a store that has no links: it must not lead out of the folder."""
    path = os.path.normpath(name.replace("\\", "/")).replace("\\", "/")
    if URL.match(name) or path.startswith(("/", "../")) or path == ".." or "\0" in name:
        raise _outside_error(name, path)


def open_regular_file(path: str | Path) -> BinaryIO:
    """Open a regular file for reading; anything else is an `OSError`, without waiting for it."""
    handle = os.open(path, OPEN_FLAGS)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{path} is not a regular file")
    return os.fdopen(handle, "rb")


def _outside_error(name: str, found: str) -> FormatError:
    return FormatError(
        f"it refers to {name[:200]!r} ({found[:200]}), outside its folder; if you trust the file, "
        "--allow-outside opens it (allow_outside=True in Python)"
    )
