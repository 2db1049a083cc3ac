"""Pack motion files into archives.

Worker processes pack the files. The archive is written in the order of clip names, so its bytes do
not depend on the number of workers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar, Unpack

import numpy as np

from mocpack import rate
from mocpack.codec import Codec
from mocpack.codecs.registry import AUTO_CODEC
from mocpack.common.arguments import check_integer, is_url
from mocpack.common.json_object import Json, JsonObject, get_member, is_list, is_object
from mocpack.common.termination import unwind_when_terminated
from mocpack.common.units import parse_frame_range, parse_length
from mocpack.container import StoredClip, check_name, to_stored_clip
from mocpack.cores import core_count
from mocpack.corpora import catalog, storage
from mocpack.corpora.catalog import Row
from mocpack.corpora.writing import CorpusWriter, WriterOptions, front_size
from mocpack.errors import CorruptionError, FormatError, MocpackError, UsageError, describe_bug
from mocpack.io.motion_file import MotionFile, ReadOptions
from mocpack.model.clip import AnyClip
from mocpack.motion import Motion
from mocpack.rate.encoding import EncoderOptions
from mocpack.workers import LostJob, run_each

ALL_FRAMES = ":"
MAX_CRASHES = 3  # worker processes that a file may crash before it is rejected
Item = TypeVar("Item")


@dataclass(frozen=True)
class RejectedFile:
    """A file that could not be packed, and the reason in one sentence."""

    path: str
    reason: str

    def to_json(self) -> JsonObject:
        return {"input": self.path, "error": self.reason}


def get_objects(fields: Json, name: str) -> list[JsonObject]:
    """Return a list of objects, a member of a JSON object."""
    listed = fields.get(name) if is_object(fields) else None
    objects = [one for one in listed if is_object(one)] if is_list(listed) else []
    if not is_list(listed) or len(objects) < len(listed):
        raise CorruptionError(f"{name} must be a list of objects, got {listed!r:.80}")
    return objects


def parse_rejected(fields: Json, name: str) -> tuple[RejectedFile, ...]:
    """Parse a list of what `RejectedFile.to_json` returns, a member of a JSON object."""
    return tuple(
        RejectedFile(get_member(row, "input", str, name), get_member(row, "error", str, name))
        for row in get_objects(fields, name)
    )


PackResult = list[tuple[StoredClip, Row]] | RejectedFile


@dataclass(frozen=True)
class PackOptions:
    """Options for reading and packing files; the same for all files.

    Attributes
    ----------
    codec : str
    target : dict
        Arguments of `mocpack.encode`: max_error, effort, …
    reading : dict
        Arguments of `mocpack.read`: unit, fps, robot, …
    frames : str
        The frames to keep of every file, like "1:".
    """

    codec: str = AUTO_CODEC
    target: EncoderOptions = field(default_factory=EncoderOptions)
    reading: ReadOptions = field(default_factory=ReadOptions)
    frames: str = ALL_FRAMES

    def __post_init__(self) -> None:
        parse_frame_range(self.frames)  # raises before the work
        unknown = self.target.keys() - EncoderOptions.__annotations__.keys()
        unknown |= self.reading.keys() - ReadOptions.__annotations__.keys()
        if unknown:
            raise UsageError(f"unknown options: {', '.join(sorted(unknown))}")
        _ = self.encoding

    @cached_property
    def encoding(self) -> tuple[Sequence[Codec], rate.Target]:
        """The codecs to try in turn, and the target."""
        return rate.parse_encoding(self.codec, **self.target)


def pack(
    files: Mapping[str, str | Path],
    path: str | Path,
    packing: PackOptions | None = None,
    *,
    workers: int | None = None,
    on_progress: Callable[[int, float], None] = lambda index, share: None,
    **options: Unpack[WriterOptions],
) -> list[RejectedFile]:
    """Pack motion files into an archive; return the files that could not be packed.

    If all are rejected, it is an error and no archive is written.

    Parameters
    ----------
    files : mapping of str to path
        The files by clip name. Motions of a file with several are named ``clip name/motion name``.
    path : path
        The archive, ``.mocps``.
    packing : PackOptions, optional
        Codec, target and reading options.
    workers : int, optional
        Worker processes; 0 means one per core. A file that crashes three of them is rejected.
        By default this process packs the files itself.
    on_progress : callable
        Called with the index of a file and the fraction done.
    options
        `meta`, an Arrow table with a column ``clip``, whose other columns are added to the catalog.
        `name_pattern`, a regular expression, whose named groups in clip names become columns.
        `shard_size`, a size ("256MB") at which a new shard starts; by default there is one file.
    """
    with CorpusWriter(path, **options) as writer:
        rejected = _pack_into(writer, files, packing, workers, on_progress)
        check_some_packed(rejected, len(files), path)
        return rejected


def check_some_packed(rejected: Sequence[RejectedFile], count: int, path: str | Path) -> None:
    """Raise if all files are rejected: an empty archive would block the next run."""
    if rejected and len(rejected) == count:
        first = rejected[0].reason
        raise FormatError(f"{path}: not written, because all files are rejected: {first}")


def append(
    files: Mapping[str, str | Path],
    path: str | Path,
    packing: PackOptions | None = None,
    *,
    workers: int | None = None,
    on_progress: Callable[[int, float], None] = lambda index, share: None,
    **options: Unpack[WriterOptions],
) -> list[RejectedFile]:
    """Add motion files to an archive; existing clips stay unchanged, byte for byte.

    An archive in shards gets new shards; the existing ones are not written.
    """
    with CorpusWriter(path, **options, append=True) as writer:
        for name in files:
            if name in writer:
                raise UsageError(f"{path}: clip {name!r} exists already")
        return _pack_into(writer, files, packing, workers, on_progress)


def pack_file(
    path: str, name: str, packing: PackOptions, *, sha256: str | None = None
) -> PackResult:
    """Pack the motions of one file; return each with its catalog row, or the reason for rejection.

    `sha256` is the hash of the file at planning time. An unreachable store raises `OSError`,
    because the file itself may be good.
    """
    try:
        data = storage.read(path)
        if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
            return RejectedFile(path, f"{path}: changed after planning; make a new plan")
        file = _open_file(data, path, **packing.reading)
        return [_pack_motion(file, name, inside, packing) for inside in _list_motions(file)]
    except MocpackError as error:
        text = str(error)
        reason = text if text.startswith(path) else f"{path}: {text}"
        return RejectedFile(path, reason)
    except OSError as error:
        if is_url(path) and not isinstance(error, FileNotFoundError | PermissionError):
            raise
        return RejectedFile(path, f"{path}: {error.strerror or error}")
    except MemoryError:
        return RejectedFile(path, f"{path}: not enough memory for this clip")
    except Exception as error:
        # one bad file must not stop a run of a hundred thousand
        return RejectedFile(path, f"{path}: {describe_bug(error)}")


def _pack_into(
    writer: CorpusWriter,
    files: Mapping[str, str | Path],
    packing: PackOptions | None,
    workers: int | None,
    on_progress: Callable[[int, float], None],
) -> list[RejectedFile]:
    """Pack files into an open archive, in the order of their names."""
    writer.check_labels(files)
    if workers is not None:
        check_integer("workers", workers, 0)
    for name in files:
        check_name(name)
    names = sorted(files)
    chosen = packing or PackOptions()
    jobs = [(str(files[name]), name, chosen) for name in names]
    rejected = []
    for index, result in _sort_by_index(_run_jobs(jobs, workers, on_progress)):
        on_progress(index, 1.0)
        if isinstance(result, RejectedFile):
            rejected.append(result)
            continue
        for clip, row in result:
            writer.add(clip, row)
    return rejected


def reject_after_crashes(path: str, lost: LostJob) -> RejectedFile:
    """Return the rejection of a file that crashed too many processes."""
    return RejectedFile(path, f"{path}: {lost.reason}, {MAX_CRASHES} times")


def _run_jobs(
    jobs: Sequence[tuple[str, str, PackOptions]],
    workers: int | None,
    on_progress: Callable[[int, float], None],
) -> Iterator[tuple[int, PackResult]]:
    if workers is None:
        for index, job in enumerate(jobs):
            yield index, pack_file(*job)
        return
    count = min(workers or core_count(), len(jobs))
    for index, result in run_each(
        _pack_or_return_error, jobs, workers=count, max_crashes=MAX_CRASHES, on_progress=on_progress
    ):
        if isinstance(result, OSError):
            raise result
        yield (
            index,
            reject_after_crashes(jobs[index][0], result) if isinstance(result, LostJob) else result,
        )


def _pack_or_return_error(path: str, name: str, packing: PackOptions) -> PackResult | OSError:
    """Pack a file in a worker; return errors of the store, because raising ends the worker."""
    try:
        return pack_file(path, name, packing)
    except OSError as error:
        return error


def _sort_by_index(results: Iterable[tuple[int, Item]]) -> Iterator[tuple[int, Item]]:
    """Yield results in the order of their index; early ones wait."""
    early: dict[int, Item] = {}
    due = 0
    for index, result in results:
        early[index] = result
        while due in early:
            yield due, early.pop(due)
            due += 1


def _open_file(data: bytes, path: str, **options: Unpack[ReadOptions]) -> MotionFile:
    """Return an open file; files that it refers to come from the same folder or URL."""
    if not is_url(path):
        return MotionFile(data, path, options, Path(path))
    allow_outside = options.get("allow_outside", False)
    read_external = storage.external_file_reader(path, allow_outside=allow_outside)
    return MotionFile(data, path, options, external_reader=read_external)


def _list_motions(file: MotionFile) -> Sequence[str | None]:
    """Return the names of a file's motions; None for a single unnamed motion."""
    if file.clip is not None:
        return [file.clip]
    names = file.clip_names
    return names if len(names) > 1 or (names and file.is_packed) else [None]


def _pack_motion(
    file: MotionFile, name: str, inside: str | None, packing: PackOptions
) -> tuple[StoredClip, Row]:
    named = name if inside is None else f"{name}/{inside}"
    made = _reuse_packed_file(file, inside, packing)
    reason = None
    if made is None:
        clip = _read_clip(file, inside)
        if packing.frames != ALL_FRAMES:
            clip = clip[parse_frame_range(packing.frames)]
        attempt = rate.encode_clip(clip, *packing.encoding)
        made, reason = attempt.data, attempt.lossless_reason
    kept = to_stored_clip(named, made, front_size(made))
    row = catalog.describe_clip(named, made)
    if reason is not None:
        row[catalog.LOSSLESS_COLUMN] = reason
    # relative to the input folder, so that the same files give the same bytes on any machine
    source = f"{name}{Path(file.name).suffix}"
    return kept, row | {"source": source, "source_sha256": hashlib.sha256(file.data).hexdigest()}


def _read_clip(file: MotionFile, inside: str | None) -> AnyClip:
    """Read a motion; the skeleton of an .amc at a URL comes from the same folder."""
    if file.path is not None or file.is_packed or not file.name.lower().endswith(".amc"):
        return file.read(inside)
    if file.options.get("skeleton") is not None:
        return file.read(inside)
    with unwind_when_terminated(), TemporaryDirectory(prefix="mocpack-") as folder:
        for one in storage.list_files(f"{storage.parent(file.name)}/*.[aA][sS][fF]"):
            (Path(folder) / storage.base_name(one.path)).write_bytes(storage.read(one.path))
        # under its own name, because the skeleton is found by name
        path = Path(folder) / storage.base_name(file.name)
        return MotionFile(file.data, str(path), file.options, path).read(inside)


def _reuse_packed_file(file: MotionFile, inside: str | None, packing: PackOptions) -> bytes | None:
    """Return the bytes of a .mocp file if it already meets the target, else None."""
    is_changed = packing.frames != ALL_FRAMES or packing.reading.get("fps") is not None
    if not file.is_packed or is_changed:
        return None
    made = file.extract(inside)
    target = {name: value for name, value in packing.target.items() if name != "effort"}
    if not target:
        return made
    if set(target) != {"max_error"}:
        return None
    with Motion(made, memory_limit=None) as motion:
        declared = motion.errors.declared
    bound = packing.target["max_error"]
    if declared is None or bound is None:
        return None
    # files store the bound as float32
    return made if declared <= np.float32(parse_length(bound)) else None
