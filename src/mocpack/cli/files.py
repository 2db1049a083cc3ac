"""What the commands share: reading and writing with pipes, frame ranges, many files at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass
from os import cpu_count
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from mocpack import _api
from mocpack.clip import AnyClip
from mocpack.container import DEFAULT_LIMIT
from mocpack.errors import BoundError, MocpackError, UsageError
from mocpack.io.table import write_atomically
from mocpack.units import frame_range
from mocpack.workers import worker_pool

PIPE = "-"


def stdout() -> Console:
    return Console(highlight=False, soft_wrap=True)


def stderr() -> Console:
    return Console(stderr=True, highlight=False, soft_wrap=True)


def read_input(path: str) -> bytes:
    """Return the bytes of a file, or of standard input for ``-``."""
    return sys.stdin.buffer.read() if path == PIPE else Path(path).read_bytes()


def read_clip(
    path: str,
    *,
    unit: str | None = None,
    frames: str | None = None,
    skeleton: str | None = None,
    memory_limit: str | int = DEFAULT_LIMIT,
) -> AnyClip:
    """Read a motion file, or standard input for ``-``, and cut it to ``frames`` such as ``1:``."""
    if path == PIPE:
        data = read_input(path)
        clip = _api.read_data(
            data, name="standard input", unit=unit, skeleton=skeleton, memory_limit=memory_limit
        )
    else:
        clip = _api.read(path, unit=unit, skeleton=skeleton, memory_limit=memory_limit)
    return clip if frames is None else cut(clip, frames)


def cut(clip: AnyClip, frames: str) -> AnyClip:
    """Return the frames ``a:b`` of a clip, as Python slices count them."""
    start, stop, _ = frame_range(frames).indices(clip.frame_count)
    return clip.frames(start, stop)


def write_output(data: bytes, path: str, *, force: bool) -> None:
    """Write a file atomically, never over another one unless forced; ``-`` is standard output."""
    if path == PIPE:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    check_free(path, force=force)
    write_atomically(data, path)


def check_free(path: str, *, force: bool) -> None:
    """Complain early if the file exists, or its folder does not."""
    target = Path(path)
    if path == PIPE:
        return
    if target.is_dir():
        raise UsageError(f"{path} is a folder")
    if target.exists() and not force:
        raise UsageError(f"{path} exists; -f overwrites it")
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {target.parent}")


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


@dataclass(frozen=True)
class Outcome:
    """What became of one file: a result, or a sentence and an exit code."""

    result: Any = None
    complaint: str | None = None
    code: int = 0


def run_many(
    work: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], *, workers: int, title: str
) -> list[Outcome]:
    """Do each job, in processes if asked, with a progress bar; one that fails stops no other."""
    if workers < 0:
        raise UsageError(f"-j takes a number of processes, or 0 for all cores, got {workers}")
    workers = min(workers or cpu_count() or 1, len(jobs))
    outcomes = [Outcome()] * len(jobs)
    with progress(len(jobs)) as bar:
        task = bar.add_task(title, total=len(jobs))
        if workers == 1:
            for i, job in enumerate(jobs):
                outcomes[i] = attempt(work, *job)
                bar.advance(task)
            return outcomes
        with worker_pool(workers) as pool:
            futures: dict[Future[Outcome], int] = {
                pool.submit(attempt, work, *job): i for i, job in enumerate(jobs)
            }
            for future in as_completed(futures):
                outcomes[futures[future]] = future.result()
                bar.advance(task)
    return outcomes


def attempt(work: Callable[..., Any], *job: Any) -> Outcome:
    """Do one job; errors that are not ours go on as they are."""
    try:
        return Outcome(work(*job))
    except Exception as error:
        sentence = describe_error(error)
        if sentence is None:
            raise
        return Outcome(complaint=sentence, code=exit_code(error))


def report_complaints(outcomes: Sequence[Outcome]) -> int:
    """Print every complaint, and return the highest exit code."""
    for outcome in outcomes:
        if outcome.complaint:
            print(f"mocpack: {outcome.complaint}", file=sys.stderr)
    return max((o.code for o in outcomes), default=0)


def describe_error(error: BaseException) -> str | None:
    """Return the sentence for an error that a user can cause, None for one that only we can."""
    if isinstance(error, MocpackError):
        return str(error)
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        return f"{name}{error.strerror or error}"
    if isinstance(error, MemoryError):
        return "not enough memory for this clip"
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
