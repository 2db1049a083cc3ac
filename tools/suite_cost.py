"""Measure the time and downloads of the contributor's commands, each in a new clone of HEAD.

``python tools/suite_cost.py [--only NAME] [--ccache]`` prints wall seconds, CPU seconds and
megabytes downloaded for every command below.

* CPU seconds are user and system time of the command and of all processes that it waited for.
* Megabytes (10^6 bytes) are the sizes of the packages that pip and npm fetched. Every clone gets
  empty caches of pip and npm. pip writes a log of each file that it fetches, with its size; a
  package from a local folder or mirror counts like one from the network. npm keeps what it fetches
  in its cache, where packages are gzip files. Index pages, which npm keeps there too, and Debian
  packages do not count.
* Compilers start cold: ccache is off unless ``--ccache`` is given, and zig's cache is empty.

Run it on a quiet machine. `nproc` and the load average are printed, because wall times mean little
without them.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
# name of a row: the commands that run in one clone, each measured as a row of its own
SEQUENCES = {
    "check": (("make check, first", "make check"), ("make check, second", "make check")),
    "demo": (("make demo", "make demo"),),
    "test": (("make test", "make test"),),
    "wheel": (("make wheel", "make wheel"),),
}
UNITS = {"bytes": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}
DOWNLOADED = re.compile(r"Downloading (\S+) \(([\d.]+) (bytes|kB|MB|GB)\)")
COPIED = re.compile(r"Processing (/\S+\.(?:whl|tar\.gz|zip))")


@dataclass(frozen=True)
class Cost:
    """Time and downloads of one command."""

    seconds: float
    cpu_seconds: float
    megabytes: float
    succeeded: bool


def main() -> int:
    """Print one row for each command; return 1 if one of them failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=SEQUENCES, help="measure this row only")
    parser.add_argument("--ccache", action="store_true", help="use the compilations in ccache")
    given = parser.parse_args()
    names = [given.only] if given.only else list(SEQUENCES)
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}")
    print(f"{'':24}{'wall s':>8}{'CPU s':>8}{'MB':>8}", flush=True)
    failed = False
    for name in names:
        for title, cost in measure(name, ccache=given.ccache):
            row = f"{title:24}{cost.seconds:8.0f}{cost.cpu_seconds:8.0f}{cost.megabytes:8.0f}"
            print(row + ("" if cost.succeeded else "  failed"), flush=True)
            failed |= not cost.succeeded
    return int(failed)


def measure(name: str, *, ccache: bool) -> Iterator[tuple[str, Cost]]:
    """Yield title and cost of each command of a sequence, all run in one new clone."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        clone = folder / "mocpack"
        git = ["git", "clone", "--quiet", "--no-local", "--depth", "1"]
        subprocess.run([*git, CHECKOUT.as_uri(), clone], check=True)
        variables = clean_environment(folder, ccache=ccache)
        for title, command in SEQUENCES[name]:
            cost, log = run_command(command, clone, folder, variables)
            if not cost.succeeded:
                print(log.read_text(errors="replace")[-4000:], file=sys.stderr)
            yield title, cost


def clean_environment(folder: Path, *, ccache: bool) -> dict[str, str]:
    """Return the environment of a machine with empty caches."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    variables |= {
        "PIP_CACHE_DIR": str(folder / "pip"),
        "PIP_LOG": str(folder / "pip.log"),
        "npm_config_cache": str(folder / "npm"),
        "ZIG_GLOBAL_CACHE_DIR": str(folder / "zig"),
    }
    return variables if ccache else variables | {"CCACHE_DISABLE": "1"}


def run_command(
    command: str, clone: Path, folder: Path, variables: dict[str, str]
) -> tuple[Cost, Path]:
    """Run a command in the clone; return its cost and the file with its output."""
    fetched = fetched_bytes(folder)
    log = folder / "output.log"
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with log.open("wb") as output:
        done = subprocess.run(
            command.split(), cwd=clone, env=variables, stdout=output, stderr=subprocess.STDOUT
        )
    seconds = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    megabytes = (fetched_bytes(folder) - fetched) / 1e6
    return Cost(seconds, cpu, megabytes, done.returncode == 0), log


def fetched_bytes(folder: Path) -> float:
    """Return the size of all packages that pip and npm have downloaded so far."""
    return pip_bytes(folder / "pip.log") + npm_bytes(folder / "npm")


def pip_bytes(log: Path) -> float:
    """Return the size of the files that pip downloaded according to its log, each once."""
    if not log.exists():
        return 0.0
    text = log.read_text(errors="replace")
    sizes = {name: float(size) * UNITS[unit] for name, size, unit in DOWNLOADED.findall(text)}
    for path in map(Path, COPIED.findall(text)):
        if path.is_file() and not path.is_relative_to(log.parent):
            sizes[path.name] = path.stat().st_size
    return sum(sizes.values())


def npm_bytes(cache: Path) -> int:
    """Return the size of the packages in an npm cache."""
    files = [path for path in (cache / "_cacache/content-v2").rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in files if is_gzip(path))


def is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


if __name__ == "__main__":
    sys.exit(main())
