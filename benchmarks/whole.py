"""What whole folders of motion come to, in one line: clips, hours, bytes before and after, seconds.

    MOCPACK_DATA=… python benchmarks/whole.py FOLDER… [--max-error 5mm] [--effort fast] [-j 0]

Folders lie in the one that MOCPACK_DATA names (`cmu cmu-train`), or are paths. Every BVH in them is
packed by `mocpack compress`, as a user would, into a folder that is thrown away. Seconds are of the
whole command by the clock, and of all cores' work, which a busy machine does not change much.
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
from mocpack.errors import UsageError
from mocpack.units import format_length, format_size, parse_length


@dataclass(frozen=True)
class Whole:
    """What folders came to: sizes in bytes, times in seconds."""

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
    asked = parser.parse_args(words)
    files = [file for folder in asked.folders for file in motions(folder)]
    found = pack(files, asked.max_error, asked.effort, asked.jobs)
    print(f"{sentence(found, asked.max_error, asked.effort)}, {found.clock:.1f} s by the clock")


def motions(folder):
    """Return the motion files of a folder, by its path or its name beside the other data."""
    path = Path(folder)
    if not path.is_dir():
        path = Path(os.environ.get("MOCPACK_DATA", "")) / folder
    found = sorted(file for file in path.rglob("*.bvh") if file.is_file())
    if not found:
        raise UsageError(f"no .bvh in {folder!r}; MOCPACK_DATA names the folder of folders")
    return found


def pack(files, max_error, effort, jobs):
    """Pack all files in one command; return what they came to."""
    command = [sys.executable, "-m", "mocpack", "compress", "--quiet", "--max-error", max_error]
    command += ["--effort", effort, "-j", str(jobs)]
    with tempfile.TemporaryDirectory() as folder:
        links = [named_apart(Path(folder) / "in", n, file) for n, file in enumerate(files)]
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


def named_apart(folder, number, file):
    """Return a link to a file under a name that no other has."""
    folder.mkdir(exist_ok=True)
    link = folder / f"{number:05}-{file.name}"
    link.symlink_to(file.resolve())
    return link


def length(path):
    """Return seconds and frames per second of a packed file."""
    with mocpack.open(path) as motion:
        header = motion.header
    return header.frame_count * header.frame_time, round(header.frame_rate)


def sentence(found, max_error, effort):
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
