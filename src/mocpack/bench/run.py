"""Runs the bench: every clip × every setting, in parallel, resumable, failures kept as rows."""

from __future__ import annotations

import csv
import json
import platform
import subprocess
import sys
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from datetime import UTC, datetime
from importlib.metadata import version
from os import cpu_count
from pathlib import Path
from time import perf_counter
from typing import Any

from mocpack import _api
from mocpack.bench.measure import Setting, measure_row
from mocpack.errors import MocpackError, UsageError
from mocpack.io import extensions
from mocpack.io.table import write_atomically
from mocpack.workers import worker_pool

ROWS = "rows.jsonl"
Row = dict[str, Any]


def find_clips(data: Sequence[Path]) -> list[Path]:
    """Return the motion files that are named, or that lie in the named folders."""
    found: list[Path] = []
    for place in data:
        if place.is_dir():
            inside = [p for p in sorted(place.rglob("*")) if p.suffix.lower() in extensions()]
            found += [p for p in inside if p.suffix.lower() != ".asf"]
        elif place.exists():
            found.append(place)
        else:
            raise UsageError(f"there is no {place}")
    if not found:
        raise UsageError(f"no motion files in {', '.join(map(str, data))}")
    return found


def run_bench(
    clips: Sequence[Path],
    settings: Sequence[Setting],
    out: Path,
    *,
    workers: int = 1,
    frames: str | None = None,
    done: Callable[[], None] = lambda: None,
) -> list[Row]:
    """Measure what is not in `out` already; return all rows in the order asked for.

    `done` is called once for every clip that is finished.
    """
    out.mkdir(parents=True, exist_ok=True)
    known = _load(out / ROWS)
    commit = _commit()  # once: a commit made meanwhile must not make rows unfindable

    def key(path: Path, setting: Setting) -> str:
        return f"{path.stem}|{path.stat().st_size}|{frames or ''}|{setting.label}|{commit}"

    jobs = []
    for path in clips:
        missing = [s for s in settings if key(path, s) not in known]
        if missing:
            jobs.append((path, missing, frames))
        else:
            done()
    # a fresh process for each clip, so that its peak memory is its own
    with worker_pool(min(workers or cpu_count() or 1, max(len(jobs), 1)), tasks_each=1) as pool:
        futures = {pool.submit(_clip_rows, *job): job for job in jobs}
        for future in as_completed(futures):
            path, missing, _ = futures[future]
            for setting, row in zip(missing, future.result(), strict=True):
                known[key(path, setting)] = row
                _append(out / ROWS, key(path, setting), row)
            done()
    return [known[key(path, setting)] for path in clips for setting in settings]


def write_tables(rows: Sequence[Row], out: Path) -> None:
    """Write ``bench.csv`` and ``bench.json``, the machine and versions in the head of each."""
    head = describe_machine()
    nested = ("detail", "worst", "setting")
    plain = [{k: v for k, v in row.items() if k not in nested} for row in rows]
    columns = list(dict.fromkeys(name for row in plain for name in row))
    lines = [f"# {name}: {value}" for name, value in head.items()]
    table = _Text()
    writer = csv.DictWriter(table, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(plain)
    write_atomically(("\n".join(lines) + "\n" + table.text).encode(), out / "bench.csv")
    write_atomically(json.dumps({"head": head, "rows": rows}).encode(), out / "bench.json")


def describe_machine() -> dict[str, str]:
    """Return what a figure of speed means nothing without."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": f"{_processor()}, {cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        "mocpack": f"{version('mocpack')} {_commit()}".strip(),
        "numpy": version("numpy"),
        "calibration": f"zlib inflates {inflate_speed():.0f} MB/s",
    }


def inflate_speed() -> float:
    """Return how fast this machine inflates a fixed text now, in MB/s."""
    text = b"".join(b"%d %d " % (i, i * i % 977) for i in range(60_000))
    packed = zlib.compress(text, 6)
    best = min(_seconds(lambda: zlib.decompress(packed)) for _ in range(5))
    return len(text) / best / 1e6


def _seconds(work: Callable[[], object]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started


def _clip_rows(path: Path, settings: Sequence[Setting], frames: str | None) -> list[Row]:
    """Measure one clip, in a process of its own."""
    try:
        clip = _api.read(path)
        if frames is not None:
            start, _, stop = frames.partition(":")
            clip = clip.frames(int(start or 0), int(stop) if stop else clip.frame_count)
    except (MocpackError, OSError) as error:
        return [
            {"clip": path.stem, "codec": s.spec, "target": None, "failure": str(error)}
            for s in settings
        ]
    return [measure_row(path, clip, setting) for setting in settings]


def _load(path: Path) -> dict[str, Row]:
    """Return the rows of an earlier run; a line cut by a crash is measured again."""
    known: dict[str, Row] = {}
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                entry = json.loads(line)
                known[entry["key"]] = entry["row"]
            except (ValueError, KeyError, TypeError):
                continue
    return known


def _append(path: Path, key: str, row: Row) -> None:
    with path.open("a") as file:
        file.write(json.dumps({"key": key, "row": row}) + "\n")


def _commit() -> str:
    """Return the commit of the checkout the package runs from, with + if it was changed since."""
    folder = Path(__file__).parent
    found = _git(folder, "rev-parse", "--short", "HEAD")
    return found + ("+" if found and _git(folder, "status", "--porcelain", "-uno") else "")


def _git(folder: Path, *words: str) -> str:
    try:
        result = subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, text=True, check=False, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if sys.platform == "linux" and info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


class _Text:
    """A place for `csv` to write to."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)
