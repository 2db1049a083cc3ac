"""Run the bench: measure every setting on every clip, in parallel; a later run continues."""

from __future__ import annotations

import csv
import json
import platform
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import version
from io import StringIO
from os import cpu_count
from pathlib import Path

from mocpack import _api
from mocpack.bench.datasets import source_size
from mocpack.bench.rows import Row, is_row
from mocpack.bench.runner.measure import Setting, measure_row
from mocpack.bench.runner.timing import inflate_speed
from mocpack.common.json_object import is_object, parse_json
from mocpack.common.texts import escape_cell
from mocpack.common.units import parse_frame_range
from mocpack.cores import core_count
from mocpack.errors import MocpackError, UsageError
from mocpack.io import supported_extensions
from mocpack.io.atomic import write_atomically
from mocpack.model.clip import AnyClip
from mocpack.workers import LostJob, run_each

ROWS = "rows.jsonl"
PACKAGE = Path(__file__).parents[2]
FRONTS = ("bench", "cli", "testing")  # do not affect rows, except DECISIVE
DECISIVE = ("bench/runner/measure.py", "bench/peers/table.py", "bench/peers/gltf.py")


def find_clips(data: Sequence[Path]) -> list[Path]:
    """Return the named motion files and those in the named folders.

    The .mocp files of a folder count only if it has no other motion files: next to their sources,
    they are compressed copies.
    """
    paths: list[Path] = []
    for place in data:
        if place.is_dir():
            inside = [
                p for p in sorted(place.rglob("*")) if p.suffix.lower() in supported_extensions()
            ]
            packed = [] if inside else sorted(place.rglob("*.mocp"))
            paths += [p for p in inside if p.suffix.lower() != ".asf"] + packed
        elif place.exists():
            paths.append(place)
        else:
            raise UsageError(f"{place}: no such file or folder")
    if not paths:
        raise UsageError(f"no motion files in {', '.join(map(str, data))}")
    return paths


def run_bench(
    clips: Sequence[Path],
    settings: Sequence[Setting],
    out: Path,
    *,
    workers: int = 1,
    frames: str | None = None,
    timed: bool = True,
    max_seconds: float | None = None,
    on_done: Callable[[], None] = lambda: None,
) -> list[Row]:
    """Measure the rows that `out` does not have; return all rows, by clip and setting.

    Worker processes measure, so a codec that crashes or takes more than `max_seconds` fails only
    its row; the next run tries that row again. `on_done` is called once per row.
    """
    out.mkdir(parents=True, exist_ok=True)
    known = _load(out / ROWS)
    sources = [BenchClip(path, name, frames, timed) for path, name in clip_names(clips).items()]
    stamps = {source.name: source.stamp() for source in sources}
    code, commit = fingerprint(), commit_of_code()

    def key(source: BenchClip, setting: Setting) -> str:
        return f"{stamps[source.name]}|{setting.label}|{code}"

    jobs = [(source, s) for source in sources for s in settings if key(source, s) not in known]
    for _ in range(len(sources) * len(settings) - len(jobs)):
        on_done()
    workers = workers or core_count()
    for number, result in run_each(measure, jobs, workers=workers, max_seconds=max_seconds):
        source, setting = jobs[number]
        is_lost = isinstance(result, LostJob)
        row: Row = _lost_row(source, setting, result) if isinstance(result, LostJob) else result
        row["commit"] = commit
        known[key(source, setting)] = row
        if not is_lost:
            _append(out / ROWS, key(source, setting), row)
        on_done()
    return [known[key(source, s)] for source in sources for s in settings]


@dataclass(frozen=True)
class BenchClip:
    """A clip to measure: its file, and a range of frames such as ``1:``."""

    path: Path
    name: str
    frames: str | None
    timed: bool

    def stamp(self) -> str:
        """Return a key of the clip's contents; a row with another key is measured again."""
        contents = zlib.crc32(self.path.read_bytes())
        return f"{self.name}|{contents:08x}|{self.frames or ''}|{self.timed}"


def measure(source: BenchClip, setting: Setting) -> Row:
    """Return the row of one setting on one clip."""
    try:
        clip = _read_clip(source)
    except (MocpackError, OSError) as error:
        return _lost_row(source, setting, LostJob(str(error)))
    size = source_size(source.path)
    return measure_row(clip, setting, name=source.name, source_bytes=size, timed=source.timed)


@lru_cache(1)
def _read_clip(source: BenchClip) -> AnyClip:
    """Read a clip; a worker measures several settings on it, one after another."""
    clip = _api.read(source.path)
    if source.frames is None:
        return clip
    start, stop, _ = parse_frame_range(source.frames).indices(clip.frame_count)
    return clip.frames(start, stop)


def _lost_row(source: BenchClip, setting: Setting, lost: LostJob) -> Row:
    target = None if setting.target is None else "=".join(setting.target)
    return {"clip": source.name, "codec": setting.spec, "target": target, "failure": lost.reason}


def clip_names(paths: Sequence[Path]) -> dict[Path, str]:
    """Return a short name for each file: its stem, or folder and name if stems are equal."""
    stems = Counter(path.stem for path in paths)
    return {p: p.stem if stems[p.stem] == 1 else f"{p.parent.name}/{p.name}" for p in paths}


def write_tables(rows: Sequence[Row], out: Path) -> None:
    """Write ``bench.csv`` and ``bench.json``; both start with machine and versions."""
    head = describe_machine()
    nested = ("worst", "setting")
    plain = [{k: escape_cell(v) for k, v in row.items() if k not in nested} for row in rows]
    columns = list(dict.fromkeys(name for row in plain for name in row))
    lines = [f"# {name}: {value}" for name, value in head.items()]
    table = StringIO()
    writer = csv.DictWriter(table, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(plain)
    write_atomically(("\n".join(lines) + "\n" + table.getvalue()).encode(), out / "bench.csv")
    write_atomically(json.dumps({"head": head, "rows": rows}).encode(), out / "bench.json")


def describe_machine() -> dict[str, str]:
    """Return machine and versions, which figures of speed depend on."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": f"{_find_processor()}, {cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        "mocpack": f"{version('mocpack')} {commit_of_code()}".strip(),
        "numpy": version("numpy"),
        "calibration": f"zlib inflates {inflate_speed():.0f} MB/s",
    }


def _load(path: Path) -> dict[str, Row]:
    """Return the rows of an earlier run; a line cut by a crash is measured again."""
    known: dict[str, Row] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                entry = parse_json(line)
            except ValueError:
                continue
            if is_object(entry) and is_row(row := entry.get("row")):
                known[str(entry.get("key"))] = row
    return known


def _append(path: Path, key: str, row: Row) -> None:
    with path.open("a") as file:
        file.write(json.dumps({"key": key, "row": row}) + "\n")


def fingerprint() -> str:
    """Return a hash of the code that affects rows: the package without its front ends.

    A row of an earlier run is reused as long as this hash is the same.
    """
    digest = sha256()
    for path in sorted(p for p in PACKAGE.rglob("*") if p.suffix in (".py", ".so", ".pyd")):
        place = path.relative_to(PACKAGE)
        if place.parts[0] not in FRONTS or place.as_posix() in DECISIVE:
            digest.update(str(place).encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def commit_of_code() -> str:
    """Return the commit of the checkout the package runs from, with + if it was changed since."""
    commit = _run_git(PACKAGE, "rev-parse", "--short", "HEAD")
    return commit + ("+" if commit and _run_git(PACKAGE, "status", "--porcelain", "-uno") else "")


def _run_git(folder: Path, *words: str) -> str:
    try:
        result = subprocess.run(
            # git status would write the repository's index, and leave its lock if it is killed
            ["git", "--no-optional-locks", *words],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""


def _find_processor() -> str:
    info = Path("/proc/cpuinfo")
    if sys.platform == "linux" and info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()
