"""Motion files packed into archives.

Files are packed by processes of their own and written in the order of their names, so that the
bytes of an archive do not depend on how many worked on it.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from mocpack import _api
from mocpack.clip import AnyClip
from mocpack.container import (
    Stored,
    check_name,
    stored,
)
from mocpack.cores import core_count
from mocpack.corpora import catalogue, storage
from mocpack.corpora.catalogue import Row
from mocpack.corpora.reading import corpus
from mocpack.corpora.remote import is_url
from mocpack.corpora.writing import CorpusWriter, front_size
from mocpack.errors import MissingExtraError, MocpackError, UsageError, defect
from mocpack.io import clip_names_in
from mocpack.motion import Motion
from mocpack.registry import AUTO_CODEC
from mocpack.units import parse_length, parse_size
from mocpack.workers import Lost, run_each

DEATHS = 3  # of processes that a file may cost


@dataclass(frozen=True)
class Refused:
    """A file that is not in the archive, and why, in one sentence.

    `lacking` where the file is not at fault: a package that reads it is not installed here.
    """

    path: str
    why: str
    lacking: bool = False


@dataclass(frozen=True)
class Packing:
    """How each file is read and packed; the same for all.

    Attributes
    ----------
    codec : str
    target : dict
        What `mocpack.encode` takes: max_error, effort, …
    reading : dict
        What `mocpack.read` takes: unit, fps, robot, …
    keys : bool
        Whether the trailer repeats the key poses of all clips, so that a window is one request of
        nothing but its groups; otherwise it does for long clips alone.
    """

    codec: str = AUTO_CODEC
    target: Mapping[str, Any] = field(default_factory=dict)
    reading: Mapping[str, Any] = field(default_factory=dict)
    keys: bool = False


def pack(
    files: Mapping[str, str | Path],
    path: str | Path,
    packing: Packing | None = None,
    *,
    meta: Any = None,
    name_pattern: str | None = None,
    shard_size: str | int | None = None,
    workers: int | None = None,
    told: Callable[[int, float], None] = lambda place, share: None,
) -> list[Refused]:
    """Pack motion files into an archive; what cannot be packed is left out and returned.

    Parameters
    ----------
    files : mapping of str to path
        The files by the names that their clips get; of a file of several motions each gets its own
        name after it and a slash.
    path : path
        The archive, ``.mocps``.
    packing : Packing, optional
        Codec, target and how files are read.
    meta : table, optional
        An Arrow table with a column ``clip`` and any others, which the catalogue gets.
    name_pattern : str, optional
        A regular expression; its named groups in a clip's name become columns.
    shard_size : str or int, optional
        Bytes ("256MB") from which the next shard is begun; by default all is one file.
    workers : int, optional
        Processes, 0 for as many as there are cores; a file that ends three of them is refused. By
        default files are packed by this process itself.
    told : callable
        Is told the place of a file and the share of it that is done.
    """
    size = None if shard_size is None else parse_size(shard_size)
    with CorpusWriter(path, shard_size=size, meta=meta, name_pattern=name_pattern) as writer:
        return pack_into(writer, files, packing or Packing(), workers, told)


def append(
    files: Mapping[str, str | Path],
    path: str | Path,
    packing: Packing | None = None,
    *,
    meta: Any = None,
    name_pattern: str | None = None,
    shard_size: str | int | None = None,
    workers: int | None = None,
    told: Callable[[int, float], None] = lambda place, share: None,
) -> list[Refused]:
    """Add motion files to an archive: those that are there stay as they are, byte for byte.

    Of an archive in shards, none is touched; new ones follow.
    """
    size = None if shard_size is None else parse_size(shard_size)
    with ExitStack() as stack:
        old = stack.enter_context(corpus(path))
        sharded = bool(old.index.files)
        if sharded and size is None:
            size = max(count for _, count in old.index.files)
        if size is not None and not sharded:
            raise UsageError(f"{path} is one file: it takes no --shard-size when appended to")
        kept = old.index if sharded else None
        writer = CorpusWriter(
            path, shard_size=size, meta=meta, name_pattern=name_pattern, kept=kept, old=old.rows()
        )
        stack.enter_context(writer)
        for name in old.names:
            if name in files:
                raise UsageError(f"{path} has a clip {name!r} already")
        if not sharded:
            for clip in old.stored():
                writer.add(clip)
        return pack_into(writer, files, packing or Packing(), workers, told)


def pack_file(
    path: str, name: str, packing: Packing, *, sha256: str | None = None
) -> list[tuple[Stored, Row]] | Refused:
    """Pack one file: each of its motions as an archive keeps it, with its row; or why not.

    `sha256` is of what the file held when it was planned. A store that does not answer is an
    `OSError`: the file is not at fault, and may be packed later.
    """
    try:
        data = storage.read(path)
        if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
            return Refused(path, f"{path}: was changed after it was planned")
        motions = _inside(data, path, packing)
        return [_packed_motion(data, path, name, inside, packing) for inside in motions]
    except MocpackError as error:
        text = str(error)
        why = text if text.startswith(path) else f"{path}: {text}"
        return Refused(path, why, isinstance(error, MissingExtraError))
    except OSError as error:
        if is_url(path) and not isinstance(error, FileNotFoundError | PermissionError):
            raise
        return Refused(path, f"{path}: {error.strerror or error}")
    except MemoryError:
        return Refused(path, f"{path}: not enough memory for this clip")
    except Exception as error:
        # of one file among a hundred thousand; the others are packed
        return Refused(path, f"{path}: {defect(error)}")


def pack_into(
    writer: CorpusWriter,
    files: Mapping[str, str | Path],
    packing: Packing,
    workers: int | None,
    told: Callable[[int, float], None],
) -> list[Refused]:
    """Pack files into an archive that is being written, in the order of their names."""
    if workers is not None and workers < 0:
        raise UsageError(f"workers must be 0 or above, got {workers}")
    for name in files:
        check_name(name)
    names = sorted(files)
    jobs = [(str(files[name]), name, packing) for name in names]
    refused = []
    for place, result in _in_order(_results(jobs, workers, told)):
        told(place, 1.0)
        if isinstance(result, Refused):
            refused.append(result)
            continue
        for clip, row in result:
            writer.add(clip, row)
    return refused


def lost_file(path: str, lost: Lost) -> Refused:
    """Return the sentence for a file that has ended as many processes as it may."""
    return Refused(path, f"{path}: {lost.why}, {DEATHS} times")


def _results(
    jobs: Sequence[tuple[str, str, Packing]],
    workers: int | None,
    told: Callable[[int, float], None],
) -> Iterator[tuple[int, Any]]:
    if workers is None:
        for place, job in enumerate(jobs):
            yield place, pack_file(*job)
        return
    count = min(workers or core_count(), len(jobs))
    for place, result in run_each(_tried, jobs, workers=count, deaths=DEATHS, told=told):
        if isinstance(result, OSError):
            raise result
        yield place, lost_file(jobs[place][0], result) if isinstance(result, Lost) else result


def _tried(*job: Any) -> Any:
    """Pack a file in a process of its own, which an error that is not the file's does not end."""
    try:
        return pack_file(*job)
    except OSError as error:
        return error


def _in_order(results: Iterable[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    """Return results by place; those that come early wait, packed and small."""
    early: list[tuple[int, Any]] = []
    due = 0
    for place, result in results:
        heapq.heappush(early, (place, result))
        while early and early[0][0] == due:
            yield heapq.heappop(early)
            due += 1


def _inside(data: bytes, path: str, packing: Packing) -> list[str | None]:
    """Return the motions of a file; None for one that has no name of its own."""
    if packing.reading.get("clip") is not None:
        return [packing.reading["clip"]]
    if _is_packed(data, path):
        return [*_api.clip_names(data)] or [None]
    allow_outside = bool(packing.reading.get("allow_outside"))
    beside = storage.files_beside(path, allow_outside=allow_outside)
    names = clip_names_in(data, name=path, beside=beside)
    return [*names] if len(names) > 1 else [None]


def _packed_motion(
    data: bytes, path: str, name: str, inside: str | None, packing: Packing
) -> tuple[Stored, Row]:
    named = name if inside is None else f"{name}/{inside}"
    made = _kept_as_is(data, path, inside, packing)
    if made is None:
        reading = {**packing.reading, **({} if inside is None else {"clip": inside})}
        clip = _read(data, path, reading)
        made = _api.encode(clip, packing.codec, **packing.target)
    kept = stored(named, made, front_size(made, keys=packing.keys))
    row = catalogue.describe(named, made, kept.base)
    # as the archive names it, not as this machine does: the same files give the same bytes
    source = f"{name}{Path(path).suffix}"
    return kept, row | {"source": source, "source_sha256": hashlib.sha256(data).hexdigest()}


def _read(data: bytes, path: str, reading: Mapping[str, Any]) -> AnyClip:
    """Read a file of these bytes; what belongs to it is looked for beside it, URL or not."""
    if not is_url(path) or _is_packed(data, path):
        return _api.read_contents(data, path, **reading)
    if path.lower().endswith(".amc") and reading.get("skeleton") is None:
        with TemporaryDirectory(prefix="mocpack-") as folder:
            for one in storage.listing(f"{storage.parent(path)}/*.[aA][sS][fF]"):
                (Path(folder) / storage.last_name(one.path)).write_bytes(storage.read(one.path))
            # under its own name, by which its skeleton is found
            return _api.read_contents(data, Path(folder) / storage.last_name(path), **reading)
    beside = storage.files_beside(path, allow_outside=bool(reading.get("allow_outside")))
    return _api.read_data(data, name=path, beside=beside, **reading)


def _kept_as_is(data: bytes, path: str, inside: str | None, packing: Packing) -> bytes | None:
    """Return a packed file as it is, if it keeps what is asked for."""
    if not _is_packed(data, path):
        return None
    made = _api.clip_file(data, inside)
    target = {name: value for name, value in packing.target.items() if name != "effort"}
    if not target:
        return made
    if set(target) != {"max_error"}:
        return None
    with Motion(made, memory_limit=None) as motion:
        declared = motion.errors.declared
    bound = target["max_error"]
    # a bound is kept as float32
    return made if declared is not None and declared <= np.float32(parse_length(bound)) else None


def _is_packed(data: bytes, path: str) -> bool:
    return data[:1] == b"\x93" or path.endswith(".mocp")
