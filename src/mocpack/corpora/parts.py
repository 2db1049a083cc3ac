"""A plan's parts: packed by anybody, in any order, as often as need be; joined in the plan's order.

A part is one file, there whole or not at all: a line of JSON with the rows of its catalogue and
what it refused, then its clips as an archive without a catalogue, whose SHA-256 the line has.
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
from typing import Any

import mocpack
from mocpack import progress
from mocpack.container import ArchiveWriter, Stored, copied, read_trailer
from mocpack.corpora import storage
from mocpack.corpora.catalogue import Row
from mocpack.corpora.engines import Engine, Told
from mocpack.corpora.packing import DEATHS, Refused, lost_file, pack_file
from mocpack.corpora.planning import Hashes, Part
from mocpack.corpora.remote import is_url
from mocpack.corpora.writing import CorpusWriter
from mocpack.errors import (
    CorruptionError,
    FormatError,
    MissingExtraError,
    MocpackError,
    UsageError,
)
from mocpack.source import source_of
from mocpack.workers import Lost

AHEAD = 16  # parts that are fetched at a time
RECENT = 200  # parts by which the rest is judged
SHOWN = 10  # numbers that a sentence has before it says and so on


@dataclass(frozen=True)
class Packed:
    """What a part's file holds: clips, their rows of the catalogue, what was refused."""

    clips: tuple[Stored, ...]
    rows: tuple[Row, ...]
    refused: tuple[Refused, ...]


def pack_part(part: Part, folder: str) -> str | None:
    """Pack a part into its file, unless it is there; return why it cannot be, None if it is.

    This is all that an engine has to call, on any machine that sees the files and the folder.
    """
    path = storage.inside(folder, part.file_name)
    if part.version != mocpack.__version__:
        return f"a worker has mocpack {mocpack.__version__}, the plan is of {part.version}"
    try:
        if not storage.exists(path):
            storage.write(to_bytes(_packed(part)), path)
    except MocpackError as error:
        return str(error)
    except OSError as error:
        return f"{error.filename or path}: {error.strerror or error}"
    return None


def missing(parts: Sequence[Part], folder: str) -> list[Part]:
    """Return the parts whose files are not in the folder."""
    there = {str(storage.last_name(one.path)) for one in storage.listing(folder)}
    return [part for part in parts if part.file_name not in there]


def pack_parts(
    parts: Sequence[Part],
    folder: str,
    engine: Engine,
    told: Callable[[float, int], None] = lambda done, count: None,
) -> None:
    """Pack those of the parts that are not there.

    A part that ends its worker's process is packed file by file, and a file that has ended three
    is refused. What cannot be packed for another reason, such as a full disk, is an error once all
    others are there.

    Parameters
    ----------
    parts : sequence of Part
    folder : str
        Path or URL, which all workers see.
    engine : Engine
        Who does the work.
    told : callable
        Is told how many files are packed, of how many that were missing, wherever it is done.
    """
    left = missing(parts, folder)
    count = _counting([len(part.files) for part in left], told)
    lost = list(_run(left, folder, engine, count))
    _pack_alone([one for place in lost for one in left[place].singles()], folder, engine)
    for place in lost:
        _put_together(left[place], folder)
        count(place, 1.0)
    absent = missing(left, folder)
    if absent:
        raise UsageError(
            f"{_numbers(absent)} of the parts were packed and are not in {folder}: "
            f"every machine has to see that folder"
        )


@dataclass(frozen=True)
class Status:
    """How far parts have come: files and parts that are packed, seconds that the rest takes."""

    parts: int
    files: int
    seconds_left: float | None


def status(parts: Sequence[Part], folder: str, now: float) -> Status:
    """Return how far all who pack these parts have come, by the times of the files they made."""
    times = {str(storage.last_name(one.path)): one.time for one in storage.listing(folder)}
    there = [part for part in parts if part.file_name in times]
    files = sum(len(part.files) for part in there)
    left = sum(len(part.files) for part in parts) - files
    recent = sorted(there, key=lambda part: times[part.file_name])[-RECENT:]
    if not left or len(recent) < 2:
        return Status(len(there), files, None if left else 0.0)
    # from the oldest of the last ones until now: whoever stopped working makes it longer
    span = now - times[recent[0].file_name]
    return Status(len(there), files, span * left / sum(len(part.files) for part in recent[1:]))


def join(
    parts: Sequence[Part],
    folder: str,
    path: str,
    *,
    meta: Any = None,
    name_pattern: str | None = None,
    shard_size: int | None = None,
) -> list[Refused]:
    """Make the archive of a plan's parts, nothing coded anew; return what was refused."""
    absent = missing(parts, folder)
    if absent:
        numbers = _numbers(absent)
        raise UsageError(f"{len(absent)} of {len(parts)} parts are not packed yet: {numbers}")
    refused: list[Refused] = []
    given = {"meta": meta, "name_pattern": name_pattern, "shard_size": shard_size}
    with CorpusWriter(path, **given) as writer:
        for packed in _read_ahead(parts, folder):
            refused += packed.refused
            for clip, row in zip(packed.clips, packed.rows, strict=True):
                writer.add(clip, row)
    return refused


def read_part(part: Part, folder: str) -> Packed:
    """Read a part's file; one that is damaged is removed, so that it is packed anew."""
    name = storage.inside(folder, part.file_name)
    data = storage.read(name)
    try:
        return from_bytes(data)
    except FormatError as error:
        storage.remove(name)
        raise CorruptionError(f"{name} was damaged: {error}; --resume packs it anew") from error


def to_bytes(packed: Packed) -> bytes:
    """Return a part's file."""
    archive = io.BytesIO()
    writer = ArchiveWriter(archive)
    for clip in packed.clips:
        writer.add(clip)
    writer.end()
    made = archive.getvalue()
    said = {
        "sha256": hashlib.sha256(made).hexdigest(),
        "rows": list(packed.rows),
        "refused": [{"input": one.path, "error": one.why} for one in packed.refused],
    }
    return json.dumps(said).encode() + b"\n" + made


def from_bytes(data: bytes) -> Packed:
    """Read what `to_bytes` made."""
    line, _, made = data.partition(b"\n")
    try:
        said = json.loads(line)
        same = said["sha256"] == hashlib.sha256(made).hexdigest()
        refused = tuple(Refused(row["input"], row["error"]) for row in said["refused"])
        rows = tuple(said["rows"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorruptionError("its first line is not that of a part") from error
    if not same:
        raise CorruptionError("it fails its checksum")
    source = source_of(made)
    return Packed(tuple(copied(source, read_trailer(source).index.places())), rows, refused)


def refused_lines(refused: Sequence[Refused]) -> bytes:
    """Return a report of refused files: JSON lines."""
    rows = [json.dumps({"input": one.path, "error": one.why}) for one in refused]
    return "".join(row + "\n" for row in rows).encode()


def _packed(part: Part) -> Packed:
    clips: list[Stored] = []
    rows: list[Row] = []
    refused = []
    changed = _changed_companions(part)
    progress.expect(len(part.files))
    for file in part.files:
        with progress.doing():
            found = changed.get(file.path) or pack_file(
                file.path, file.name, part.packing, sha256=file.sha256
            )
        if isinstance(found, Refused) and found.lacking:
            # a part is there for good: this one is left to whoever has the package
            raise MissingExtraError(found.why)
        if isinstance(found, Refused):
            refused.append(found)
            continue
        clips += [clip for clip, _ in found]
        rows += [row for _, row in found]
    return Packed(tuple(clips), tuple(rows), tuple(refused))


def _changed_companions(part: Part) -> dict[str, Refused]:
    """Refuse local files that are read with others, if those are not what was planned."""
    those = [file for file in part.files if file.companions_mark and not is_url(file.path)]
    marked = Hashes(part.packing).marked(those) if those else ()
    why = "a file that it is read with was changed meanwhile"
    return {
        file.path: Refused(file.path, f"{file.path}: {why}")
        for file, now in zip(those, marked, strict=True)
        if file.companions_mark != now.companions_mark
    }


def _put_together(part: Part, folder: str) -> None:
    """Make a part of those of its single files."""
    if len(part.files) > 1:
        made = [read_part(one, folder) for one in part.singles()]
        clips = tuple(clip for one in made for clip in one.clips)
        rows = tuple(row for one in made for row in one.rows)
        refused = tuple(found for one in made for found in one.refused)
        whole = to_bytes(Packed(clips, rows, refused))
        storage.write(whole, storage.inside(folder, part.file_name))


def _pack_alone(singles: Sequence[Part], folder: str, engine: Engine) -> None:
    """Pack parts of one file each, of which one has ended a process; refuse it after more."""
    left = missing(singles, folder)
    why: dict[int, Lost] = {}
    for _ in range(1, DEATHS):
        why = _run(left, folder, engine)
        left = [left[place] for place in why]
    for part, lost in zip(left, why.values(), strict=True):
        refused = lost_file(part.files[0].path, lost)
        storage.write(to_bytes(Packed((), (), (refused,))), storage.inside(folder, part.file_name))


def _run(
    parts: Sequence[Part],
    folder: str,
    engine: Engine,
    told: Told = lambda place, share: None,
) -> dict[int, Lost]:
    """Have parts packed; return the places of those whose worker died, and how."""
    lost: dict[int, Lost] = {}
    failed: list[str] = []
    if parts:
        jobs = [(part, folder) for part in parts]
        with closing(engine(pack_part, jobs, told)) as results:
            for place, result in results:
                if isinstance(result, Lost):
                    lost[place] = result
                    continue
                if result is not None:
                    failed.append(result)
                told(place, 1.0)
    if failed:
        raise MocpackError(
            f"{len(failed)} of {len(parts)} parts could not be packed, the others are, and "
            f"--resume goes on with them: {failed[0]}"
        )
    return lost


def _read_ahead(parts: Sequence[Part], folder: str) -> Iterator[Packed]:
    """Read parts in their order; those of a URL several at a time."""
    if not is_url(folder):
        for part in parts:
            yield read_part(part, folder)
        return
    waiting: deque[Future[Packed]] = deque()
    with ThreadPoolExecutor(AHEAD) as pool:
        for part in parts:
            waiting.append(pool.submit(read_part, part, folder))
            if len(waiting) >= AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _counting(sizes: Sequence[int], told: Callable[[float, int], None]) -> Told:
    """Return what is told shares of places, and tells the sum of them."""
    shares, total, done = [0.0] * len(sizes), sum(sizes), 0.0
    told(0.0, total)

    def count(place: int, share: float) -> None:
        nonlocal done
        more = max(share - shares[place], 0.0)  # work that is done again does not come back
        shares[place] += more
        done += more * sizes[place]
        told(done, total)

    return count


def _numbers(parts: Iterable[Part]) -> str:
    numbers = [str(part.number + 1) for part in parts]
    return ", ".join(numbers[:SHOWN]) + (", …" if len(numbers) > SHOWN else "")
