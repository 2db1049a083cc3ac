"""What the commands share: reading and writing with pipes, frame ranges, errors as sentences."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import BrokenExecutor
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from mocpack import _api
from mocpack.cli.terminal import stderr as stderr
from mocpack.cli.terminal import stdin_bytes, stdout_bytes
from mocpack.cli.terminal import stdout as stdout
from mocpack.clip import AnyClip
from mocpack.container import DEFAULT_LIMIT
from mocpack.errors import BoundError, MocpackError, UsageError
from mocpack.io import contents, stream_contents
from mocpack.io.atomic import folder_of, would_overwrite, write_atomically
from mocpack.units import frame_range

PIPE = "-"


def read_input(path: str) -> bytes:
    """Return the bytes of a file, or of standard input for ``-``."""
    if path == PIPE:
        return stream_contents(stdin_bytes(), "standard input")
    return contents(path)


def read_clip(
    path: str,
    *,
    unit: str | None = None,
    frames: str | None = None,
    skeleton: str | None = None,
    memory_limit: str | int = DEFAULT_LIMIT,
) -> AnyClip:
    """Read a motion file, or standard input for ``-``, and cut it to ``frames`` such as ``1:``."""
    clip = clip_of(read_input(path), path, unit=unit, skeleton=skeleton, memory_limit=memory_limit)
    return clip if frames is None else cut(clip, frames)


def clip_of(
    data: bytes,
    path: str,
    *,
    unit: str | None = None,
    skeleton: str | None = None,
    memory_limit: str | int = DEFAULT_LIMIT,
) -> AnyClip:
    """Return the clip of what `read_input` gave for `path`."""
    if path == PIPE:
        return _api.read_data(
            data, name="standard input", unit=unit, skeleton=skeleton, memory_limit=memory_limit
        )
    return _api.read_contents(data, path, unit=unit, skeleton=skeleton, memory_limit=memory_limit)


def cut(clip: AnyClip, frames: str) -> AnyClip:
    """Return the frames ``a:b`` of a clip, as Python slices count them."""
    start, stop, _ = frame_range(frames).indices(clip.frame_count)
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


def check_free(path: str, *, force: bool) -> None:
    """Complain early if the file exists, or its folder does not."""
    if path == PIPE:
        return
    if Path(path).is_dir():
        raise UsageError(f"{path} is a folder")
    if would_overwrite(path) and not force:
        raise UsageError(f"{path} exists; -f overwrites it")
    if not Path(path).exists() and not folder_of(path).is_dir():
        raise UsageError(f"there is no folder {folder_of(path)}")


def outputs_for(inputs: Sequence[str], output: str | None, suffix: str) -> list[str]:
    """Return where each input goes: beside it, to the one named file, or into the named folder."""
    if output is None:
        return [PIPE if i == PIPE else str(Path(i).with_suffix(suffix)) for i in inputs]
    into_folder = Path(output).is_dir() or output.endswith("/") or len(inputs) > 1
    if not into_folder:
        return [output]
    if output == PIPE:
        raise UsageError("several files cannot go to one pipe")
    Path(output).mkdir(parents=True, exist_ok=True)
    outputs = [str(Path(output) / Path(i).with_suffix(suffix).name) for i in inputs]
    for i, path in enumerate(outputs):
        if path in outputs[:i]:
            raise UsageError(f"{inputs[outputs.index(path)]} and {inputs[i]} would both be {path}")
    return outputs


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


def progress(jobs: int) -> Progress:
    """Return a progress bar on a terminal; nothing elsewhere, nor for a single job."""
    console = stderr()
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=jobs < 2 or not console.is_terminal,
    )
