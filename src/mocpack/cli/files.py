"""What the commands share: reading and writing with pipes, frame ranges, errors as sentences."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from mocpack import _api, io
from mocpack.cli.terminal import stderr as stderr
from mocpack.cli.terminal import stdin_bytes, stdout_bytes
from mocpack.cli.terminal import stdout as stdout
from mocpack.clip import AnyClip
from mocpack.container import DEFAULT_LIMIT, MAGIC
from mocpack.errors import BoundError, FormatError, MocpackError, UsageError
from mocpack.io import external_file_reader, list_clips_in_bytes, read_file_bytes, read_stream
from mocpack.io.atomic import target_folder, would_overwrite, write_atomically
from mocpack.units import parse_frame_range

PIPE = "-"


def read_input(path: str) -> bytes:
    """Return the bytes of a file, or of standard input for ``-``."""
    if path == PIPE:
        return read_stream(stdin_bytes(), "standard input")
    return read_file_bytes(path)


def read_clip(path: str, *, frames: str | None = None, **reading: Any) -> AnyClip:
    """Read a motion file, or standard input for ``-``, and cut it to ``frames`` such as ``1:``."""
    clip = clip_of(read_input(path), path, **reading)
    return clip if frames is None else cut(clip, frames)


def clip_of(
    data: bytes,
    path: str,
    *,
    unit: str | None = None,
    skeleton: str | None = None,
    memory_limit: str | int = DEFAULT_LIMIT,
    **options: Any,
) -> AnyClip:
    """Return the clip of what `read_input` gave for `path`; `options` are for `mocpack.read`."""
    options |= {"unit": unit, "skeleton": skeleton, "memory_limit": memory_limit}
    if path == PIPE:
        return _api.read_data(data, name="standard input", **options)
    return _api.read_contents(data, path, **options)


def clips_inside(data: bytes, path: str, *, allow_outside: bool = False) -> list[str]:
    """Return the names of the motions in what `read_input` gave for `path`; none of one alone."""
    if data[:1] == MAGIC[:1] or path.endswith(".mocp"):
        try:
            return _api.clip_names(data)
        except FormatError:
            return []  # reading it complains, and names the file
    if path == PIPE:
        return list_clips_in_bytes(data, name="standard input")
    read_external = external_file_reader(path, allow_outside=allow_outside)
    return list_clips_in_bytes(data, name=path, read_external=read_external)


def describe_ignored(data: bytes, path: str, *, allow_outside: bool = False) -> list[str]:
    """Return what is beside the motion in what `read_input` gave for `path`, in words."""
    if data[:1] == MAGIC[:1] or path.endswith(".mocp"):
        return []
    read_external = (
        None if path == PIPE else external_file_reader(path, allow_outside=allow_outside)
    )
    return io.describe_ignored(data, name=path, read_external=read_external)


def cut(clip: AnyClip, frames: str) -> AnyClip:
    """Return the frames ``a:b`` of a clip, as Python slices count them."""
    start, stop, _ = parse_frame_range(frames).indices(clip.frame_count)
    return clip.frames(start, stop)


def write_output(data: bytes, path: str, *, force: bool) -> None:
    """Write a file atomically, never over another one unless forced; ``-`` is standard output."""
    if path == PIPE:
        stream = stdout_bytes()
        stream.write(data)
        stream.flush()
        return
    check_free(path, force=force)
    write_atomically(data, path)


def check_free(
    path: str, *, force: bool, in_new_folder: bool = False, sources: Iterable[str] = ()
) -> None:
    """Complain early if the file exists, or its folder does not and is not one to be made.

    One of the `sources` that it is made of is not overwritten by force either.
    """
    if path == PIPE:
        return
    if Path(path).is_dir():
        raise UsageError(f"{path} is a folder")
    check_apart(path, sources)
    if would_overwrite(path) and not force:
        raise UsageError(f"{path} exists; -f overwrites it")
    if not in_new_folder and not Path(path).exists() and not target_folder(path).is_dir():
        raise UsageError(f"there is no folder {target_folder(path)}")


def check_apart(path: str, sources: Iterable[str]) -> None:
    """Complain if a file is one of those that it is made of: what packing loses would be gone."""
    for source in sources:
        with suppress(OSError):  # reading it will say what is wrong
            if source != PIPE and Path(path).is_file() and Path(path).samefile(source):
                raise UsageError(f"{path} is both input and output: name another output")


def describe_error(error: BaseException) -> str | None:
    """Return the sentence for an error that a user can cause, None for one that only we can."""
    if isinstance(error, MocpackError):
        return str(error)
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        return f"{name}{error.strerror or error}"
    if isinstance(error, MemoryError):
        return "not enough memory for this clip"
    if isinstance(error, BrokenExecutor):
        return "one of the processes that worked was ended, often for lack of memory"
    return None


def exit_code(error: BaseException) -> int:
    return 1 if isinstance(error, BoundError) else 2
