"""Writing files so that a crash or a full disk leaves no half file and harms no old one.

Regular files are replaced as a whole and keep their mode and owner; links lead to what is
written. What is no regular file (a pipe, a device, ``/dev/stdout``) is written straight through.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from mocpack.file_errors import NamedWriter, add_path_to_errors

MAX_LINKS = 40  # as the kernel counts
MKSTEMP_SUFFIX_LENGTH = 8  # that `mkstemp` adds to a name


def write_atomically(data: bytes, path: str | Path) -> None:
    """Write a file so that at any moment it is either the old one or the whole new one."""
    write_all_atomically({Path(path): data})


def write_all_atomically(files: Mapping[Path, bytes]) -> None:
    """Write files that belong together: none is put in place before all are on the disk."""
    ready: dict[Path, tuple[Path, Path]] = {}
    try:
        for path, data in files.items():
            if not _is_stream(path):
                target = Path(os.path.realpath(path))
                ready[path] = _write_temporary(path, target, data), target
        for path, data in files.items():
            if path not in ready:
                _write_to_stream(path, data)
                continue
            temporary, target = ready[path]
            with add_path_to_errors(path):
                temporary.replace(target)
            del ready[path]
    finally:
        for temporary, _ in ready.values():
            temporary.unlink(missing_ok=True)


@contextmanager
def atomic_stream(path: str | Path) -> Iterator[BinaryIO]:
    """Give a stream whose bytes become the file when the block ends well, and vanish when not."""
    path = Path(path)
    target = Path(os.path.realpath(path))
    with add_path_to_errors(path):
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=_temporary_prefix(target))
    temporary = Path(name)
    try:
        with NamedWriter(handle, path) as file:
            yield file
            file.flush()
            with add_path_to_errors(path):
                os.fsync(file.fileno())
        with add_path_to_errors(path):
            _copy_owner_and_mode(temporary, target)
            temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def would_overwrite(path: str | Path) -> bool:
    """Say whether writing here loses what is there: not so in a pipe or through a link to nothing.

    A block device holds data, so it counts as a file.
    """
    path = Path(path)
    if _find_descriptor(path) is not None:
        return False
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    return not (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode))


def target_folder(path: str | Path) -> Path:
    """Return the folder in which writing `path` makes a file, a link followed."""
    path = Path(path)
    return Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent


def remove_temporaries(path: str | Path) -> None:
    """Remove what a process that was killed has left of writing `path`."""
    target = Path(os.path.realpath(path))
    start = _temporary_prefix(target)
    for other in target.parent.iterdir() if target.parent.is_dir() else ():
        if other.name.startswith(start) and len(other.name) == len(start) + MKSTEMP_SUFFIX_LENGTH:
            other.unlink(missing_ok=True)


def _is_stream(path: Path) -> bool:
    """Whether `path` is to be written from where it stands, and never replaced."""
    if _find_descriptor(path) is not None:
        return True
    with add_path_to_errors(path):
        try:
            return not stat.S_ISREG(path.stat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False


def _find_descriptor(path: Path) -> int | None:
    """Return the open descriptor that a name such as /dev/stdout or /dev/fd/3 stands for.

    What it leads to may be a regular file that a shell is writing; replacing that, or opening it
    again from its start, would lose what was written before.
    """
    folders = {Path(name).resolve() for name in ("/dev/fd", "/proc/self/fd") if Path(name).is_dir()}
    for _ in range(MAX_LINKS):
        if path.name.isdecimal() and path.parent.resolve() in folders:
            return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None


def _write_to_stream(path: Path, data: bytes) -> None:
    """Write to what is no regular file; a pipe waits for its reader, as it does for any program."""
    descriptor = _find_descriptor(path)
    with add_path_to_errors(path):
        handle = os.open(path, os.O_WRONLY) if descriptor is None else os.dup(descriptor)
        with os.fdopen(handle, "wb") as file:
            file.write(data)


def _write_temporary(path: Path, target: Path, data: bytes) -> Path:
    """Return a temporary file in the target's folder that holds the data, safe on the disk."""
    with add_path_to_errors(path):
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=_temporary_prefix(target))
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            _copy_owner_and_mode(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        return temporary


def _temporary_prefix(target: Path) -> str:
    return f".{target.name[:60]}."  # a name may have 255 bytes in all


def _copy_owner_and_mode(temporary: Path, target: Path) -> None:
    """Give a file the owner and mode of the one it replaces, or those of any new file."""
    if not target.exists():
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        return
    old, new = target.stat(), temporary.stat()
    if hasattr(os, "chown") and (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        # only root can give a file away; anyone else's replacement is their own
        for owner in ((old.st_uid, old.st_gid), (-1, old.st_gid)):
            with suppress(PermissionError):
                os.chown(temporary, *owner)
                break
    temporary.chmod(stat.S_IMODE(old.st_mode))  # after chown, which takes set-id bits off
