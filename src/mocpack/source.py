"""Where the bytes of a file come from: a path, bytes at hand, or an open file object.

Every read names its place. Threads and forked processes share a file's offset, so none is used
where the system can read at a place; elsewhere a lock keeps seek and read together.
"""

from __future__ import annotations

import io
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from mocpack.errors import TruncatedError, UsageError

HEAD_READ_BYTES = (
    4096  # bytes of a file that are read at once: mostly all chunks before the payload
)

Openable = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO
"""What can be opened: a path, the bytes themselves, or a file object open for reading bytes."""


class Source(ABC):
    """Bytes that can be read anywhere, by any thread."""

    size: int
    data: bytes | None = None
    """All bytes, where they are at hand: the core then reads them where they stand."""

    @abstractmethod
    def read(self, offset: int, size: int) -> bytes:
        """Return exactly these bytes, or raise `TruncatedError`."""

    def close(self) -> None:  # noqa: B027 - most have nothing to give back
        """Give back what was opened here; what the caller opened stays open."""


def open_source(given: Openable | Source) -> Source:
    """Return the source of whatever a caller opens."""
    if isinstance(given, Source):
        return given
    if isinstance(given, bytes | bytearray | memoryview):
        return BytesSource(bytes(given))
    if isinstance(given, str | os.PathLike):
        # what is no regular file is read once, from its start to its end
        regular = Path(given).is_file() or not Path(given).exists()
        return PathSource(os.fspath(given)) if regular else BytesSource(Path(given).read_bytes())
    if not hasattr(given, "read"):
        raise UsageError(f"open takes a path, bytes or a file object, got {type(given).__name__}")
    if not _can_seek(given):
        return BytesSource(_check_bytes(given.read()))
    return FileSource(given)


class BytesSource(Source):
    """Bytes at hand."""

    def __init__(self, data: bytes) -> None:
        self.data: bytes = data
        self.size = len(data)

    def read(self, offset: int, size: int) -> bytes:
        return _check_size(self.data[offset : offset + size], size)


class PathSource(Source):
    """A file by its path. Sent to another process, it is opened there again."""

    def __init__(self, path: str) -> None:
        self._path = str(Path(path).absolute())
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115, PTH123 - closed by close
        self._read = _positional_reader(self._file)
        self.size = os.fstat(self._file.fileno()).st_size
        self._start = self._read(0, min(self.size, HEAD_READ_BYTES))

    def read(self, offset: int, size: int) -> bytes:
        if offset + size <= len(self._start):
            return self._start[offset : offset + size]
        return _check_size(self._read(offset, size), size)

    def close(self) -> None:
        self._file.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self._path, self.size)


class PartSource(Source):
    """A part of another source, as a source of its own; the other is closed with it."""

    def __init__(self, source: Source, offset: int, size: int) -> None:
        self._source, self._offset, self.size = source, offset, size
        if source.data is not None:
            self.data = source.data[offset : offset + size]

    def read(self, offset: int, size: int) -> bytes:
        if offset + size > self.size:
            raise TruncatedError(f"file ends {offset + size - self.size} bytes too early")
        return self._source.read(self._offset + offset, size)

    def close(self) -> None:
        self._source.close()


class FileSource(Source):
    """A file object that the caller opened, and closes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._read = _positional_reader(file)
        self.size = file.seek(0, io.SEEK_END)

    def read(self, offset: int, size: int) -> bytes:
        return _check_size(self._read(offset, size), size)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            "a motion opened from a file object cannot be sent to another process; open its path"
        )


def _reopen(path: str, size: int) -> PathSource:
    source = PathSource(path)
    if source.size != size:
        source.close()
        raise TruncatedError(f"{path} has {source.size} bytes, it had {size} when it was opened")
    return source


def _positional_reader(file: Any) -> Callable[[int, int], bytes]:
    """Return the function that reads so many bytes at a place, fewer at the end."""
    raw = getattr(file, "raw", file)
    # other objects may have the number of a file that they read through, and not as it is
    if isinstance(raw, io.FileIO) and hasattr(os, "pread"):
        return partial(_pread, raw)
    lock = threading.Lock()

    def read(offset: int, size: int) -> bytes:
        with lock:
            file.seek(offset)
            return _read_all(file.read, size)

    return read


def _pread(raw: io.FileIO, offset: int, size: int) -> bytes:
    first = os.pread(raw.fileno(), size, offset)
    if len(first) in (0, size):
        return first
    parts = [first]
    while got := os.pread(raw.fileno(), size - sum(map(len, parts)), offset + sum(map(len, parts))):
        parts.append(got)  # a read may give less than there is, above all beyond 2 GB
    return b"".join(parts)


def _read_all(read: Callable[[int], Any], size: int) -> bytes:
    parts = [_check_bytes(read(size))]
    while parts[-1] and (missing := size - sum(map(len, parts))):
        parts.append(_check_bytes(read(missing)))
    return b"".join(parts)


def _check_bytes(data: Any) -> bytes:
    if not isinstance(data, bytes):
        raise UsageError("the file object gives text; open it for reading bytes")
    return data


def _can_seek(file: Any) -> bool:
    try:
        return bool(file.seekable())
    except AttributeError:
        return hasattr(file, "seek")


def _check_size(data: bytes, size: int) -> bytes:
    if len(data) < size:
        raise TruncatedError(f"file ends {size - len(data)} bytes too early")
    return data
