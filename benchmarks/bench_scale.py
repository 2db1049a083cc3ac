"""Pack, open, list, window and verify an archive of many short clips.

    MOCPACK_DATA=… .venv/bin/python benchmarks/bench_scale.py --clips 2000

Clips have 60 to 300 frames at 30 frames per second. They are cut from `cmu-train` and played at 0.8
to 1.25 times their speed, by a seed, so no two are equal. Each is encoded within --max-error into a
.mocp file in build/scale, and `mocpack.corpora.pack` joins the files without encoding again. Every
figure comes from a process of its own, so that memory is that of one task. Random windows are
compared with an archive of the first 100 clips. Times are processor time.
"""

from __future__ import annotations

import argparse
import json
import resource
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
from mocpack.clip import Clip
from mocpack.corpora import open_corpus, pack
from mocpack.corpora.verifying import verify

BUILD = Path(__file__).parent.parent / "build" / "scale"
FPS, MIN_FRAMES, MAX_FRAMES = 30, 60, 300
SLOWEST, FASTEST = 0.8, 1.25
FEW_CLIPS, WINDOWS = 100, 2000
FOLDER_SIZE = 1000  # files per folder

Figures = dict[str, Any]


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__)
    parse.add_argument("--clips", type=int, default=2000)
    parse.add_argument("--max-error", default="1mm")
    parse.add_argument("--effort", default="fast")
    parse.add_argument("--part", choices=list(PARTS), help="run one part in this process")
    given = parse.parse_args()
    if given.part is not None:
        print(json.dumps(_measure(PARTS[given.part], given)))
        return
    BUILD.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        words = [sys.executable, __file__, "--part", part, "--clips", str(given.clips)]
        words += ["--max-error", given.max_error, "--effort", given.effort]
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
    """Encode the clips that are not there yet."""
    count = frames = 0
    for number in range(given.clips):
        path = _clip_path(number, given)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            clip = make_clip(number)
            path.write_bytes(mocpack.encode(clip, max_error=given.max_error, effort=given.effort))
            count, frames = count + 1, frames + clip.frame_count
    return {"encoded clips": count, "encoded frames": frames}


def pack_clips(given: argparse.Namespace) -> Figures:
    """Pack all clips, and the first hundred."""
    figures: Figures = {}
    for count in (FEW_CLIPS, given.clips):
        files = {f"{n // FOLDER_SIZE}/{n}": _clip_path(n, given) for n in range(count)}
        path = _archive_path(count, given)
        started = time.process_time()
        assert pack(files, path) == []
        figures |= {
            f"s for {count} clips": time.process_time() - started,
            f"bytes of {count} clips": path.stat().st_size,
            f"bytes of {count} files": sum(one.stat().st_size for one in files.values()),
        }
    return figures


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
    with open_corpus(_archive_path(given.clips, given)) as corpus:
        started = time.process_time()
        assert corpus.table.num_rows == given.clips
        read = time.process_time() - started
        found = corpus.select("seconds > 5 and skeleton like 'a%'")
        return {"s for the catalog": read, "s with --where": time.process_time() - started,
                "found": len(found)}  # fmt: skip


def window_archives(given: argparse.Namespace) -> Figures:
    """Read random windows of both archives in turns; then one of each clip, none of them open."""
    figures: Figures = {}
    corpora = {n: open_corpus(_archive_path(n, given)) for n in (FEW_CLIPS, given.clips)}
    sets, seconds = {}, {}
    for count, corpus in corpora.items():
        started = time.process_time()
        sets[count] = corpus.windows(seconds=1, fps=FPS, stride=0.5, features=["rotation6d"])
        figures[f"s to prepare {count} clips"] = time.process_time() - started
        seconds[count] = []
    rng = np.random.default_rng(0)
    for _ in range(10):
        for count, windows in sets.items():
            order = rng.integers(len(windows), size=WINDOWS // 10)
            started = time.process_time()
            for index in order:
                windows[int(index)]
            seconds[count].append((time.process_time() - started) / len(order))
    for count in sets:
        figures[f"windows per s of {count} clips"] = 1 / float(np.median(seconds[count]))
    few, many = (float(np.median(values)) for values in seconds.values())
    for corpus in corpora.values():
        corpus.close()
    with open_corpus(_archive_path(given.clips, given)) as corpus:
        windows = corpus.windows(seconds=1, fps=FPS, stride=0.5, features=["rotation6d"])
        firsts = [windows.window_indices(n)[0] for n in rng.permutation(given.clips).tolist()]
        started = time.process_time()
        for index in firsts:
            windows[index]
        cold = len(firsts) / (time.process_time() - started)
    return figures | {"many / few": few / many, "windows per s of clips not open": cold}


def verify_archive(given: argparse.Namespace) -> Figures:
    with open_corpus(_archive_path(given.clips, given)) as corpus:
        return {"faults": sum(fault is not None for _, fault in verify(corpus))}


PARTS: dict[str, Callable[[argparse.Namespace], Figures]] = {
    "encode": encode_clips,
    "pack": pack_clips,
    "open": open_archive,
    "ls": list_archive,
    "windows": window_archives,
    "verify": verify_archive,
}


def _measure(part: Callable[[argparse.Namespace], Figures], given: argparse.Namespace) -> Figures:
    started = time.process_time()
    figures = part(given)
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return figures | {
        "s in all": time.process_time() - started,
        "MB at most": largest / 1e6,
    }


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


def _round(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


if __name__ == "__main__":
    main()
