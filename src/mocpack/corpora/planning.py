"""A plan of the files to pack and the options to pack them with, which many machines can share.

A plan lists files in the order of their clip names, with hashes of their contents. It divides them
into parts by count and size only, so the result does not depend on who packs the parts. The file
name of a part contains a digest of everything that its bytes depend on.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import cast

import mocpack
from mocpack.common.arguments import is_url
from mocpack.common.json_object import JsonObject, get_member, is_object, parse_json
from mocpack.container import check_name
from mocpack.corpora import storage
from mocpack.corpora.packing import PackOptions
from mocpack.corpora.storage import FileInfo
from mocpack.errors import CorruptionError, FormatError, MocpackError, UsageError, convert_errors
from mocpack.io import (
    check_inside_folder,
    find_companions,
    list_robot_files,
    list_skeletons,
    open_regular_file,
)
from mocpack.io.motion_file import MotionFile, ReadOptions
from mocpack.rate.encoding import EncoderOptions

REFERENCING_SUFFIXES = (".gltf", ".usd", ".usda", ".usdc")  # planning reads such URLs
MAX_PART_FILES, MAX_PART_BYTES = 16, 16 << 20  # a part is some seconds of work
MIN_PARTS = 256  # parts get fewer files until there are this many, so that all workers are busy
HASHING_THREADS = 8
PLAN_VERSION = 1


@dataclass(frozen=True)
class PlannedFile:
    """A file to pack.

    Attributes
    ----------
    name : str
        Name of its clip.
    path : str
        Path or URL.
    size : int
        Bytes.
    mark : str
        SHA-256 of the file, or the ETag of a URL; after a plus sign, a digest of its companion
        files. Empty before it is computed.
    """

    name: str
    path: str
    size: int
    mark: str = ""

    @property
    def sha256(self) -> str | None:
        """The SHA-256 of the file itself, or None if it is not known."""
        first = self.mark.partition("+")[0]
        return first if re.fullmatch("[0-9a-f]{64}", first) else None

    @property
    def companions_mark(self) -> str:
        """The digest of its companion files; empty if it has none."""
        return self.mark.partition("+")[2]


@dataclass(frozen=True)
class Part:
    """Files of a plan that one worker packs into one file."""

    number: int
    files: tuple[PlannedFile, ...]
    packing: PackOptions
    version: str = field(default_factory=lambda: mocpack.__version__)

    @cached_property
    def file_name(self) -> str:
        """Its number and a digest of everything its bytes depend on; paths do not matter."""
        rows = [(one.name, one.mark) for one in self.files]
        text = json.dumps([asdict(self.packing), self.version, rows], sort_keys=True, default=str)
        return f"{self.number:06d}-{_short_digest(text)}.part"

    def split_by_file(self) -> list[Part]:
        """Split into parts of one file each."""
        return [replace(self, files=(one,)) for one in self.files]


@dataclass(frozen=True)
class PackPlan:
    """The files to pack, in the order of clip names, and the options."""

    files: tuple[PlannedFile, ...]
    packing: PackOptions
    version: str = field(default_factory=lambda: mocpack.__version__)

    @classmethod
    def make(
        cls,
        files: Mapping[str, str | Path],
        packing: PackOptions,
        *,
        entries: Mapping[str, FileInfo] | None = None,
    ) -> PackPlan:
        """Hash files by clip name and return their plan.

        `entries` holds the file information of URLs from a listing.
        """
        for name in files:
            check_name(name)
        entries = entries or {}
        listed = [_list_file(name, str(files[name]), entries) for name in sorted(files)]
        return cls(FileHashes(packing, entries).add_hashes(listed), packing)

    @property
    def parts(self) -> list[Part]:
        """The plan divided into consecutive runs of files, each some seconds of work."""
        max_files = min(max(len(self.files) // MIN_PARTS, 1), MAX_PART_FILES)
        runs: list[list[PlannedFile]] = []
        size = MAX_PART_BYTES
        for one in self.files:
            if size >= MAX_PART_BYTES or len(runs[-1]) >= max_files:
                runs.append([])
                size = 0
            runs[-1].append(one)
            size += one.size
        given = self.packing, self.version
        return [Part(number, tuple(run), *given) for number, run in enumerate(runs)]

    def shard(self, number: int, count: int) -> list[Part]:
        """Return the parts of job `number`, 1 to `count`, of a job array.

        These are every `count`-th part, because neighbors by name often have similar lengths.
        """
        if not 1 <= number <= count:
            raise UsageError(f"shard must be between 1 and {count}, got {number}")
        return self.parts[number - 1 :: count]

    def to_bytes(self) -> bytes:
        """Return the plan as JSON lines: the options, then one line per file."""
        head = {"mocpack_plan": PLAN_VERSION, "version": self.version}
        lines: list[dict[str, object]] = [head | {"packing": asdict(self.packing)}]
        lines += [
            {"clip": one.name, "path": one.path, "bytes": one.size, "mark": one.mark}
            for one in self.files
        ]
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()

    @classmethod
    def from_bytes(cls, data: bytes, *, name: str = "plan") -> PackPlan:
        """Parse a plan's file; errors name the line."""
        lines = data.split(b"\n")
        if lines.pop():
            raise FormatError(f"{name}: the last line is incomplete")
        rows = [_parse_line(line, f"{name}, line {number}") for number, line in enumerate(lines, 1)]
        if not rows or rows[0].get("mocpack_plan") != PLAN_VERSION:
            raise FormatError(f"{name}: not a mocpack plan of version {PLAN_VERSION}")
        packing = _parse_packing(rows[0], f"{name}, line 1")
        version = str(rows[0].get("version"))
        if version != mocpack.__version__:
            raise UsageError(
                f"{name} was made by mocpack {version}, but this is {mocpack.__version__}; "
                "make a new plan"
            )
        files = [_parse_row(row, f"{name}, line {n}") for n, row in enumerate(rows[1:], 2)]
        names = [one.name for one in files]
        if names != sorted(set(names)):
            raise CorruptionError(f"{name}: clips must be sorted by name, without duplicates")
        return cls(tuple(files), packing)


class FileHashes:
    """Hashes of files and of the files that are read with them."""

    def __init__(self, packing: PackOptions, entries: Mapping[str, FileInfo] | None = None) -> None:
        self._packing, self._entries = packing, entries or {}
        self._skeletons_in = cache(list_skeletons)  # list a folder of thousands of files once
        self._hash_file = cache(_hash_file)  # many files share a skeleton
        self._allow_outside = bool(packing.reading.get("allow_outside"))
        self._shared_inputs = [self._hash_file(path) for path in _shared_inputs(packing)]

    def add_hashes(self, files: Sequence[PlannedFile]) -> tuple[PlannedFile, ...]:
        """Return files with their hashes; a missing file is marked as missing."""
        with ThreadPoolExecutor(HASHING_THREADS) as pool:
            digests = list(pool.map(self._file_digest, files))
        return tuple(replace(one, mark=mark) for one, mark in zip(files, digests, strict=True))

    def _file_digest(self, file: PlannedFile) -> str:
        digest = file.mark if is_url(file.path) else self._hash_file(file.path)
        others = [*self._companion_digests(file), *self._shared_inputs]
        return f"{digest}+{_short_digest(''.join(others))}" if others else digest

    def _companion_digests(self, file: PlannedFile) -> list[str]:
        """Return the hashes of a file's companions: skeleton, buffers, layers."""
        if is_url(file.path):
            return self._url_companion_digests(file.path)
        try:
            paths = find_companions(
                file.path,
                skeleton=self._packing.reading.get("skeleton"),
                list_folder=self._skeletons_in,
                allow_outside=self._allow_outside,
            )
        except (OSError, MocpackError):
            return []  # reading the file will report the error
        return [self._hash_file(str(path)) for path in paths]

    def _url_companion_digests(self, url: str) -> list[str]:
        """Return the ETags of a URL's companions; for an .amc, of all skeletons in its folder."""
        if url.lower().endswith(".amc"):
            folder = storage.parent(url)
            listed = [one for one in self._entries if storage.parent(one) == folder]
            return [self._entries[one].mark for one in listed if one.lower().endswith(".asf")]
        if not url.lower().endswith(REFERENCING_SUFFIXES):
            return []
        try:
            data = storage.read(url)
            read_external = storage.external_file_reader(url, allow_outside=self._allow_outside)
            references = MotionFile(data, url, external_reader=read_external).list_external_files()
        except (FileNotFoundError, PermissionError, MocpackError):
            return []  # reading the file will report the error
        inside = [name for name in references if self._allow_outside or _is_in_folder(name)]
        return [self._etag(storage.sibling(url, name)) for name in inside]

    def _etag(self, url: str) -> str:
        try:
            return (self._entries.get(url) or storage.file_info(url)).mark
        except FileNotFoundError:
            return "missing"


def _hash_file(path: str) -> str:
    try:
        with open_regular_file(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    except OSError:
        return "missing"


def _shared_inputs(packing: PackOptions) -> list[str]:
    """Return the files that reading every input needs: a robot with its includes, a body model."""
    robot, body = packing.reading.get("robot"), packing.reading.get("body_model")
    allow_outside = bool(packing.reading.get("allow_outside"))
    files = [] if robot is None else list_robot_files(robot, allow_outside=allow_outside)
    paths = [str(path) for path in files]
    return paths if body is None else [*paths, str(body)]


def _is_in_folder(name: str) -> bool:
    try:
        check_inside_folder(name)
    except FormatError:
        return False  # reading rejects it
    return True


def _list_file(name: str, path: str, entries: Mapping[str, FileInfo]) -> PlannedFile:
    try:
        info = entries.get(path) or storage.file_info(path)
    except OSError as error:
        if is_url(path) and not isinstance(error, FileNotFoundError | PermissionError):
            raise  # the store failed, and the file itself may be good
        return PlannedFile(name, path, 0, "missing" if is_url(path) else "")
    return PlannedFile(name, path, info.size, info.mark)


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _parse_line(line: bytes, where: str) -> JsonObject:
    try:
        row = parse_json(line)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where}: not JSON ({error})") from error
    if not is_object(row):
        raise FormatError(f"{where}: expected a JSON object, got {type(row).__name__}")
    return row


def _parse_packing(row: JsonObject, where: str) -> PackOptions:
    options = row.get("packing")
    names = ("codec", "target", "reading", "frames")
    if not is_object(options) or options.keys() != set(names):
        raise FormatError(f"{where}: packing needs {', '.join(names)}, got {options!r:.80}")
    codec, frames = (get_member(options, n, str, where, FormatError) for n in ("codec", "frames"))
    target, reading = options["target"], options["reading"]
    if not is_object(target) or not is_object(reading):
        raise FormatError(f"{where}: target and reading must be objects, got {options!r:.80}")
    with convert_errors(UsageError, f"{where}", to=FormatError):
        return PackOptions(codec, cast(EncoderOptions, target), cast(ReadOptions, reading), frames)


def _parse_row(row: JsonObject, where: str) -> PlannedFile:
    name, path, mark = (
        get_member(row, member, str, where, FormatError) for member in ("clip", "path", "mark")
    )
    size = get_member(row, "bytes", int, where, FormatError)
    if size < 0:
        raise FormatError(f"{where}: bytes must be at least 0, got {size}")
    with convert_errors(UsageError, f"{where}", to=FormatError):
        check_name(name)
    return PlannedFile(name, path, size, mark)
