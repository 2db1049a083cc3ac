"""Files by path or by URL alike: read whole, written whole or not at all, listed, removed.

URLs are fsspec's. A path is written beside its place and renamed; of an object store a file is put
in one request, or in parts that show when the last has come.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, TypeVar

from mocpack import io
from mocpack.corpora.remote import file_system, is_url
from mocpack.errors import MocpackError
from mocpack.file_errors import NamedWriter
from mocpack.io.atomic import atomic_stream, write_atomically

# stores of objects whose names have slashes; what stands before the first is a bucket
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
        What changes with the contents, as its store says it (an ETag); empty for local files.
    time : float
        When it was written, in seconds since 1970; 0 where the store does not say.
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
    """Write a file, whole or not at all; its folder is made if need be."""
    if is_url(name):
        _call(name, lambda system, path: _write_object(system, path, data))
        return
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    write_atomically(data, name)


@contextmanager
def stream(name: str) -> Iterator[BinaryIO]:
    """Give a stream whose bytes become the file when the block ends well, and vanish when not."""
    if not is_url(name):
        with atomic_stream(name) as file:
            yield file
        return
    _call(name, lambda system, path: None)  # complains before the work, not after
    with TemporaryDirectory(prefix="mocpack-") as folder:
        here = Path(folder) / "upload"
        with NamedWriter(os.open(here, os.O_WRONLY | os.O_CREAT), here) as file:
            yield file
        # by name: fsspec's file systems know how to send large files in parts
        _call(name, lambda system, path: _upload(system, path, here))


def exists(name: str) -> bool:
    """Say whether there is such a file."""
    if is_url(name):
        return bool(_call(name, lambda system, path: system.exists(path)))
    return Path(name).exists()


def file_info(name: str) -> FileInfo:
    """Return size and mark of one file."""
    if is_url(name):
        return _call(name, lambda system, path: _to_file_info(system, name, system.info(path)))
    found = os.stat(name)  # noqa: PTH116 - ten times as fast as a Path's, for a hundred thousand
    return FileInfo(name, found.st_size, "", found.st_mtime)


def list_files(folder: str) -> list[FileInfo]:
    """Return the files of a folder and those below it, by name; none if it is not there.

    A pattern of a URL stands for the files that it matches.
    """
    if is_url(folder):
        return _call(folder, lambda system, path: _list_url(system, path))
    found = []
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):  # others write and rename there
                found.append(file_info(os.path.join(place, name)))  # noqa: PTH118 - as above
    return sorted(found, key=lambda one: one.path)


def remove(name: str) -> None:
    """Remove a file; one that is not there is none to remove."""
    if is_url(name):
        _call(name, lambda system, path: system.exists(path) and system.rm_file(path))
    else:
        Path(name).unlink(missing_ok=True)


def remove_folder(folder: str) -> None:
    """Remove a folder and what is in it."""
    if is_url(folder):
        _call(folder, lambda system, path: system.exists(path) and system.rm(path, recursive=True))
    else:
        rmtree(folder, ignore_errors=True)


def absolute(name: str) -> str:
    """Return a name that means the same from any folder."""
    return name if is_url(name) else str(Path(name).absolute())


def external_file_reader(name: str, *, allow_outside: bool = False) -> Callable[[str], bytes]:
    """Return a function that reads the files that `name` refers to, as it calls them."""
    if not is_url(name):
        return io.external_file_reader(name, allow_outside=allow_outside)

    def read_other(other: str) -> bytes:
        if not allow_outside:
            io.check_inside_folder(other)
        return read(sibling(name, other))

    return read_other


def sibling(name: str, other: str) -> str:
    """Return the name of another file in the folder of `name`.

    >>> sibling("s3://bucket/in/a.gltf", "a.bin")
    's3://bucket/in/a.bin'
    """
    return join_path(parent(name), other)


def parent(name: str) -> str:
    """Return the folder that a file is in."""
    return name.rpartition("/")[0] if is_url(name) else str(Path(name).parent)


def join_path(folder: str, name: str) -> str:
    """Return the name of a file in a folder.

    >>> join_path("s3://bucket/in/", "a.bvh")
    's3://bucket/in/a.bvh'
    """
    return f"{folder.rstrip('/')}/{name}" if is_url(folder) else str(Path(folder) / name)


def base_name(name: str) -> PurePosixPath | Path:
    """Return the last part of a path or URL, as a path of its own."""
    return PurePosixPath(name.rpartition("/")[2]) if is_url(name) else Path(Path(name).name)


def _call(url: str, ask: Callable[[Any, str], Result]) -> Result:
    """Return what a file system answers; what goes wrong is an `OSError` that names the URL."""
    try:
        # others write to the same folders: what was listed before is not what is there
        return ask(*file_system(url, {"use_listings_cache": False}))
    except MocpackError:
        raise
    except FileNotFoundError as error:
        raise FileNotFoundError(errno.ENOENT, "no such file", url) from error
    except PermissionError as error:
        raise PermissionError(errno.EACCES, "access is denied", url) from error
    except Exception as error:  # each store has errors of its own
        said = " ".join(str(error).split()) or type(error).__name__
        raise OSError(errno.EIO, said, url) from error


def _write_object(system: Any, path: str, data: bytes) -> None:
    _make_folder(system, path)
    system.pipe_file(path, data)


def _upload(system: Any, path: str, here: Path) -> None:
    _make_folder(system, path)
    system.put_file(str(here), path)


def _make_folder(system: Any, path: str) -> None:
    """Make the folder of a file where there are folders; a bucket is never made by mistake."""
    protocols = {system.protocol} if isinstance(system.protocol, str) else set(system.protocol)
    if not protocols & BUCKET_PROTOCOLS:
        system.makedirs(system._parent(path), exist_ok=True)


def _list_url(system: Any, path: str) -> list[FileInfo]:
    has_pattern = bool({"*", "?", "["} & set(path))
    look = system.glob if has_pattern else system.find
    try:
        found = look(path, detail=True)
    except FileNotFoundError:
        return []
    rows = [(name, info) for name, info in sorted(found.items()) if info.get("type") != "directory"]
    return [_to_file_info(system, system.unstrip_protocol(name), info) for name, info in rows]


def _to_file_info(system: Any, url: str, info: dict[str, Any]) -> FileInfo:
    mark = info.get("ETag") or info.get("etag") or info.get("md5Hash") or info.get("mtime")
    mark = mark or info.get("LastModified") or info.get("created") or ""
    return FileInfo(url, int(info.get("size") or 0), str(mark).strip('"'), _modified_time(info))


def _modified_time(info: dict[str, Any]) -> float:
    said = info.get("LastModified") or info.get("mtime") or info.get("created")
    if isinstance(said, datetime):
        return said.timestamp()
    return float(said) if isinstance(said, int | float) else 0.0
