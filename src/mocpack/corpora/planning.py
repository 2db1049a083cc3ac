"""What a corpus is packed of, and how: a value that many machines can work from, and a file of it.

A plan lists files in the order of their clips, with what they hold, and divides them into parts by
their number and sizes alone: who works on the parts, how many and in which order, changes nothing.
Whatever changes what a part becomes changes its digest, which is in the name of its file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import mocpack
from mocpack.container import check_name
from mocpack.corpora import storage
from mocpack.corpora.packing import PackOptions
from mocpack.corpora.remote import is_url
from mocpack.corpora.storage import FileInfo
from mocpack.errors import CorruptionError, FormatError, MocpackError, UsageError
from mocpack.io import (
    check_inside_folder,
    find_companions,
    list_external_files,
    list_robot_files,
    list_skeletons,
    open_regular_file,
)

READ_BYTES = 1 << 20
REFERENCING_SUFFIXES = (
    ".gltf",
    ".usd",
    ".usda",
    ".usdc",
)  # of URLs that are read for the names of others
MAX_PART_FILES, MAX_PART_BYTES = 16, 16 << 20  # of a part: some seconds of work
MIN_PARTS = 256  # below which parts are of fewer files, so that all workers have some
HASHING_THREADS = 8  # files that are hashed at a time
PLAN_VERSION = 1
ROW_TYPES = {"clip": str, "path": str, "bytes": int, "mark": str}  # of a plan's file


@dataclass(frozen=True)
class PlannedFile:
    """A file to be packed.

    Attributes
    ----------
    name : str
        Of its clip.
    path : str
        Path or URL.
    size : int
        Bytes.
    mark : str
        SHA-256 of it, and after a plus that of what else reading it reads; of a URL what its store
        says. Empty where it was not looked at yet.
    """

    name: str
    path: str
    size: int
    mark: str = ""

    @property
    def sha256(self) -> str | None:
        """The SHA-256 of the file itself, if that is known."""
        first = self.mark.partition("+")[0]
        return first if re.fullmatch("[0-9a-f]{64}", first) else None

    @property
    def companions_mark(self) -> str:
        """The digest of what else reading it reads; empty if that is nothing."""
        return self.mark.partition("+")[2]


@dataclass(frozen=True)
class Part:
    """Some files of a plan, packed together by one worker into one file."""

    number: int
    files: tuple[PlannedFile, ...]
    packing: PackOptions
    version: str = field(default_factory=lambda: mocpack.__version__)

    @cached_property
    def file_name(self) -> str:
        """Its number, and a digest of all that its bytes depend on; where files stand is none."""
        rows = [(one.name, one.mark) for one in self.files]
        said = json.dumps([asdict(self.packing), self.version, rows], sort_keys=True, default=str)
        digest = hashlib.sha256(said.encode()).hexdigest()[:16]
        return f"{self.number:06d}-{digest}.part"

    def split_by_file(self) -> list[Part]:
        """Return the same as parts of one file each."""
        return [replace(self, files=(one,)) for one in self.files]


@dataclass(frozen=True)
class Plan:
    """What is to be packed, in the order of clips' names, and how."""

    files: tuple[PlannedFile, ...]
    packing: PackOptions
    version: str = field(default_factory=lambda: mocpack.__version__)

    @classmethod
    def make(
        cls,
        files: Mapping[str, str | Path],
        packing: PackOptions,
        *,
        known: str | None = None,
        entries: Mapping[str, FileInfo] | None = None,
    ) -> Plan:
        """Return the plan of files by their clips' names.

        `known` names a file of hashes that were taken before, which is used and written: a file
        whose size and time are the same is not read again. `entries` are what a listing has said
        of URLs, which are not asked for again.
        """
        plan = cls.listed(files, packing, entries=entries)
        hashes = FileHashes(packing, [] if known is None else [known], entries or {})
        marked = hashes.add_hashes(plan.files)
        if known is not None:
            hashes.save(known)
        return replace(plan, files=marked)

    @classmethod
    def listed(
        cls,
        files: Mapping[str, str | Path],
        packing: PackOptions,
        *,
        entries: Mapping[str, FileInfo] | None = None,
    ) -> Plan:
        """Return the plan with sizes and without the marks of local files: none is read."""
        for name in files:
            check_name(name)
        rows = [(name, str(files[name])) for name in sorted(files)]
        return cls(tuple(_list_file(name, path, entries or {}) for name, path in rows), packing)

    @property
    def parts(self) -> list[Part]:
        """The plan divided: runs of files, each some seconds of work."""
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
        """Return the parts that the job `number`, 1 to `count`, of an array of jobs packs.

        They are every `count`-th: neighbours in the alphabet are often alike in length.
        """
        if not 1 <= number <= count:
            raise UsageError(f"a shard is one of 1 to {count}, got {number}")
        return self.parts[number - 1 :: count]

    def to_bytes(self) -> bytes:
        """Return the plan as a file: JSON lines, how to pack in the first, then a file each."""
        said = {"mocpack_plan": PLAN_VERSION, "version": self.version}
        lines = [said | {"packing": asdict(self.packing)}]
        lines += [
            {"clip": one.name, "path": one.path, "bytes": one.size, "mark": one.mark}
            for one in self.files
        ]
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()

    @classmethod
    def from_bytes(cls, data: bytes, *, name: str = "plan") -> Plan:
        """Read a plan's file; what is wrong with it is said by line."""
        lines = data.split(b"\n")
        if lines.pop():
            raise FormatError(f"{name}: its last line is cut")
        rows = [_parse_line(line, f"{name}, line {number}") for number, line in enumerate(lines, 1)]
        if not rows or rows[0].get("mocpack_plan") != PLAN_VERSION:
            raise FormatError(f"{name}: not a plan of mocpack (version {PLAN_VERSION})")
        packing = _parse_packing(rows[0], f"{name}, line 1")
        version = str(rows[0].get("version"))
        if version != mocpack.__version__:
            raise UsageError(
                f"{name} was made by mocpack {version}, this is {mocpack.__version__}: plan again"
            )
        files = [_parse_row(row, f"{name}, line {n}") for n, row in enumerate(rows[1:], 2)]
        names = [one.name for one in files]
        if names != sorted(set(names)):
            raise CorruptionError(f"{name}: its clips are not in the order of their names")
        return cls(tuple(files), packing)


class FileHashes:
    """Marks of files, with those that were taken before."""

    def __init__(
        self,
        packing: PackOptions,
        known: Sequence[str] = (),
        entries: Mapping[str, FileInfo] | None = None,
    ) -> None:
        self._packing, self._new, self._entries = packing, False, entries or {}
        self._found: dict[str, Any] = {}
        self._skeletons_in = cache(list_skeletons)  # a folder of thousands is listed once
        for name in known:
            self._found |= _read_hashes(name)
        self._allow_outside = bool(packing.reading.get("allow_outside"))
        self._shared_inputs = [self._hash_file(path) for path in _shared_inputs(packing)]

    def add_hashes(self, files: Sequence[PlannedFile]) -> tuple[PlannedFile, ...]:
        """Return files with their marks; a missing file has one too."""
        new = [one for one in files if not self._is_known(one)]
        with ThreadPoolExecutor(HASHING_THREADS) as pool:
            taken = dict(zip(new, pool.map(self._file_digest, new), strict=True))
        return tuple(replace(one, mark=taken.get(one) or self._file_digest(one)) for one in files)

    @property
    def rows(self) -> Mapping[str, Any]:
        """What is known of files, by path, for others to know."""
        return self._found

    def save(self, name: str) -> None:
        """Write a file of what is known, if anything was not known before."""
        if self._new:
            said = {"hashes": self._found}
            storage.write(json.dumps(said, sort_keys=True).encode(), name)

    def _file_digest(self, file: PlannedFile) -> str:
        own = file.mark if is_url(file.path) else self._hash_file(file.path)
        others = [*self._companion_digests(file), *self._shared_inputs]
        return f"{own}+{_short_digest(others)}" if others else own

    def _companion_digests(self, file: PlannedFile) -> list[str]:
        """Return the marks of what is read with a file: a skeleton, buffers, layers."""
        if (known := self._known_companions(file)) is not None:
            return list(known.values())
        if is_url(file.path):
            return self._url_companion_digests(file)
        skeleton = self._packing.reading.get("skeleton")
        try:
            paths, stated = find_companions(
                file.path,
                skeleton=skeleton,
                list_folder=self._skeletons_in,
                allow_outside=self._allow_outside,
            )
        except (OSError, MocpackError):
            return []  # reading it will say what is wrong
        marks = {str(path): self._hash_file(str(path)) for path in paths}
        if stated:
            self._store_companions(file.path, marks)
        return list(marks.values())

    def _url_companion_digests(self, file: PlannedFile) -> list[str]:
        """Return the marks of what is read with a URL; of an .amc those of all skeletons there."""
        url, folder = file.path, storage.parent(file.path)
        if url.lower().endswith(".amc"):
            listed = [one for one in self._entries if storage.parent(one) == folder]
            return [self._entries[one].mark for one in listed if one.lower().endswith(".asf")]
        if not url.lower().endswith(REFERENCING_SUFFIXES):
            return []
        try:
            data = storage.read(url)
            read_external = storage.external_file_reader(url, allow_outside=self._allow_outside)
            found = list_external_files(data, name=url, read_external=read_external)
            if not self._allow_outside:
                found = [name for name in found if _is_in_folder(name)]
        except (FileNotFoundError, PermissionError, MocpackError):
            return []  # as above
        marks = {
            other: self._companion_digest(other)
            for other in (storage.sibling(url, name) for name in found)
        }
        self._found[url] = [file.size, file.mark, file.mark]
        self._store_companions(url, marks)
        return list(marks.values())

    def _store_companions(self, path: str, marks: Mapping[str, str]) -> None:
        """Keep which files one names, and what they hold, which may name others."""
        row = self._found.get(path)
        if row is not None and row[3:] != [marks]:
            self._found[path], self._new = [*row[:3], marks], True

    def _known_companions(self, file: PlannedFile) -> Mapping[str, str] | None:
        """Return the marks of what a file names, if it and they are as they were."""
        row = self._found.get(file.path)
        if row is None or len(row) < 4 or not isinstance(row[3], dict):
            return None
        if is_url(file.path) and row[:2] != [file.size, file.mark]:
            return None
        kept: dict[str, str] = row[3]
        return (
            kept
            if all(self._companion_digest(path) == mark for path, mark in kept.items())
            else None
        )

    def _is_known(self, file: PlannedFile) -> bool:
        if is_url(file.path) and not file.path.lower().endswith(REFERENCING_SUFFIXES):
            return True
        row = self._found.get(file.path)
        known = is_url(file.path) or self._known_hash(file.path) is not None
        return known and row is not None and len(row) == 4

    def _companion_digest(self, path: str) -> str:
        """Return the mark of a file beside another."""
        if not is_url(path):
            return self._hash_file(path)
        try:
            return (self._entries.get(path) or storage.file_info(path)).mark
        except FileNotFoundError:
            return "missing"

    def _known_hash(self, path: str) -> str | None:
        """Return the hash of a file that has the size and the time that it had."""
        row = self._found.get(path)
        if row is None:
            return None
        try:
            stat = os.stat(path)  # noqa: PTH116 - ten times as fast as a Path's, for all files
        except OSError:
            return None
        return str(row[2]) if row[:2] == [stat.st_size, stat.st_mtime_ns] else None

    def _hash_file(self, path: str) -> str:
        if (known := self._known_hash(path)) is not None:
            return known
        try:
            stat = Path(path).stat()
            digest = hashlib.sha256()
            with open_regular_file(path) as file:
                while block := file.read(READ_BYTES):
                    digest.update(block)
        except OSError:
            return "missing"
        self._found[path] = [stat.st_size, stat.st_mtime_ns, digest.hexdigest()]
        self._new = True
        return digest.hexdigest()


def _shared_inputs(packing: PackOptions) -> list[str]:
    """Return the files that all others are read by: a robot with what it includes, a body."""
    robot, body = (packing.reading.get(name) for name in ("robot", "body_model"))
    allow_outside = bool(packing.reading.get("allow_outside"))
    files = [] if robot is None else list_robot_files(robot, allow_outside=allow_outside)
    found = [str(path) for path in files]
    return found if body is None else [*found, str(body)]


def _is_in_folder(name: str) -> bool:
    try:
        check_inside_folder(name)
    except FormatError:
        return False  # reading refuses it
    return True


def _read_hashes(name: str) -> dict[str, list[Any]]:
    """Read hashes that were taken before; what is no such file is of no use, and made anew."""
    try:
        found = json.loads(storage.read(name))
    except (OSError, ValueError, RecursionError):
        return {}
    rows = found.get("hashes") if isinstance(found, dict) else None
    rows = rows.items() if isinstance(rows, dict) else ()
    return {path: row for path, row in rows if isinstance(row, list) and len(row) in (3, 4)}


def _list_file(name: str, path: str, entries: Mapping[str, FileInfo]) -> PlannedFile:
    try:
        found = entries.get(path) or storage.file_info(path)
    except FileNotFoundError:
        return PlannedFile(name, path, 0, "missing" if is_url(path) else "")
    return PlannedFile(name, path, found.size, found.mark)


def _short_digest(texts: Sequence[str]) -> str:
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:16]


def _parse_line(line: bytes, where: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where}: not JSON ({error})") from error
    if not isinstance(found, dict):
        raise FormatError(f"{where}: a line is an object, got {type(found).__name__}")
    return found


def _parse_packing(row: Mapping[str, Any], where: str) -> PackOptions:
    said = row.get("packing")
    kinds = {"codec": str, "target": dict, "reading": dict, "keys": bool}
    if not isinstance(said, dict) or said.keys() != kinds.keys():
        raise FormatError(f"{where}: packing has {', '.join(kinds)}, got {said!r:.80}")
    for name, kind in kinds.items():
        if not isinstance(said[name], kind):
            raise FormatError(f"{where}: {name} is a {kind.__name__}, got {said[name]!r:.80}")
    return PackOptions(**said)


def _parse_row(row: Mapping[str, Any], where: str) -> PlannedFile:
    for name, kind in ROW_TYPES.items():
        if type(row.get(name)) is not kind:
            raise FormatError(f"{where}: {name} is a {kind.__name__}, got {row.get(name)!r:.80}")
    if row["bytes"] < 0:
        raise FormatError(f"{where}: bytes is 0 or more, got {row['bytes']}")
    try:
        check_name(row["clip"])
    except UsageError as error:
        raise FormatError(f"{where}: {error}") from error
    return PlannedFile(row["clip"], row["path"], row["bytes"], row["mark"])
