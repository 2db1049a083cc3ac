"""Write files so that a crash or a full disk never leaves a partial file or damages an old one.

Ctrl-C and SIGTERM leave no temporary file either.

Regular files are replaced atomically and keep their mode and owner. Symbolic links are followed.
Pipes, devices and ``/dev/stdout`` are written directly.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from mocpack.common.file_errors import NamedWriter, add_path_to_errors
from mocpack.common.termination import unwind_when_terminated

MAX_LINKS = 40  # as in the Linux kernel
MKSTEMP_SUFFIX_LENGTH = 8  # characters that `mkstemp` appends
_unfinished: set[Path] = set()  # temporary files of this process, of all threads


def write_atomically(data: bytes, path: str | Path) -> None:
    """Write a file atomically: at any moment the path holds the complete old or new file."""
    if _is_stream(Path(path)):
        _write_to_stream(Path(path), data)
        return
    with atomic_stream(path) as file:
        file.write(data)


def write_all_atomically(files: Mapping[Path, bytes]) -> None:
    """Write several files; none is replaced before all are on disk."""
    with ExitStack() as together:
        # An ExitStack ends in reverse order, and the last file is to be replaced last.
        for path, data in reversed([*files.items()]):
            if not _is_stream(path):
                file = together.enter_context(atomic_stream(path))
                file.write(data)
                file.flush()
                with add_path_to_errors(path):
                    os.fsync(file.fileno())
        for path, data in files.items():
            if _is_stream(path):
                _write_to_stream(path, data)


@contextmanager
def atomic_stream(path: str | Path, check: Callable[[], None] | None = None) -> Iterator[BinaryIO]:
    """Yield a stream that becomes the file if the block succeeds, and is removed otherwise.

    `check` is called when the stream is on disk, and may raise to keep the old file.
    """
    path = Path(path)
    target = Path(os.path.realpath(path))
    with unwind_when_terminated():
        with add_path_to_errors(path):
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=_temporary_prefix(target))
        temporary = Path(name)
        _unfinished.add(temporary)
        try:
            with NamedWriter(handle, path) as file:
                yield file
                file.flush()
                with add_path_to_errors(path):
                    os.fsync(file.fileno())
            if check is not None:
                check()
            with add_path_to_errors(path):
                _copy_owner_and_mode(temporary, target)
                temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        finally:
            _unfinished.discard(temporary)


def would_overwrite(path: str | Path) -> bool:
    """Return whether writing here would destroy existing data, unlike a pipe or a dangling link.

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
    """Return the folder of the file that writing `path` creates, with a link followed."""
    path = Path(path)
    return Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent


def remove_unfinished() -> None:
    """Remove the temporary files that other threads are writing; call it before `os._exit`."""
    for temporary in list(_unfinished):
        temporary.unlink(missing_ok=True)


def remove_temporaries(path: str | Path) -> None:
    """Remove temporary files that killed processes left while writing `path`."""
    target = Path(os.path.realpath(path))
    start = _temporary_prefix(target)
    for other in target.parent.iterdir() if target.parent.is_dir() else ():
        if other.name.startswith(start) and len(other.name) == len(start) + MKSTEMP_SUFFIX_LENGTH:
            other.unlink(missing_ok=True)


def _is_stream(path: Path) -> bool:
    """Return whether `path` must be written in place and not replaced."""
    if _find_descriptor(path) is not None:
        return True
    with add_path_to_errors(path):
        try:
            return not stat.S_ISREG(path.stat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False


def _find_descriptor(path: Path) -> int | None:
    """Return the open file descriptor that a path such as /dev/stdout or /dev/fd/3 stands for.

    It may be a regular file that a shell is writing. Replacing or reopening it would lose what was
    written before.
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
    """Write to a pipe or device; opening a pipe waits for its reader."""
    descriptor = _find_descriptor(path)
    with add_path_to_errors(path):
        handle = os.open(path, os.O_WRONLY) if descriptor is None else os.dup(descriptor)
        with os.fdopen(handle, "wb") as file:
            file.write(data)


def _temporary_prefix(target: Path) -> str:
    return f".{target.name[:60]}."  # file names have at most 255 bytes


def _copy_owner_and_mode(temporary: Path, target: Path) -> None:
    """Give a file the owner and mode of the one it replaces, or those of a new file."""
    if not target.exists():
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        return
    old, new = target.stat(), temporary.stat()
    if hasattr(os, "chown") and (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        # Only root can give a file to another user.
        for owner in ((old.st_uid, old.st_gid), (-1, old.st_gid)):
            with suppress(PermissionError):
                os.chown(temporary, *owner)
                break
    temporary.chmod(stat.S_IMODE(old.st_mode))  # after chown, which clears set-id bits
