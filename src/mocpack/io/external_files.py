"""Open files that another file refers to: glTF buffers, USD layers, MJCF includes.

A file from a stranger must not choose what is read from the rest of the disk. External files must
therefore be in its folder or below, after links are resolved, unless the caller allows others. Only
regular files are opened, because a pipe or device could block forever.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from mocpack.errors import FormatError

MAX_FILE_BYTES = 4 << 30
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # a Windows drive has one letter
# O_NONBLOCK: otherwise, opening a pipe waits for its writer.
OPEN_FLAGS = os.O_RDONLY
for _flag in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"):
    OPEN_FLAGS |= getattr(os, _flag, 0)


def external_file_reader(
    path: str | Path, *, allow_outside: bool = False
) -> Callable[[str], bytes]:
    """Return a function that reads files by the names that the file `path` uses for them."""
    return lambda name: read_external_file(path, name, allow_outside=allow_outside)


def read_external_file(
    path: str | Path, name: str, *, allow_outside: bool = False, limit: int = MAX_FILE_BYTES
) -> bytes:
    """Return the bytes of a file that the file `path` refers to, at most `limit`.

    `name` is relative to the folder of `path`, or absolute. `allow_outside` permits files outside
    that folder. A file that is not regular or cannot be read is a `FormatError`.
    """
    target = find_external_file(path, name, allow_outside=allow_outside)
    try:
        with open_regular_file(target) as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(size) if size <= limit else b""
    except OSError as error:
        reason = error.strerror or error
        raise FormatError(f"cannot read referenced file {name[:200]!r}: {reason}") from error
    if size > limit:
        raise FormatError(f"referenced file {name[:200]!r} is larger than {limit} bytes")
    return data


def find_external_file(path: str | Path, name: str, *, allow_outside: bool = False) -> Path:
    """Return the resolved path of a file that the file `path` refers to."""
    if URL.match(name):
        raise FormatError(f"refers to {name[:200]!r}; only files can be opened, not URLs")
    folder = os.path.realpath(Path(path).parent)
    try:
        target = os.path.realpath(Path(folder, name))
        os.fsencode(target)
    except ValueError as error:
        raise FormatError(f"refers to {name[:200]!r}, which is not a valid file name") from error
    if not allow_outside and not Path(target).is_relative_to(folder):
        raise _outside_error(name, target)
    return Path(target)


def check_inside_folder(name: str) -> None:
    """Raise an error if a name in a store without links leads out of its folder."""
    path = os.path.normpath(name.replace("\\", "/")).replace("\\", "/")
    if URL.match(name) or path.startswith(("/", "../")) or path == ".." or "\0" in name:
        raise _outside_error(name, path)


def open_regular_file(path: str | Path) -> BinaryIO:
    """Open a regular file for reading; raise `OSError` for anything else, without blocking."""
    handle = os.open(path, OPEN_FLAGS)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{path} is not a regular file")
    return os.fdopen(handle, "rb")


def _outside_error(name: str, target: str) -> FormatError:
    return FormatError(
        f"refers to {name[:200]!r} ({target[:200]}), outside its folder; if you trust the "
        "file, pass --allow-outside (allow_outside=True in Python)"
    )
