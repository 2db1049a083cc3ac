"""Compress whole folders and print one line: clips, hours, bytes before and after, seconds.

    MOCPACK_DATA=… python benchmarks/whole.py FOLDER… [--max-error 5mm] [--effort fast] [-j 0]

A FOLDER is a path or a folder inside MOCPACK_DATA, like `cmu`. `mocpack compress` compresses every
BVH file in them into a temporary folder. The line has the wall time of the command and the CPU time
of all processes.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import mocpack
from mocpack.common.units import format_length, format_size, parse_length
from mocpack.errors import UsageError


@dataclass(frozen=True)
class Whole:
    """Totals over all folders: sizes in bytes, times in seconds."""

    clips: int
    failed: int
    motion: float
    rates: tuple[float, ...]
    source: int
    packed: int
    clock: float
    work: float


def main(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--max-error", default="5mm")
    parser.add_argument("--effort", default="fast")
    parser.add_argument("-j", "--jobs", type=int, default=0)
    options = parser.parse_args(words)
    files = [file for folder in options.folders for file in motions(folder)]
    found = pack(files, options.max_error, options.effort, options.jobs)
    print(f"{describe(found, options.max_error, options.effort)}, {found.clock:.1f} s by the clock")


def motions(folder):
    """Return the BVH files of a folder, given by path or by name inside MOCPACK_DATA."""
    path = Path(folder)
    if not path.is_dir():
        path = Path(os.environ.get("MOCPACK_DATA", "")) / folder
    found = sorted(file for file in path.rglob("*.bvh") if file.is_file())
    if not found:
        raise UsageError(f"{folder}: no .bvh file found; check MOCPACK_DATA")
    return found


def pack(files, max_error, effort, jobs):
    """Compress all files with one command; return the totals."""
    command = [sys.executable, "-m", "mocpack", "compress", "--quiet", "--max-error", max_error]
    command += ["--effort", effort, "-j", str(jobs)]
    with tempfile.TemporaryDirectory() as folder:
        links = [link_uniquely(Path(folder) / "in", n, file) for n, file in enumerate(files)]
        out = Path(folder) / "out"
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*command, str(links[0].parent), "-o", str(out)], check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        clock = time.perf_counter() - start
        packed = sorted(out.rglob("*.mocp"))
        lengths, rates = zip(*(length(path) for path in packed), strict=True)
        sources = {link.stem: link for link in links}
        return Whole(
            len(packed),
            len(files) - len(packed),
            sum(lengths),
            tuple(sorted(set(rates))),
            sum(sources[path.stem].stat().st_size for path in packed),
            sum(path.stat().st_size for path in packed),
            clock,
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        )


def link_uniquely(folder, number, file):
    """Return a symbolic link to a file, with a unique name."""
    folder.mkdir(exist_ok=True)
    link = folder / f"{number:05}-{file.name}"
    link.symlink_to(file.resolve())
    return link


def length(path):
    """Return the duration in seconds and the frame rate of a compressed file."""
    with mocpack.open(path) as motion:
        header = motion.header
    return header.frame_count * header.frame_time, round(header.frame_rate)


def describe(found, max_error, effort):
    rates = " and ".join(f"{rate:g}" for rate in found.rates)
    failed = f", {found.failed} more failed" if found.failed else ""
    return (
        f"{found.clips:,} clips, {found.motion / 3600:.2f} h at {rates} fps, "
        f"{format_size(found.source)} of BVH → {format_size(found.packed)} at "
        f"{format_length(parse_length(max_error))}, in {found.work:.1f} s of one core with "
        f"`{effort}`{failed}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
