"""The parts of a plan: packed by any worker in any order, joined in the order of the plan.

A part is one file, written atomically. Its first line is JSON: the catalog rows, the rejected files
and the SHA-256 of the rest. The rest is an archive of the clips without a catalog.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Unpack

import mocpack
from mocpack import progress
from mocpack.common.arguments import is_url
from mocpack.common.json_object import is_object, parse_json
from mocpack.common.source import open_source
from mocpack.container import ArchiveWriter, StoredClip, read_stored_clips, read_trailer
from mocpack.corpora import storage
from mocpack.corpora.catalog import Row
from mocpack.corpora.engines import Engine, OnProgress
from mocpack.corpora.packing import (
    MAX_CRASHES,
    RejectedFile,
    check_some_packed,
    get_objects,
    pack_file,
    parse_rejected,
    reject_after_crashes,
)
from mocpack.corpora.planning import FileHashes, Part
from mocpack.corpora.writing import CorpusWriter, WriterOptions
from mocpack.errors import CorruptionError, FormatError, MocpackError, UsageError
from mocpack.workers import LostJob

MAX_PREFETCHED_PARTS = 16  # read in parallel from a URL
RECENT_PARTS = 200  # number of newest parts from which the remaining time is estimated
MAX_LISTED_PARTS = 10  # part numbers in an error message


@dataclass(frozen=True)
class PackedPart:
    """The contents of a part: clips, their catalog rows, and rejected files."""

    clips: tuple[StoredClip, ...]
    rows: tuple[Row, ...]
    rejected: tuple[RejectedFile, ...]


def pack_part(part: Part, folder: str) -> str | None:
    """Pack a part into its file, unless it exists; return an error message, or None.

    Engines call this function, on any machine that can access the files and the folder.
    """
    path = storage.join_path(folder, part.file_name)
    if part.version != mocpack.__version__:
        return (
            f"a worker has mocpack {mocpack.__version__}, but the plan was made by {part.version}"
        )
    try:
        if not storage.exists(path):
            storage.write(to_bytes(_pack_files(part)), path)
    except MocpackError as error:
        return str(error)
    except OSError as error:
        return f"{error.filename or path}: {error.strerror or error}"
    return None


def missing_parts(parts: Sequence[Part], folder: str) -> list[Part]:
    """Return the parts whose files are missing in the folder."""
    packed_names = {str(storage.base_name(one.path)) for one in storage.list_files(folder)}
    return [part for part in parts if part.file_name not in packed_names]


def pack_parts(
    parts: Sequence[Part],
    folder: str,
    engine: Engine,
    on_progress: Callable[[float, int], None] = lambda done, count: None,
) -> None:
    """Pack the parts that are missing.

    A part that crashes its worker is packed again file by file, and a file is rejected after three
    crashes. Other failures, such as a full disk, raise after all other parts are done.

    Parameters
    ----------
    parts : sequence of Part
    folder : str
        Path or URL that all workers can access.
    engine : Engine
        Runs the jobs.
    on_progress : callable
        Called with the number of files packed and the number to pack.
    """
    left = missing_parts(parts, folder)
    count = make_counter([len(part.files) for part in left], on_progress)
    lost = list(_run_parts(left, folder, engine, count))
    _pack_singly([one for index in lost for one in left[index].split_by_file()], folder, engine)
    for index in lost:
        _combine_files(left[index], folder)
        count(index, 1.0)
    absent = missing_parts(left, folder)
    if absent:
        raise UsageError(
            f"parts {_format_numbers(absent)} were packed but are not in {folder}: "
            f"every machine must be able to access that folder"
        )


@dataclass(frozen=True)
class Status:
    """Progress: packed parts and files, and the estimated seconds left."""

    parts: int
    files: int
    seconds_left: float | None


def status(parts: Sequence[Part], folder: str, now: float) -> Status:
    """Return the progress of all workers together, from the times of the parts' files."""
    times = {str(storage.base_name(one.path)): one.time for one in storage.list_files(folder)}
    packed = [part for part in parts if part.file_name in times]
    files = sum(len(part.files) for part in packed)
    left = sum(len(part.files) for part in parts) - files
    recent = sorted(packed, key=lambda part: times[part.file_name])[-RECENT_PARTS:]
    if not left or len(recent) < 2:
        return Status(len(packed), files, None if left else 0.0)
    # until now, not until the newest part: stopped workers then lengthen the estimate
    span = now - times[recent[0].file_name]
    return Status(len(packed), files, span * left / sum(len(part.files) for part in recent[1:]))


def join(
    parts: Sequence[Part],
    folder: str,
    path: str,
    **options: Unpack[WriterOptions],
) -> list[RejectedFile]:
    """Join the parts of a plan into an archive; return the rejected files.

    If all are rejected, it is an error and no archive is written.
    """
    absent = missing_parts(parts, folder)
    if absent:
        numbers = _format_numbers(absent)
        raise UsageError(f"{len(absent)} of {len(parts)} parts are not packed yet: {numbers}")
    rejected: list[RejectedFile] = []
    with CorpusWriter(path, **options) as writer:
        writer.check_labels(file.name for part in parts for file in part.files)
        for packed in _read_ahead(parts, folder):
            rejected += packed.rejected
            for clip, row in zip(packed.clips, packed.rows, strict=True):
                writer.add(clip, row)
        check_some_packed(rejected, sum(len(part.files) for part in parts), path)
    return rejected


def read_part(part: Part, folder: str) -> PackedPart:
    """Read a part; remove it if it is damaged, so that it is packed again."""
    name = storage.join_path(folder, part.file_name)
    data = storage.read(name)
    try:
        return from_bytes(data)
    except FormatError as error:
        storage.remove(name)
        raise CorruptionError(
            f"{name} is damaged and was removed: {error}; --resume packs it again"
        ) from error


def to_bytes(packed: PackedPart) -> bytes:
    """Return the bytes of a part's file."""
    archive = io.BytesIO()
    writer = ArchiveWriter(archive)
    for clip in packed.clips:
        writer.add(clip)
    writer.end()
    made = archive.getvalue()
    head = {
        "sha256": hashlib.sha256(made).hexdigest(),
        "rows": list(packed.rows),
        "rejected": [one.to_json() for one in packed.rejected],
    }
    return json.dumps(head).encode() + b"\n" + made


def from_bytes(data: bytes) -> PackedPart:
    """Parse the bytes of a part's file."""
    line, _, made = data.partition(b"\n")
    try:
        head = parse_json(line)
        rows = tuple(get_objects(head, "rows"))
        rejected = parse_rejected(head, "rejected")
    except (ValueError, RecursionError) as error:
        raise CorruptionError("first line: expected the JSON header of a part") from error
    if not is_object(head) or head.get("sha256") != hashlib.sha256(made).hexdigest():
        raise CorruptionError("its checksum is wrong")
    source = open_source(made)
    return PackedPart(
        tuple(read_stored_clips(source, read_trailer(source).index.places())), rows, rejected
    )


def rejected_to_json_lines(rejected: Sequence[RejectedFile]) -> bytes:
    """Return the report of rejected files as JSON lines."""
    return "".join(json.dumps(one.to_json()) + "\n" for one in rejected).encode()


def _pack_files(part: Part) -> PackedPart:
    clips: list[StoredClip] = []
    rows: list[Row] = []
    rejected = []
    changed = _reject_changed_companions(part)
    progress.expect(len(part.files))
    for file in part.files:
        with progress.stage():
            result = changed.get(file.path) or pack_file(
                file.path, file.name, part.packing, sha256=file.sha256
            )
        if isinstance(result, RejectedFile):
            rejected.append(result)
            continue
        clips += [clip for clip, _ in result]
        rows += [row for _, row in result]
    return PackedPart(tuple(clips), tuple(rows), tuple(rejected))


def _reject_changed_companions(part: Part) -> dict[str, RejectedFile]:
    """Reject local files whose companion files changed after planning."""
    those = [file for file in part.files if file.companions_mark and not is_url(file.path)]
    marked = FileHashes(part.packing).add_hashes(those) if those else ()
    reason = "a file that it refers to changed after planning; make a new plan"
    return {
        file.path: RejectedFile(file.path, f"{file.path}: {reason}")
        for file, now in zip(those, marked, strict=True)
        if file.companions_mark != now.companions_mark
    }


def _combine_files(part: Part, folder: str) -> None:
    """Combine the parts of single files into the whole part."""
    if len(part.files) > 1:
        made = [read_part(one, folder) for one in part.split_by_file()]
        clips = tuple(clip for one in made for clip in one.clips)
        rows = tuple(row for one in made for row in one.rows)
        rejected = tuple(file for one in made for file in one.rejected)
        whole = to_bytes(PackedPart(clips, rows, rejected))
        storage.write(whole, storage.join_path(folder, part.file_name))


def _pack_singly(singles: Sequence[Part], folder: str, engine: Engine) -> None:
    """Pack parts of one file each; reject files that keep crashing their process."""
    left = missing_parts(singles, folder)
    reason: dict[int, LostJob] = {}
    for _ in range(1, MAX_CRASHES):
        reason = _run_parts(left, folder, engine)
        left = [left[index] for index in reason]
    for part, lost in zip(left, reason.values(), strict=True):
        rejected = reject_after_crashes(part.files[0].path, lost)
        storage.write(
            to_bytes(PackedPart((), (), (rejected,))), storage.join_path(folder, part.file_name)
        )


def _run_parts(
    parts: Sequence[Part],
    folder: str,
    engine: Engine,
    on_progress: OnProgress = lambda index, share: None,
) -> dict[int, LostJob]:
    """Pack parts by an engine; return the lost jobs by index."""
    lost: dict[int, LostJob] = {}
    failed: list[str] = []
    if parts:
        jobs = [(part, folder) for part in parts]
        with closing(engine(pack_part, jobs, on_progress)) as results:
            for index, result in results:
                if isinstance(result, LostJob):
                    lost[index] = result
                    continue
                if result is not None:
                    failed.append(result)
                on_progress(index, 1.0)
    if failed:
        raise MocpackError(
            f"{len(failed)} of {len(parts)} parts could not be packed: {failed[0]} "
            f"(--resume keeps the others)"
        )
    return lost


def _read_ahead(parts: Sequence[Part], folder: str) -> Iterator[PackedPart]:
    """Yield parts in order; read several at a time from a URL."""
    if not is_url(folder):
        for part in parts:
            yield read_part(part, folder)
        return
    waiting: deque[Future[PackedPart]] = deque()
    with ThreadPoolExecutor(MAX_PREFETCHED_PARTS) as pool:
        for part in parts:
            waiting.append(pool.submit(read_part, part, folder))
            if len(waiting) >= MAX_PREFETCHED_PARTS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def make_counter(sizes: Sequence[int], on_progress: Callable[[float, int], None]) -> OnProgress:
    """Return a progress callback per part that reports the total number of files done."""
    shares, total, done = [0.0] * len(sizes), sum(sizes), 0.0
    on_progress(0.0, total)

    def count(index: int, share: float) -> None:
        nonlocal done
        more = max(share - shares[index], 0.0)  # repeated work does not lower the count
        shares[index] += more
        done += more * sizes[index]
        on_progress(done, total)

    return count


def _format_numbers(parts: Iterable[Part]) -> str:
    numbers = [str(part.number + 1) for part in parts]
    return ", ".join(numbers[:MAX_LISTED_PARTS]) + (
        ", …" if len(numbers) > MAX_LISTED_PARTS else ""
    )
