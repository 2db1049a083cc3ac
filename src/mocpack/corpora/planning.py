"""A corpus packed in pieces, by many machines or in many runs, to the bytes that one would make.

A plan says which files, of what contents, are packed how; its parts are packed by anybody, in any
order, as often as need be, each to a file that is there whole or not at all; and joined in the
plan's order. Whatever changes the result changes the plan's digest, which is in the parts' names.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import mocpack
from mocpack.corpora import catalogue
from mocpack.corpora.packing import CorpusWriter, Packing, Refused, pack_into
from mocpack.corpora.reading import corpus
from mocpack.errors import FormatError, UsageError
from mocpack.io import files_to_read
from mocpack.io.atomic import write_atomically

BLOCK = 1 << 20
NAMED = ("robot", "body_model")  # files that `reading` names, which all others are read by


@dataclass(frozen=True)
class Plan:
    """What is to be packed, and how.

    Attributes
    ----------
    files : tuple of (name, path, sha256)
        In the order of names; the hash is of all that reading the file reads.
    packing : Packing
    """

    files: tuple[tuple[str, str, str], ...]
    packing: Packing

    @classmethod
    def make(
        cls, files: Mapping[str, str | Path], packing: Packing, *, known: Path | None = None
    ) -> Plan:
        """Return the plan of files by their names.

        `known` is a file of hashes that were taken before, which is used and written: a file whose
        size and time are the same is not read again.
        """
        hashes = _Hashes(known)
        paths = {name: str(files[name]) for name in sorted(files)}
        rows = [(name, path, hashes.of(path, packing)) for name, path in paths.items()]
        hashes.save()
        return cls(tuple(rows), packing)

    @property
    def digest(self) -> str:
        """A name for everything that the result depends on; where files stand is no part of it."""
        said = [asdict(self.packing), mocpack.__version__, [(n, h) for n, _, h in self.files]]
        text = json.dumps(said, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def part_files(self, part: int, parts: int) -> dict[str, str]:
        """Return the files of part 1 … parts: equal runs of them, in their order."""
        if not 1 <= part <= parts:
            raise UsageError(f"a part is one of 1 to {parts}, got {part}")
        first, last = (len(self.files) * k // parts for k in (part - 1, part))
        return {name: path for name, path, _ in self.files[first:last]}

    def part_path(self, part: int, parts: int, folder: Path) -> Path:
        return folder / f"{self.digest}-{part:05d}-of-{parts:05d}.mocps"


def pack_part(
    plan: Plan,
    part: int,
    parts: int,
    folder: str | Path,
    *,
    workers: int = 1,
    told: Callable[[int, float], None] = lambda place, share: None,
) -> bool:
    """Pack a part of a plan, unless it is there; say whether there was anything to do.

    This is all that whatever hands out work has to call, on any machine that sees the files and the
    folder.
    """
    folder = Path(folder)
    path = plan.part_path(part, parts, folder)
    files = plan.part_files(part, parts)
    if is_done(path):
        return False
    folder.mkdir(parents=True, exist_ok=True)
    with CorpusWriter(path) as writer:
        refused = pack_into(writer, files, plan.packing, workers, told)
        # before the part itself: a part that is there has its refusals told
        write_atomically(refused_lines(refused), bad_path(path))
    return True


def join(
    plan: Plan,
    parts: int,
    folder: str | Path,
    path: str | Path,
    *,
    meta: Any = None,
    name_pattern: str | None = None,
    shard_size: int | None = None,
) -> list[Refused]:
    """Make the archive of a plan's parts, nothing coded anew; return what was refused."""
    paths = [plan.part_path(part, parts, Path(folder)) for part in range(1, parts + 1)]
    missing = [part for part, one in enumerate(paths, 1) if not is_done(one)]
    if missing:
        some = ", ".join(map(str, missing[:10])) + (", …" if len(missing) > 10 else "")
        raise UsageError(f"{len(missing)} of {parts} parts are not packed yet: {some}")
    with ExitStack() as stack:
        opened = [stack.enter_context(corpus(one)) for one in paths]
        table = catalogue.concatenated([part.table for part in opened])
        if name_pattern is not None:
            names = table.column(catalogue.KEY).to_pylist()
            table = catalogue.joined(table, catalogue.names_to_columns(names, name_pattern))
        if meta is not None:
            table = catalogue.joined(table, meta)
        writer = stack.enter_context(CorpusWriter(path, shard_size=shard_size, table=table))
        for one in opened:
            for clip in one.stored():
                writer.add(clip)
    return [
        Refused(row["input"], row["error"])
        for one in paths
        for row in map(json.loads, bad_path(one).read_text(encoding="utf-8").splitlines())
    ]


def parts_found(plan: Plan, folder: str | Path) -> int:
    """Return how many parts a plan was divided into, by those that are in a folder."""
    found = {
        int(path.stem.rpartition("-")[2])
        for path in Path(folder).glob(f"{plan.digest}-*-of-*.mocps")
    }
    if len(found) != 1:
        what = "no part" if not found else f"parts of {sorted(found)}"
        raise UsageError(
            f"{folder} has {what} of these files packed so; the same words as for --shard are meant"
        )
    return found.pop()


def bad_path(part: Path) -> Path:
    """Return where a part lists what it refused."""
    return part.with_suffix(".bad.jsonl")


def is_done(part: Path) -> bool:
    """Say whether a part is there, whole, with the list of what it refused."""
    if not (part.exists() and bad_path(part).exists()):
        return False
    try:
        with corpus(part):
            return True
    except FormatError:
        return False


class _Hashes:
    """SHA-256 of files, with those that were taken before."""

    def __init__(self, known: Path | None) -> None:
        self._path, self._new = known, False
        self._found: dict[str, Any] = {}
        if known is not None and known.exists():
            try:
                self._found = json.loads(known.read_text(encoding="utf-8"))
            except ValueError:
                self._found = {}  # of no use, and made anew

    def of(self, path: str, packing: Packing) -> str:
        """Return the hash of a file and of what is read beside it; a missing file has one too."""
        beside = packing.reading.get("skeleton")
        try:
            paths = files_to_read(path, skeleton=beside)
        except (OSError, ValueError):
            paths = [Path(path)]
        others = [packing.reading[name] for name in NAMED if packing.reading.get(name) is not None]
        parts = [self._one(str(one)) for one in (*paths, *others)]
        return parts[0] if len(parts) == 1 else hashlib.sha256("".join(parts).encode()).hexdigest()

    def save(self) -> None:
        if self._path is not None and self._new:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(json.dumps(self._found, sort_keys=True).encode(), self._path)

    def _one(self, path: str) -> str:
        try:
            stat = Path(path).stat()
            mark = [stat.st_size, stat.st_mtime_ns]
            row = self._found.get(path)
            if isinstance(row, list) and row[:2] == mark:
                return str(row[2])
            digest = hashlib.sha256()
            with Path(path).open("rb") as file:
                while block := file.read(BLOCK):
                    digest.update(block)
        except OSError:
            return "missing"
        self._found[path] = [*mark, digest.hexdigest()]
        self._new = True
        return digest.hexdigest()


def shares(count: int, workers: int, most: int = 32) -> int:
    """Return into how many parts so many files are divided, so that little is lost by a stop."""
    return max(1, -(-count // max(1, most * max(1, workers))))


def refused_lines(refused: Sequence[Refused]) -> bytes:
    """Return a report of refused files: JSON lines."""
    rows = [json.dumps({"input": one.path, "error": one.why}) for one in refused]
    return "".join(row + "\n" for row in rows).encode()
