"""The table of formats. A reader is chosen by what the bytes look like, a writer by extension."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mocpack.clip import AnyClip
from mocpack.errors import FormatError, UsageError
from mocpack.io import bvh

MAX_FILE = 4 << 30  # bytes; more is refused before it is read


@dataclass(frozen=True)
class Format:
    """One row: how to recognise, read and write a kind of file."""

    name: str
    extensions: tuple[str, ...]
    probe: Callable[[bytes], bool]
    read: Callable[..., AnyClip]
    write: Callable[..., bytes] | None = None


FORMATS = (Format("BVH", (".bvh",), bvh.probe, bvh.read, bvh.write),)


def extensions(*, writable: bool = False) -> list[str]:
    """Return the extensions that can be read, or written."""
    return sorted(e for f in FORMATS if f.write or not writable for e in f.extensions)


def read_file(
    path: str | Path, *, unit: float | None = None, skeleton: str | Path | None = None
) -> AnyClip:
    """Read a motion file; complaints name the file. `skeleton` is for formats of two files."""
    path = Path(path)
    if skeleton is not None:
        raise UsageError(f"{path}: takes no skeleton file")
    if path.stat().st_size > MAX_FILE:
        raise FormatError(f"{path}: larger than {MAX_FILE >> 30} GiB")
    return read_bytes(path.read_bytes(), name=str(path), unit=unit)


def read_bytes(data: bytes, *, name: str = "input", unit: float | None = None) -> AnyClip:
    """Read a motion file's bytes: by content first, by the extension of `name` second."""
    found = [f for f in FORMATS if f.probe(data)]
    found = found or [f for f in FORMATS if Path(name).suffix.lower() in f.extensions]
    if not found:
        raise FormatError(
            f"{name}: not a motion file that mocpack reads; it reads: {', '.join(extensions())}"
        )
    try:
        return found[0].read(data, unit=unit)
    except FormatError as error:
        raise type(error)(f"{name}: {error}") from error


def write_bytes(clip: AnyClip, extension: str) -> bytes:
    """Return the clip as a file of that extension."""
    for f in FORMATS:
        if extension.lower() in f.extensions and f.write:
            return f.write(clip)
    raise UsageError(
        f"cannot write {extension!r} files; mocpack writes: {', '.join(extensions(writable=True))}"
    )


def write_file(clip: AnyClip, path: str | Path) -> None:
    """Write the clip in the format of the path's extension, atomically."""
    write_atomically(write_bytes(clip, Path(path).suffix), path)


def write_atomically(data: bytes, path: str | Path) -> None:
    """Write a file so that at any moment it is either the old one or the whole new one."""
    path = Path(path)
    try:
        _write_and_rename(data, path)
    except OSError as error:
        # the temporary file's name would mean nothing to the user
        raise type(error)(error.errno, error.strerror, str(path)) from error


def _write_and_rename(data: bytes, path: Path) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent or ".", prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(_mode(path))
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _mode(path: Path) -> int:
    """Return the permissions the file should have: those it had, or those of any new file."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
