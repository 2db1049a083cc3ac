"""Sources of bytes: a path, a URL, bytes in memory, or an open file object.

Every read names its offset. Threads and forked processes share the position of an open file, so
reads use pread where the system has it, and a lock around seek and read elsewhere.
"""

from __future__ import annotations

import io
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import BinaryIO

from mocpack.common.arguments import is_url
from mocpack.common.remote_files import file_system, name_store_errors
from mocpack.errors import TruncatedError, UsageError

START_BYTES = 4096  # usually contain all chunks before the payload

Openable = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO
"""What can be opened: a path, a URL, bytes, or a binary file object."""
Reopening = tuple[Callable[[str, int], "PathSource"], tuple[str, int]]
"""How pickle opens a file again: a function and its arguments, path and size."""


class Source(ABC):
    """Bytes that any thread can read at any offset."""

    size: int
    data: bytes | None = None
    """All bytes, if they are in memory; the core then reads them without copying."""
    start: bytes = b""
    """The first bytes, if they were read already; the core then does not call `read` for them."""

    @abstractmethod
    def read(self, offset: int, size: int) -> bytes:
        """Return exactly `size` bytes at `offset`, or raise `TruncatedError`."""

    def close(self) -> None:  # noqa: B027 - most sources have nothing to close
        """Close what this source opened; a file object of the caller stays open."""


def open_source(given: Openable | Source) -> Source:
    """Return a source for a path, a URL, bytes, a file object or a source."""
    if isinstance(given, Source):
        return given
    if isinstance(given, bytes | bytearray | memoryview):
        return BytesSource(bytes(given))
    if isinstance(given, str) and is_url(given):
        return UrlSource(given)
    if isinstance(given, str | os.PathLike):
        # a pipe or device can be read only once, from start to end
        regular = Path(given).is_file() or not Path(given).exists()
        return PathSource(os.fspath(given)) if regular else BytesSource(Path(given).read_bytes())
    if not hasattr(given, "read"):
        raise UsageError(f"expected a path, bytes or a file object, got {type(given).__name__}")
    if isinstance(given, io.TextIOBase):
        raise _text_mode_error()
    if not _can_seek(given):
        return BytesSource(_check_bytes(given.read()))
    return FileSource(given)


class BytesSource(Source):
    """Bytes in memory."""

    def __init__(self, data: bytes) -> None:
        self.data: bytes = data
        self.size = len(data)

    def read(self, offset: int, size: int) -> bytes:
        data = self.data[offset : offset + size]
        if len(data) < size:
            raise _truncated_error(size - len(data))
        return data


class PartSource(Source):
    """A range of another source; closing it closes the other source."""

    def __init__(self, source: Source, offset: int, size: int) -> None:
        self._source, self._offset, self.size = source, offset, size
        if source.data is not None:
            self.data = source.data[offset : offset + size]
        self.start = source.start[offset : offset + size]

    def read(self, offset: int, size: int) -> bytes:
        if offset + size > self.size:
            raise _truncated_error(offset + size - self.size)
        return self._source.read(self._offset + offset, size)

    def close(self) -> None:
        self._source.close()


class FileSource(Source):
    """A file object that the caller opened and will close."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._read = _positional_reader(file)
        self.size = file.seek(0, io.SEEK_END)
        self.start = self._read(0, min(self.size, START_BYTES))

    def read(self, offset: int, size: int) -> bytes:
        if offset + size <= len(self.start):
            return self.start[offset : offset + size]
        data = self._read(offset, size)
        if len(data) < size:
            raise _truncated_error(size - len(data))
        return data

    def __reduce__(self) -> Reopening:
        raise TypeError("a motion opened from a file object cannot be pickled; open it by its path")


class PathSource(FileSource):
    """A file by its path. When unpickled in another process, it is opened again."""

    def __init__(self, path: str) -> None:
        self.path = str(Path(path).absolute())
        # unbuffered, because each read names its offset
        super().__init__(open(path, "rb", buffering=0))  # noqa: SIM115, PTH123 - closed by close

    def close(self) -> None:
        self._file.close()

    def __reduce__(self) -> Reopening:
        return _reopen, (self.path, self.size)


class UrlSource(Source):
    """A file by its URL; reads fetch ranges. When unpickled, it is opened again."""

    def __init__(self, url: str) -> None:
        self.url = url
        with name_store_errors(url):
            self._system, self._path = file_system(url, {})
            self.size = int(self._system.size(self._path) or 0)
        self.start = self.read(0, min(self.size, START_BYTES))

    def read(self, offset: int, size: int) -> bytes:
        if offset + size <= len(self.start):
            return self.start[offset : offset + size]
        with name_store_errors(self.url):
            data = bytes(self._system.cat_file(self._path, start=offset, end=offset + size))
        if len(data) == self.size > size:  # a server without ranges sends the whole file
            self.start = data
            data = data[offset : offset + size]
        if len(data) != size:
            raise _truncated_error(size - len(data))
        return data

    def __reduce__(self) -> tuple[type[UrlSource], tuple[str]]:
        return UrlSource, (self.url,)


def _reopen(path: str, size: int) -> PathSource:
    source = PathSource(path)
    if source.size != size:
        source.close()
        raise TruncatedError(
            f"{path}: expected {size} bytes, as when it was first opened, got {source.size}"
        )
    return source


def _positional_reader(file: BinaryIO | io.FileIO) -> Callable[[int, int], bytes]:
    """Return a function that reads bytes at an offset; it returns fewer at the end of the file."""
    raw = getattr(file, "raw", file)
    # only for plain files: other objects may transform what they read, such as gzip
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
        parts.append(got)  # one read may return less than requested, for example above 2 GB
    return b"".join(parts)


def _read_all(read: Callable[[int], bytes], size: int) -> bytes:
    parts = [_check_bytes(read(size))]
    while parts[-1] and (missing := size - sum(map(len, parts))):
        parts.append(_check_bytes(read(missing)))
    return b"".join(parts)


def _check_bytes(data: object) -> bytes:
    if not isinstance(data, bytes):
        raise _text_mode_error()
    return data


def _text_mode_error() -> UsageError:
    return UsageError("the file object returns text instead of bytes; open it in binary mode")


def _can_seek(file: BinaryIO) -> bool:
    try:
        return bool(file.seekable())
    except AttributeError:
        return hasattr(file, "seek")


def _truncated_error(missing: int) -> TruncatedError:
    return TruncatedError(f"file is truncated: {missing} bytes are missing")
