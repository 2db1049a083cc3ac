"""Read, write, list and remove files by path or fsspec URL.

Writes are atomic. A local file is written under a temporary name and renamed. A file in an object
store appears when its upload is complete.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from mocpack import io
from mocpack.common.arguments import is_url
from mocpack.common.file_errors import NamedWriter
from mocpack.common.remote_files import file_system, name_store_errors
from mocpack.common.termination import unwind_when_terminated
from mocpack.errors import UsageError
from mocpack.io.atomic import atomic_stream, write_atomically

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

# object stores, which have buckets instead of folders
BUCKET_PROTOCOLS = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oci", "oss"}
Result = TypeVar("Result")


@dataclass(frozen=True)
class FileInfo:
    """A file in a folder.

    Attributes
    ----------
    path : str
        Path or URL.
    size : int
        Bytes.
    mark : str
        The store's ETag, which changes with the contents; empty for local files.
    time : float
        Modification time in seconds since 1970; 0 if unknown.
    """

    path: str
    size: int
    mark: str
    time: float


def read(name: str) -> bytes:
    """Return the bytes of a file."""
    if not is_url(name):
        return io.read_file_bytes(name)
    data = _call(name, lambda system, path: system.cat_file(path))
    return bytes(data)


def write(data: bytes, name: str) -> None:
    """Write a file atomically; create its folder if needed."""
    if is_url(name):
        _call(name, lambda system, path: _write_object(system, path, data))
        return
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    write_atomically(data, name)


@contextmanager
def stream(name: str, *, replaces: str | None = None) -> Iterator[BinaryIO]:
    """Yield a stream that becomes the file when the block ends without an error.

    Raise `UsageError` and keep the existing file if its version is not `replaces`. For a URL, this
    is checked before the upload, which other writers can overtake.
    """

    def check() -> None:
        if replaces is not None:
            check_version(name, replaces)

    if not is_url(name):
        with atomic_stream(name, check) as file:
            yield file
        return
    _call(name, lambda system, path: None)  # report a bad URL before the work
    with unwind_when_terminated(), TemporaryDirectory(prefix="mocpack-") as folder:
        here = Path(folder) / "upload"
        with NamedWriter(os.open(here, os.O_WRONLY | os.O_CREAT), here) as file:
            yield file
        check()
        # by path, because fsspec then uploads large files in parts
        _call(name, lambda system, path: _upload(system, path, here))


def exists(name: str) -> bool:
    """Return whether a file exists."""
    if is_url(name):
        return bool(_call(name, lambda system, path: system.exists(path)))
    return Path(name).exists()


def file_info(name: str) -> FileInfo:
    """Return size, ETag and time of a file."""
    if is_url(name):
        return _call(name, lambda system, path: _to_file_info(system, name, system.info(path)))
    stat = os.stat(name)  # noqa: PTH116 - ten times as fast as Path.stat
    return FileInfo(name, stat.st_size, "", stat.st_mtime)


def version(name: str) -> str:
    """Return a text that changes when a file is written or replaced; empty if it does not exist."""
    try:
        if is_url(name):
            info = file_info(name)
            return f"{info.size} {info.mark}"
        stat = os.stat(name)  # noqa: PTH116 - as above
    except FileNotFoundError:
        return ""
    return f"{stat.st_ino} {stat.st_size} {stat.st_mtime_ns}"


def check_version(name: str, expected: str) -> None:
    """Raise `UsageError` if a file is no longer the one that had this version."""
    if version(name) != expected:
        raise UsageError(
            f"{name}: another program wrote or removed this file while its replacement was made; "
            "it was left as it is"
        )


def list_files(folder: str) -> list[FileInfo]:
    """Return the files of a folder and its subfolders by name; none if it does not exist.

    A URL may also be a glob pattern.
    """
    if is_url(folder):
        return _call(folder, lambda system, path: _list_url(system, path))
    files = []
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):  # another process renamed it
                files.append(file_info(os.path.join(place, name)))  # noqa: PTH118 - as above
    return sorted(files, key=lambda one: one.path)


def remove(name: str) -> None:
    """Remove a file if it exists."""
    if is_url(name):
        _call(name, lambda system, path: system.exists(path) and system.rm_file(path))
    else:
        Path(name).unlink(missing_ok=True)


def remove_folder(folder: str) -> None:
    """Remove a folder and its contents."""
    if is_url(folder):
        _call(folder, lambda system, path: system.exists(path) and system.rm(path, recursive=True))
    else:
        rmtree(folder, ignore_errors=True)


def absolute(name: str) -> str:
    """Return an absolute path, or the URL itself."""
    return name if is_url(name) else str(Path(name).absolute())


def external_file_reader(name: str, *, allow_outside: bool = False) -> Callable[[str], bytes]:
    """Return a function that reads files which `name` refers to, by relative path."""
    if not is_url(name):
        return io.external_file_reader(name, allow_outside=allow_outside)

    def read_other(other: str) -> bytes:
        if not allow_outside:
            io.check_inside_folder(other)
        return read(sibling(name, other))

    return read_other


def sibling(name: str, other: str) -> str:
    """Return the path of another file in the folder of `name`.

    >>> sibling("s3://bucket/in/a.gltf", "a.bin")
    's3://bucket/in/a.bin'
    """
    return join_path(parent(name), other)


def parent(name: str) -> str:
    """Return the folder of a file."""
    return name.rpartition("/")[0] if is_url(name) else str(Path(name).parent)


def join_path(folder: str, name: str) -> str:
    """Return the path of a file in a folder.

    >>> join_path("s3://bucket/in/", "a.bvh")
    's3://bucket/in/a.bvh'
    """
    return f"{folder.rstrip('/')}/{name}" if is_url(folder) else str(Path(folder) / name)


def base_name(name: str) -> PurePosixPath | Path:
    """Return the file name of a path or URL as a path."""
    return PurePosixPath(name.rpartition("/")[2]) if is_url(name) else Path(Path(name).name)


def _call(url: str, ask: Callable[[AbstractFileSystem, str], Result]) -> Result:
    """Call a function with a URL's file system; turn its errors into `OSError`s with the URL."""
    with name_store_errors(url):
        # no listing cache, because other processes write to the same folders
        return ask(*file_system(url, {"use_listings_cache": False}))


def _write_object(system: AbstractFileSystem, path: str, data: bytes) -> None:
    _make_folder(system, path)
    system.pipe_file(path, data)


def _upload(system: AbstractFileSystem, path: str, here: Path) -> None:
    _make_folder(system, path)
    system.put_file(str(here), path)


def _make_folder(system: AbstractFileSystem, path: str) -> None:
    """Create the folder of a file, except in object stores, where it could create a bucket."""
    protocols = {system.protocol} if isinstance(system.protocol, str) else set(system.protocol)
    if not protocols & BUCKET_PROTOCOLS:
        system.makedirs(system._parent(path), exist_ok=True)


def _list_url(system: AbstractFileSystem, path: str) -> list[FileInfo]:
    has_pattern = bool({"*", "?", "["} & set(path))
    look = system.glob if has_pattern else system.find
    try:
        details = look(path, detail=True)
    except FileNotFoundError:
        return []
    rows = [
        (name, info) for name, info in sorted(details.items()) if info.get("type") != "directory"
    ]
    return [_to_file_info(system, system.unstrip_protocol(name), info) for name, info in rows]


def _to_file_info(system: AbstractFileSystem, url: str, info: Mapping[str, object]) -> FileInfo:
    mark = info.get("ETag") or info.get("etag") or info.get("md5Hash") or info.get("mtime")
    mark = mark or info.get("LastModified") or info.get("created") or ""
    size = info.get("size")
    number = size if isinstance(size, int) else 0
    return FileInfo(url, number, str(mark).strip('"'), _modified_time(info))


def _modified_time(info: Mapping[str, object]) -> float:
    modified = info.get("LastModified") or info.get("mtime") or info.get("created")
    if isinstance(modified, datetime):
        return modified.timestamp()
    return float(modified) if isinstance(modified, int | float) else 0.0
