"""Predict the cost of packing a large corpus: core hours, time on 1 to 64 nodes, bytes, requests.

    MOCPACK_DATA=… python benchmarks/predict_corpus.py [--clips 142000] [--hours 288] [--fps 120]
        [--max-error 1mm] [--effort default] [--cores 8] [-j 2] [--page]

Rates are measured on the spot: every fourth clip of `cmu` and `cmu-train` of the folder that
MOCPACK_DATA names (without it, of `cmu` that comes with the repository) is planned, packed and
joined by one process, and what a frame and a clip cost is fitted to them. Then all of these clips
are packed by the command, with -j processes, and the script prints the measured cost next to the
predicted one. `--page` writes both tables into docs/cluster.md.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mocpack.bench.datasets import COMMITTED, collection
from mocpack.common.units import format_size
from mocpack.corpora import PackOptions, open_corpus
from mocpack.corpora.packing import pack_file
from mocpack.corpora.parts import join, pack_parts
from mocpack.corpora.planning import MAX_PART_BYTES, MAX_PART_FILES, PackPlan

PAGE = Path(__file__).parents[1] / "docs" / "cluster.md"
BEGIN, END = "<!-- prediction: begin -->", "<!-- prediction: end -->"
NODES = (1, 2, 4, 8, 16, 32, 64)
SENT = 50 << 20  # bytes of a part in which s3fs sends a large file
LISTED = 1000  # objects that one request lists


@dataclass(frozen=True)
class Rates:
    """Measured rates: seconds of one core, bytes.

    Attributes
    ----------
    frame, clip : float
        Seconds that packing takes, by frame and by clip beside.
    packed_frame, packed_clip : float
        Bytes of the archive.
    source_frame : float
        Bytes of the source.
    planned_clip, joined_clip : float
        Seconds of planning, with the hashes, and of joining.
    """

    frame: float
    clip: float
    packed_frame: float
    packed_clip: float
    source_frame: float
    planned_clip: float
    joined_clip: float


@dataclass(frozen=True)
class Prediction:
    """Predicted cost of a corpus: parallel and serial seconds of one core, bytes, parts."""

    shared: float
    alone: float
    source: float
    packed: float
    parts: int

    def clock(self, cores: int) -> float:
        """Return the wall time in seconds; on average half of the last part runs alone."""
        return self.shared / cores + self.alone + self.shared / self.parts / 2


def main(words: list[str]) -> None:
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--clips", type=int, default=142_000)
    parse.add_argument("--hours", type=float, default=288)
    parse.add_argument("--fps", type=float, default=120)
    parse.add_argument("--max-error", default="1mm")
    parse.add_argument("--effort", default="default")
    parse.add_argument("--cores", type=int, default=8, help="of a node")
    parse.add_argument("-j", "--jobs", type=int, default=2, help="processes of the run beside it")
    parse.add_argument("--page", action="store_true")
    given = parse.parse_args(words)
    packing = PackOptions(target={"max_error": given.max_error, "effort": given.effort})
    paths = sources()
    rates = measure(paths[::4], packing)
    frames = given.hours * 3600 * given.fps
    large = predict(rates, given.clips, frames)
    lines = [*describe(given, large), "", *beside(paths, rates, given)]
    print("\n".join(lines))
    if given.page:
        asked = " ".join(word for word in words if word != "--page")
        command = f"MOCPACK_DATA=… python benchmarks/predict_corpus.py {asked}".strip()
        text = PAGE.read_text("utf-8")
        before, after = text.partition(BEGIN)[0], text.partition(END)[2]
        said = "\n".join([f"`{command}`:", "", *lines])
        PAGE.write_text(f"{before}{BEGIN}\n{said}\n{END}{after}", "utf-8")


def sources() -> list[Path]:
    """Return the clips to measure on, in the order of their names."""
    if "MOCPACK_DATA" not in os.environ:
        return collection("cmu", COMMITTED)
    return sorted([*collection("cmu"), *collection("cmu-train")], key=lambda path: path.name)


def measure(paths: list[Path], packing: PackOptions) -> Rates:
    """Plan, pack and join these clips in this process, with the time of each."""
    rows: list[tuple[int, float]] = []  # bytes of the source, seconds

    def here(work, jobs, describe):  # type: ignore[no-untyped-def]
        for place, job in enumerate(jobs):
            start = time.process_time()
            result = work(*job)
            (file,) = job[0].files
            rows.append((file.size, time.process_time() - start))
            yield place, result

    pack_file(str(paths[0]), "warm", packing)  # loads modules once
    with tempfile.TemporaryDirectory() as folder:
        named = {f"{number:06}": path for number, path in enumerate(paths)}
        marks = [time.process_time()]
        plan = PackPlan.make(named, packing)
        marks.append(time.process_time())
        parts = str(Path(folder) / "parts")
        pack_parts(plan.parts, parts, here)
        marks.append(time.process_time())
        join(plan.parts, parts, str(Path(folder) / "all.mocps"))
        marks.append(time.process_time())
        with open_corpus(Path(folder) / "all.mocps") as made:
            frames = made.index.frame_counts.astype(float)
            sizes = made.index.columns[:, 3].astype(float)
            trailer = made.trailer_size / len(made)
    columns = np.stack([frames, np.ones(len(frames))], 1)
    seconds = np.array([row[1] for row in rows])
    frame, clip = _fit(columns, seconds)
    packed_frame, packed_clip = _fit(columns, sizes + trailer)
    return Rates(
        frame,
        clip,
        packed_frame,
        packed_clip,
        sum(row[0] for row in rows) / float(frames.sum()),
        (marks[1] - marks[0]) / len(paths),
        (marks[3] - marks[2]) / len(paths),
    )


def _fit(columns: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Return the cost per frame and per clip, neither below zero."""
    frame, clip = np.linalg.lstsq(columns, values, rcond=None)[0]
    if clip < 0:
        return float(values.sum() / columns[:, 0].sum()), 0.0
    return float(frame), float(clip)


def predict(rates: Rates, clips: int, frames: float) -> Prediction:
    source = rates.source_frame * frames
    by_bytes = source / MAX_PART_BYTES
    parts = int(max(clips / MAX_PART_FILES, by_bytes)) if clips >= 512 else clips
    return Prediction(
        rates.frame * frames + rates.clip * clips,
        (rates.planned_clip + rates.joined_clip) * clips,
        source,
        rates.packed_frame * frames + rates.packed_clip * clips,
        max(parts, 1),
    )


def requests(clips: int, found: Prediction) -> dict[str, int]:
    """Return the number of S3 requests, extrapolated from the log of a few files.

    Files are listed and read once; a part is looked for, put and read once; s3fs asks for the head
    of what it reads, and lists what it does not find.
    """
    parts, listed = found.parts, -(-found.parts // LISTED)
    sent = int(found.packed // SENT) + 3 if found.packed > 2 * SENT else 1
    return {
        "GET": clips + parts,
        "HEAD": clips + 2 * parts,
        "LIST": -(-clips // LISTED) + 7 * listed + parts,
        "PUT": parts + sent,
    }


def describe(given: argparse.Namespace, found: Prediction) -> list[str]:
    hours = (found.shared + found.alone) / 3600
    asked = ", ".join(f"{count:,} {name}" for name, count in requests(given.clips, found).items())
    return [
        f"| {given.clips:,} clips, {given.hours:g} h at {given.fps:g} frames per second, within "
        f"{given.max_error}, `{given.effort}` | predicted |",
        "|---|--:|",
        f"| core hours | {hours:.1f}, {found.alone / 3600:.2f} of them alone (plan, join) |",
        f"| source, as BVH | {format_size(int(found.source))} |",
        f"| archive | {format_size(int(found.packed))} |",
        f"| parts | {found.parts:,} |",
        f"| requests to S3 | {asked} |",
        *(
            f"| time on {nodes} node{'s' * (nodes > 1)} of {given.cores} cores | "
            f"{_clock(found.clock(nodes * given.cores))} |"
            for nodes in NODES
        ),
    ]


def _clock(seconds: float) -> str:
    minutes = round(seconds / 60)
    return (
        f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{seconds / 60:.1f} min"
    )


def beside(paths: list[Path], rates: Rates, given: argparse.Namespace) -> list[str]:
    """Pack all clips with the command; return measured and predicted cost."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "in").mkdir()
        for number, path in enumerate(paths):
            link = Path(folder) / "in" / f"{number:05}-{path.stem}{path.suffix}"
            link.symlink_to(path.resolve())
        words = [
            sys.executable,
            "-m",
            "mocpack",
            "corpus",
            "pack",
            "in",
            "-o",
            "all.mocps",
            "--engine",
        ]
        words += ["local", "-j", str(given.jobs), "--max-error", given.max_error]
        start, before = time.perf_counter(), _work()
        made = [*words, "--effort", given.effort]
        subprocess.run(made, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        clock, work = time.perf_counter() - start, _work() - before
        with open_corpus(Path(folder) / "all.mocps") as opened:
            frames, size = int(opened.index.frame_counts.sum()), opened.file_size
    found = predict(rates, len(paths), frames)
    expected = found.shared + found.alone
    return [
        f"| {len(paths)} clips, {frames:,} frames, {given.jobs} processes | predicted | measured |",
        "|---|--:|--:|",
        f"| seconds of one core | {expected:.1f} | {work:.1f}, starting included |",
        f"| seconds by the clock | {found.clock(given.jobs):.1f} | {clock:.1f} |",
        f"| archive | {format_size(int(found.packed))} | {format_size(size)} |",
    ]


def _work() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main(sys.argv[1:])
