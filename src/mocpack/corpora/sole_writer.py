"""Let one process at a time write an archive, so that none replaces what another has written.

A writer locks a hidden file next to the archive. Programs that do not lock it, file systems without
locks and object stores are covered by a comparison: just before the new archive is put in place,
the old one must be the file that was there at the start.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType

from mocpack.common.arguments import is_url
from mocpack.common.file_errors import add_path_to_errors
from mocpack.common.termination import unwind_when_terminated
from mocpack.corpora import storage
from mocpack.errors import UsageError

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EBADF)
MAX_NAME_BYTES = 240  # of the archive in the name of its lock; file names have at most 255 bytes
# versions of the archives that this thread writes, by path or URL
_versions: ContextVar[Mapping[str, str]] = ContextVar("versions", default=MappingProxyType({}))


@contextmanager
def sole_writer(name: str) -> Iterator[str]:
    """Refuse other writers of an archive within this block; yield its version at the start.

    Within another such block of the same archive, the start is that of the outer block.
    """
    key = name if is_url(name) else os.path.realpath(name)
    held = _versions.get()
    if key in held:
        yield held[key]
        return
    with unwind_when_terminated(), _lock(key, name):
        version = storage.version(name)
        token = _versions.set({**held, key: version})
        try:
            yield version
        finally:
            _versions.reset(token)


@contextmanager
def _lock(key: str, name: str) -> Iterator[None]:
    if is_url(key) or not Path(key).parent.is_dir():  # writing reports a missing folder
        yield
        return
    end = os.fsencode(Path(key).name)[-MAX_NAME_BYTES:]
    path = Path(key).with_name(f".{os.fsdecode(end)}.lock")
    while True:
        with add_path_to_errors(name):
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock_file(handle, name)
            if _is_at(path, handle):  # else the writer before removed it after it was opened
                try:
                    yield
                finally:
                    with suppress(OSError):  # Windows removes no open file
                        path.unlink()
                return
        finally:
            os.close(handle)


def _is_at(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _lock_file(handle: int, name: str) -> None:
    try:
        import fcntl
    except ModuleNotFoundError:  # on Windows
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UsageError(
            f"{name}: another process is writing this archive; run the command again when it has "
            "ended"
        ) from error
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
