"""Pack, open, list, window and verify an archive of many short clips; kill packing and resume it.

    MOCPACK_DATA=… .venv/bin/python benchmarks/bench_scale.py --clips 2000 --jobs 2

Clips have 60 to 300 frames at 30 frames per second. They are cut from `cmu-train` and played at 0.8
to 1.25 times their speed, by a seed, so no two are equal. Each is encoded within --max-error into a
.mocp file in build/scale, and `mocpack.corpora.pack` joins the files without encoding again. Every
figure comes from a process of its own, so that memory is that of one task. Random windows are
compared with an archive of the first 100 clips, after some thousand windows of each: there all
clips stay open, and in the large archive nearly every window opens its clip. Clips "not open" have
one window each, in both archives. Times are processor time of all processes, unless they are "by
the clock". --part runs one part in this process.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import mocpack
from mocpack.bench.datasets import collection
from mocpack.corpora import Windows, open_corpus, pack
from mocpack.corpora.reading import MAX_OPEN_CLIPS, Corpus
from mocpack.corpora.verifying import verify
from mocpack.model.clip import Clip
from mocpack.workers import run_each

BUILD = Path(__file__).parent.parent / "build" / "scale"
FPS, MIN_FRAMES, MAX_FRAMES = 30, 60, 300
SLOWEST, FASTEST = 0.8, 1.25
FEW_CLIPS, WINDOWS = 100, 2000
FOLDER_SIZE = 1000  # files per folder
KILLS = 5  # of a command that packs in parts

Figures = dict[str, Any]


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__)
    parse.add_argument("--clips", type=int, default=2000)
    parse.add_argument("--max-error", default="1mm")
    parse.add_argument("--effort", default="fast")
    parse.add_argument("--jobs", type=int, default=1, help="processes that encode and pack")
    parse.add_argument("--part", choices=list(PARTS), help="run one part in this process")
    given = parse.parse_args()
    if given.part is not None:
        print(json.dumps(_measure(PARTS[given.part], given)))
        return
    BUILD.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        words = [sys.executable, __file__, "--part", part, "--clips", str(given.clips)]
        words += ["--max-error", given.max_error, "--effort", given.effort]
        words += ["--jobs", str(given.jobs)]
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE)
        figures = json.loads(done.stdout.splitlines()[-1])
        print(part, ", ".join(f"{name} {_round(value)}" for name, value in figures.items()))
        sys.stdout.flush()


def make_clip(number: int) -> Clip:
    """Return the clip of a number: a part of a recording at another speed."""
    rng = np.random.default_rng([42, number])
    paths = collection("cmu-train")
    while True:
        source = _read_source(paths[int(rng.integers(len(paths)))])
        step = source.frame_rate / FPS * rng.uniform(SLOWEST, FASTEST)
        frames = int(rng.integers(MIN_FRAMES, MAX_FRAMES + 1))
        room = source.frame_count - 1 - (frames - 1) * step
        if room > 0:
            at = rng.uniform(0, room) + np.arange(frames) * step
            return source.poses_at(at, frame_time=1 / FPS)


def encode_clips(given: argparse.Namespace) -> Figures:
    """Encode the clips that are not there yet, a folder at a time."""
    jobs = [(start, given) for start in range(0, given.clips, FOLDER_SIZE)]
    done = [counts for _, counts in run_each(encode_folder, jobs, workers=given.jobs)]
    clips, frames = (sum(counts) for counts in zip(*done, strict=True))
    return {"encoded clips": clips, "encoded frames": frames}


def encode_folder(start: int, given: argparse.Namespace) -> tuple[int, int]:
    """Encode the missing clips of a folder; return their number and that of their frames."""
    count = frames = 0
    for number in range(start, min(start + FOLDER_SIZE, given.clips)):
        path = _clip_path(number, given)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            clip = make_clip(number)
            path.write_bytes(mocpack.encode(clip, max_error=given.max_error, effort=given.effort))
            count, frames = count + 1, frames + clip.frame_count
    return count, frames


def pack_clips(given: argparse.Namespace) -> Figures:
    """Pack all clips, and the first hundred."""
    figures: Figures = {}
    for count in (FEW_CLIPS, given.clips):
        files = {f"{n // FOLDER_SIZE}/{n}": _clip_path(n, given) for n in range(count)}
        path = _archive_path(count, given)
        started = _processor_seconds()
        assert pack(files, path, workers=given.jobs if given.jobs > 1 else None) == []
        figures[f"s for {count} clips"] = _processor_seconds() - started
        with open_corpus(path) as corpus:
            figures[f"bytes of {count} clips"] = corpus.bytes_by_part
    return figures


def resume_packing(given: argparse.Namespace) -> Figures:
    """Kill `corpus pack --resume` after some parts, several times; compare its archive."""
    rng = np.random.default_rng(0)
    folder, output = _clip_path(0, given).parent.parent, BUILD / "resumed.mocps"
    parts = output.with_name(output.name + ".parts")
    words = [sys.executable, "-m", "mocpack", "corpus", "pack", str(folder), "-o", str(output)]
    words += ["--resume", "-j", str(given.jobs)]
    assert len(list(folder.rglob("*.mocp"))) == given.clips
    output.unlink(missing_ok=True)
    part_count = -(-given.clips // min(max(given.clips // 256, 1), 16))
    stops = sorted(rng.integers(1, part_count, size=KILLS).tolist())
    for stop in stops:
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and len(list(parts.glob("*.part"))) < stop:
            time.sleep(0.01)
        process.kill()
        assert process.wait() == -signal.SIGKILL
    started = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    same = filecmp.cmp(output, _archive_path(given.clips, given), shallow=False)
    return {
        "kills": len(stops),
        "parts at the last kill": stops[-1],
        "parts": part_count,
        "s of the last run by the clock": time.perf_counter() - started,
        "same bytes": same,
    }


def open_archive(given: argparse.Namespace) -> Figures:
    before, started = _resident_bytes(), time.process_time()
    with open_corpus(_archive_path(given.clips, given)) as corpus:
        opened = time.process_time() - started
        held = _resident_bytes() - before
        name = corpus.names[-1]
        assert corpus[name].frame_count >= MIN_FRAMES
        first_clip = time.process_time() - started
        return {
            "s": opened,
            "s with one clip by name": first_clip,
            "MB held": held / 1e6,
            "trailer bytes": corpus.trailer_size,
        }


def list_archive(given: argparse.Namespace) -> Figures:
    figures: Figures = {}
    path, where = _archive_path(given.clips, given), "seconds > 5 and skeleton like 'a%'"
    with open_corpus(path) as corpus:
        started = time.process_time()
        assert corpus.table.num_rows == given.clips
        figures["s for the catalog"] = time.process_time() - started
        figures["found"] = len(corpus.select(where))
        figures["s with a condition"] = time.process_time() - started
    for name, words in {"corpus ls": [], "corpus ls --where": ["--where", where]}.items():
        started = _processor_seconds()
        ls = [sys.executable, "-m", "mocpack", "corpus", "ls", str(path), *words]
        subprocess.run(ls, check=True, stdout=subprocess.DEVNULL)
        figures[f"s of {name}"] = _processor_seconds() - started
    return figures


def window_archives(given: argparse.Namespace) -> Figures:
    """Read random windows of both archives in turns; then one of each clip, none of them open."""
    figures: Figures = {}
    corpora = {n: open_corpus(_archive_path(n, given)) for n in (FEW_CLIPS, given.clips)}
    sets, seconds = {}, {}
    for count, corpus in corpora.items():
        started = time.process_time()
        sets[count] = _second_long_windows(corpus)
        figures[f"s to prepare {count} clips"] = time.process_time() - started
        seconds[count] = []
    rng = np.random.default_rng(0)
    for windows in sets.values():
        _read_windows(windows, rng.integers(len(windows), size=2 * MAX_OPEN_CLIPS).tolist())
    for _ in range(10):
        for count, windows in sets.items():
            order = rng.integers(len(windows), size=WINDOWS // 10)
            seconds[count].append(_read_windows(windows, order.tolist()))
    for count in sets:
        figures[f"windows per s of {count} clips"] = 1 / float(np.median(seconds[count]))
    few, many = (float(np.median(values)) for values in seconds.values())
    figures["many / few"] = few / many
    for corpus in corpora.values():
        corpus.close()
    cold = {count: _read_unopened(count, given, rng) for count in (FEW_CLIPS, given.clips)}
    for count, time_each in cold.items():
        figures[f"windows per s of {count} clips not open"] = 1 / time_each
    return figures | {"many / few, not open": cold[FEW_CLIPS] / cold[given.clips]}


def _read_unopened(count: int, given: argparse.Namespace, rng: np.random.Generator) -> float:
    """Return the seconds per window of WINDOWS windows, each of a clip that is not open."""
    rounds = []
    for _ in range(max(1, WINDOWS // count)):
        with open_corpus(_archive_path(count, given)) as corpus:
            windows = _second_long_windows(corpus)
            clips = rng.permutation(count)[:WINDOWS].tolist()
            firsts = [windows.window_indices(clip)[0] for clip in clips]
            _read_windows(windows, firsts)  # skeletons and window plans stay
            corpus._writers.clear()
            corpus._motions.clear()
            rounds.append(_read_windows(windows, firsts))
    return float(np.median(rounds))


def _second_long_windows(corpus: Corpus) -> Windows:
    return corpus.windows(seconds=1, fps=FPS, stride=0.5, features=["rotation6d"])


def _read_windows(windows: Windows, order: list[int]) -> float:
    """Return the seconds per window."""
    started = time.process_time()
    for index in order:
        windows[index]
    return (time.process_time() - started) / len(order)


def verify_archive(given: argparse.Namespace) -> Figures:
    with open_corpus(_archive_path(given.clips, given)) as corpus:
        return {"faults": sum(fault is not None for _, fault in verify(corpus))}


PARTS: dict[str, Callable[[argparse.Namespace], Figures]] = {
    "encode": encode_clips,
    "pack": pack_clips,
    "resume": resume_packing,
    "open": open_archive,
    "ls": list_archive,
    "windows": window_archives,
    "verify": verify_archive,
}


def _measure(part: Callable[[argparse.Namespace], Figures], given: argparse.Namespace) -> Figures:
    clock = time.perf_counter()
    figures = part(given)
    used = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    own, children = (resource.getrusage(who).ru_maxrss * 1024 / 1e6 for who in used)
    return figures | {
        "s in all": _processor_seconds(),
        "s by the clock": time.perf_counter() - clock,
        "MB at most": own,
        "MB of a worker": children,
    }


def _processor_seconds() -> float:
    """Return the processor time of this process and of its children that ended."""
    used = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(found.ru_utime + found.ru_stime for found in map(resource.getrusage, used))


@cache
def _read_source(path: Path) -> Clip:
    clip = mocpack.read(path)
    assert isinstance(clip, Clip)
    return clip[1:]  # the first frame is a T-pose that the conversion added


def _clip_path(number: int, given: argparse.Namespace) -> Path:
    folder = BUILD / f"{given.max_error}-{given.effort}" / str(number // FOLDER_SIZE)
    return folder / f"{number}.mocp"


def _archive_path(count: int, given: argparse.Namespace) -> Path:
    return BUILD / f"{given.max_error}-{given.effort}-{count}.mocps"


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def _round(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
