"""Read and write files and pipes, cut frame ranges, and describe errors, for all commands."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from mocpack import _api
from mocpack.cli.terminal import print_note, stdin_bytes, stdout_bytes
from mocpack.cli.terminal import stderr as stderr
from mocpack.cli.terminal import stdout as stdout
from mocpack.common.arguments import check_path
from mocpack.common.choice import list_names
from mocpack.common.units import parse_frame_range
from mocpack.errors import BoundError, MocpackError, UsageError
from mocpack.io import (
    dialect_extensions,
    files_to_write,
    read_stream,
    supported_extensions,
    write_bytes,
)
from mocpack.io.assumptions import describe_motion_assumptions
from mocpack.io.atomic import target_folder, would_overwrite, write_atomically
from mocpack.io.motion_file import MotionFile, ReadOptions, is_archive_name
from mocpack.model.clip import AnyClip

PIPE = "-"
NAMELESS_INPUT = "name an output file with -o, because standard input has no file name"


def open_input(path: str, **options: Unpack[ReadOptions]) -> MotionFile:
    """Open a motion file, or standard input for ``-``.

    Options that say what a file of another format lacks, like a robot, do not matter for a .mocp.
    """
    if path == PIPE:
        file = MotionFile(read_stream(stdin_bytes(), "standard input"), "standard input", options)
    else:
        file = MotionFile.open(path, **options)
    if not file.is_packed:
        return file
    kept: ReadOptions = {"clip": file.clip, "fps": options.get("fps")}
    if "memory_limit" in options:
        kept["memory_limit"] = options["memory_limit"]
    return replace(file, options=kept)


def read_motion(file: MotionFile, clip: str | None = None, frames: str | None = None) -> AnyClip:
    """Read a motion, keep only ``frames`` such as ``1:``, and print what the reader assumed."""
    found = file.read(clip)
    for note in () if file.is_packed else describe_motion_assumptions(found.header.metadata):
        print_note(f"{PIPE if file.path is None else file.path}: {note}")
    return found if frames is None else cut_frames(found, frames)


def print_choice(path: str, motions: Sequence[str], verb: str, otherwise: str = "") -> None:
    """Print which motion of a file with several was used, and how to choose another."""
    print_note(
        f"{path} contains {len(motions)} motions: {list_names(motions)}; {verb} {motions[0]} "
        f"(choose another with --clip NAME{otherwise})"
    )


def cut_frames(clip: AnyClip, frames: str) -> AnyClip:
    """Return the frames ``a:b`` of a clip, counted like a Python slice."""
    start, stop, _ = parse_frame_range(frames).indices(clip.frame_count)
    if start >= stop:
        raise UsageError(f"--frames {frames} selects none of {clip.frame_count} frames")
    return clip.frames(start, stop)


def write_output(data: bytes, path: str, *, force: bool | None) -> None:
    """Write a file atomically; ``-`` is standard output. Existing files need `force`."""
    if path == PIPE:
        stream = stdout_bytes()
        stream.write(data)
        stream.flush()
        return
    check_output(path, force=force)
    write_atomically(data, path)


def check_output(
    path: str, *, force: bool | None, in_new_folder: bool = False, sources: Iterable[str] = ()
) -> None:
    """Raise `UsageError` if `path` exists without `force`, or if its folder does not exist.

    `force` is None for an output that only -o and -f together may overwrite. With `in_new_folder`,
    the folder may be missing. A file in `sources` is never overwritten, even with `force`.
    """
    if path == PIPE:
        return
    check_path("output", path)
    if Path(path).is_dir():
        raise UsageError(f"{path} is a folder, expected the name of a file to write")
    check_not_input(path, sources)
    if would_overwrite(path) and not force:
        needed = "-f" if force is not None else "both -o and -f"
        raise UsageError(f"{path} exists; use {needed} to overwrite it")
    if not in_new_folder and not Path(path).exists() and not target_folder(path).is_dir():
        raise UsageError(f"{path}: the folder {target_folder(path)} does not exist")


def check_packed_name(path: str, sources: Iterable[str]) -> None:
    """Raise `UsageError` if a .mocp file would get another format's extension, or be an input."""
    check_not_input(path, sources)
    if is_archive_name(path) or Path(path).suffix.lower() in supported_extensions():
        raise UsageError(
            f"{path}: expected a .mocp file; mocpack convert writes other formats, mocpack corpus "
            "pack archives"
        )


def choose_suffix(
    output: str | None, to: str | None, dialect: str | None = None, *, default: str
) -> str:
    """Return the extension of the format to write: of `to`, `output`, `dialect` or `default`."""
    if output is not None:
        check_path("output", output)
    if to is not None:
        suffix = "." + to.lstrip(".")
    elif output and Path(output).suffix and not names_folder(output):
        suffix = Path(output).suffix
    else:
        suffix = default if dialect is None else dialect_extensions(dialect)[0]
    if dialect is not None:
        dialect_extensions(dialect, suffix)
    else:
        check_extension(suffix, packed=default == ".mocp")
    return suffix


def check_extension(suffix: str, *, packed: bool = True) -> None:
    """Raise `UsageError` if motion cannot be written to files with this extension.

    .mocp counts as one only with `packed`.
    """
    known = [".mocp"] * packed + supported_extensions(writable=True)
    if suffix.lower() not in known:
        what = f"{suffix!r} files" if suffix else "a file without an extension"
        raise UsageError(f"cannot write {what}; expected one of {', '.join(known)}")


def names_folder(path: str) -> bool:
    """Return whether an output is a folder: an existing one, or a name that ends with a slash."""
    return Path(path).is_dir() or path.endswith(("/", os.sep))


def output_files(path: str, suffix: str) -> list[str]:
    """Return all files that `write_clip` writes for one output, the output itself last."""
    if path == PIPE or Path(path).suffix != suffix:
        return [path]
    return [str(one) for one in files_to_write(path)]


def write_clip(
    clip: AnyClip,
    path: str,
    suffix: str,
    *,
    source: str,
    dialect: str | None = None,
    into: str | None = None,
    allow_outside: bool = False,
) -> None:
    """Write a clip in the format of `suffix`, whatever the name of the file; print what it lost."""
    with print_warnings(source):
        is_named = path != PIPE and Path(path).suffix == suffix
        if is_named or into is not None:
            fit = _api.write(clip, path, dialect=dialect, into=into, allow_outside=allow_outside)
            if fit is not None and fit.is_close:
                print_note(f"{path}: {fit}")
            elif fit is None and into is not None:
                print_note(f"{path}: the character's joints cannot be compared with the clip's")
        elif suffix.lower() == ".mocp":
            write_output(_api.encode(clip), path, force=True)
        else:
            write_output(write_bytes(clip, suffix, dialect), path, force=True)


@contextmanager
def print_warnings(source: str) -> Iterator[None]:
    """Print the warnings of a block as notes that name their file, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for message in dict.fromkeys(str(one.message) for one in caught):
        print_note(f"{source}: {message}")


def check_not_input(path: str, sources: Iterable[str]) -> None:
    """Raise `UsageError` if an output is one of the inputs, which would be lost."""
    for source in sources:
        with suppress(OSError):  # reading the input will report the error
            if source != PIPE and Path(path).is_file() and Path(path).samefile(source):
                raise UsageError(f"{path} is both input and output; choose another output")


def describe_error(error: BaseException) -> str | None:
    """Return the message of an error that a user can cause; None if the error is a bug."""
    if isinstance(error, MocpackError):
        return str(error)
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        return f"{name}{error.strerror or error}"
    if isinstance(error, MemoryError):
        return "not enough memory to process this clip"
    return None


def exit_code(error: BaseException) -> int:
    """Return the exit code for an error: 1 for a bound that was not met, else 2."""
    return 1 if isinstance(error, BoundError) else 2
