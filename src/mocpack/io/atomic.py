"""Writing files so that a crash or a full disk leaves no half file and harms no old one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


def write_atomically(data: bytes, path: str | Path) -> None:
    """Write a file so that at any moment it is either the old one or the whole new one."""
    write_all_atomically({Path(path): data})


def write_all_atomically(files: Mapping[Path, bytes]) -> None:
    """Write files that belong together: none is put in place before all are on the disk."""
    ready: dict[Path, Path] = {}
    try:
        for path, data in files.items():
            ready[path] = _write_beside(path, data)
        for path in files:
            with _naming(path):
                ready[path].replace(path)
            del ready[path]
    finally:
        for temporary in ready.values():
            temporary.unlink(missing_ok=True)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Complain about `path`: the temporary file's name would mean nothing to the user."""
    try:
        yield
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error


def _write_beside(path: Path, data: bytes) -> Path:
    """Return a temporary file in the same folder that holds the data, safe on the disk."""
    with _naming(path):
        handle, name = tempfile.mkstemp(dir=path.parent or ".", prefix=f".{path.name}.")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.chmod(_mode(path))
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        return temporary


def _mode(path: Path) -> int:
    """Return the permissions the file should have: those it had, or those of any new file."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
