"""Compare archives with other stores: bytes, random windows, epochs, S3, concurrent readers.

    MOCPACK_DATA=… .venv-stores/bin/python benchmarks/bench_corpus.py [PART …]
    MOCPACK_DATA=… .venv-s3/bin/python benchmarks/bench_corpus.py s3

where PART is sizes, shares, soma, windows, opened, stream or readers; all seven without one.

`make test-stores` and `make test-s3` make the two environments. Packs the clips of `cmu` and
`cmu-train` of the folder that MOCPACK_DATA names (119 clips at 120 frames per second; without it
those of `cmu` that come with the repository) within 1 mm and 5 mm, by --effort, into build/corpus,
once. Peers hold the same motion as float32: rows of 4 numbers a joint and 3 of the root. Windows
are 2 s; rates are windows/s, by the clock and by processor time, one process, stores taking turns
in short rounds; a store's figure is that of its median round, so that a busy machine is the same to
all. Clips stay open, with their heads and the key poses they decoded last; no frame is kept, but
where a row says so. "again" opens the clip for every window. `opened` reads 240 frames of a clip
that is opened for them, as float64 arrays, against `numpy.load` of the whole clip's compressed
.npz."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import mocpack
from mocpack.bench.datasets import COMMITTED, collection
from mocpack.corpora import PackOptions, Stream, Windows, open_corpus, pack
from mocpack.corpora.reading import Corpus
from mocpack.model.clip import Clip
from mocpack.model.skeleton import Skeleton

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from soma import soma_clip

BUILD = Path(__file__).parent.parent / "build" / "corpus"
SECONDS, ROWS, STRIDE = 2, 240, 0.5
ROUNDS, A_ROUND = 9, 60
READS = 100_000
STRETCHES = (100_000, 480, 120)  # frames
SOMA_FRAMES = 600
CLIPS_PER_SKELETON = 22  # of all of CMU: 2,425 clips, 112 subjects

CLOCKS = {"the clock": time.perf_counter, "processor time": time.process_time}

Read = Callable[[int, int], Any]
"""Reads a window of the clip of a number, from a frame on."""


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__)
    parse.add_argument("parts", nargs="*", choices=[*PARTS, []], help=", ".join(PARTS))
    parse.add_argument("--effort", default="default")
    parse.add_argument("--jobs", type=int, default=1, help="processes that pack")
    parse.add_argument("--reads", type=int, default=READS, help="windows that `readers` reads")
    given = parse.parse_args()
    for part in given.parts or [name for name in PARTS if name != "s3"]:
        PARTS[part](given)


def archive(bound: str, given: argparse.Namespace) -> Path:
    """Return the archive of all clips within a bound, packed if it is not there."""
    BUILD.mkdir(parents=True, exist_ok=True)
    path = BUILD / f"{bound}-{given.effort}.mocps"
    if not path.exists():
        names = ("cmu", "cmu-train") if "MOCPACK_DATA" in os.environ else ("cmu",)
        files = {clip.stem: clip for name in names for clip in collection(name)}
        print(f"packing {len(files)} clips within {bound}, effort {given.effort}", flush=True)
        packing = PackOptions(target={"max_error": bound, "effort": given.effort})
        for one in pack(files, path, packing, workers=given.jobs):
            print("refused:", one.reason)
    return path


def rows_of(path: Path) -> list[np.ndarray]:
    """Return every clip of an archive as rows (T, 127) of float32."""
    found = []
    with open_corpus(path) as clips:
        for motion in clips:
            turns, places = motion.arrays(0, len(motion))
            parts = [turns.reshape(len(turns), -1), places.reshape(len(turns), -1)]
            found.append(np.concatenate(parts, 1).astype(np.float32))
    return found


def sizes(given: argparse.Namespace) -> None:
    """Bytes of archives against float32 arrays."""
    for bound in ("1mm", "5mm"):
        with open_corpus(archive(bound, given)) as clips:
            frames = int(clips.index.frame_counts.sum())
            single = sum(place.file_size for _, place in clips.index.places())
            numbers = 4 * sum(
                len(motion) * (4 * len(motion.header.skeleton) + 3) for motion in clips
            )
            print(
                f"{bound}, {given.effort}: {len(clips)} clips, {frames} frames, "
                f"{clips.index.skeleton_count} skeletons; float32 {numbers / 1e6:.2f} MB; "
                f"single files {single} bytes, 1/{numbers / single:.2f}; "
                f"archive {clips.file_size} bytes, 1/{numbers / clips.file_size:.2f}, "
                f"trailer {clips.trailer_size}"
            )
    whole = rows_of(archive("5mm", given))
    total = sum(rows.nbytes for rows in whole)
    for name, make in PEERS.items():
        if find_spec(NEEDED.get(name, "numpy")):
            make(whole)
            size = folder_size(BUILD / name)
            print(f"  {name}: {size / 1e6:.2f} MB, {size / total:.3f} of float32")


def shares(given: argparse.Namespace) -> None:
    """Bytes of an archive by part, over those of its clips as single files, by clips per skeleton.

    Either clips are cut into stretches of some frames, so that more of them share a skeleton; or
    each skeleton has as many clips as in all of CMU: the recordings of all subjects in turn, each
    at a speed of its own.
    """
    paths = [path for name in ("cmu", "cmu-train") for path in collection(name)]
    recordings = {path.stem: mocpack.read(path)[1:] for path in paths}  # without the T-pose
    for frames in STRETCHES:
        show_shares(f"cut-{frames}", cut_clips(recordings, frames))
    show_shares("like-cmu", share_skeletons(recordings))


def show_shares(name: str, clips: Iterable[tuple[str, Callable[[], Any]]]) -> None:
    folder = BUILD / name
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for clip_name, make_clip in clips:
        file = files[clip_name] = folder / f"{clip_name}.mocp"
        if not file.exists():
            file.write_bytes(mocpack.encode(make_clip(), max_error="5mm", effort="fast"))
    packed = folder.with_suffix(".mocps")
    pack(files, packed)
    with open_corpus(packed) as found:
        parts, lengths = found.bytes_by_part, found.index.frame_counts
        print(
            f"{name}: {len(found)} clips, {np.median(lengths):.0f} frames in the median and "
            f"{lengths.mean():.0f} in the mean, {found.index.skeleton_count} skeletons: "
            f"{parts['file'] / parts['single_files']:.3f} of the single files; bytes {parts}",
            flush=True,
        )


def cut_clips(
    recordings: Mapping[str, Clip], frames: int
) -> Iterator[tuple[str, Callable[[], Clip]]]:
    """Yield stretches of at most `frames` frames by name."""
    for name, clip in recordings.items():
        for start in range(0, max(1, clip.frame_count - frames // 2), frames):
            stop = min(clip.frame_count, start + frames)
            yield f"{name}-{start}", partial(clip.frames, start, stop)


def share_skeletons(recordings: Mapping[str, Clip]) -> Iterator[tuple[str, Callable[[], Clip]]]:
    """Yield CLIPS_PER_SKELETON clips of each skeleton, named as in CMU."""
    skeletons = list({name.split("_")[0]: c.skeleton for name, c in recordings.items()}.values())
    clips, rng = list(recordings.values()), np.random.default_rng(0)
    for number in range(CLIPS_PER_SKELETON * len(skeletons)):
        take, subject = divmod(number, len(skeletons))
        clip = clips[number % len(clips)]
        at = np.arange(0, clip.frame_count - 1, rng.uniform(0.8, 1.25))
        yield (
            f"{subject + 1:02d}_{take + 1:02d}",
            partial(retime, clip, at, skeletons[subject]),
        )


def retime(clip: Clip, at: np.ndarray, skeleton: Skeleton) -> Clip:
    return clip.poses_at(at, frame_time=clip.frame_time).replace(skeleton=skeleton)


def soma(given: argparse.Namespace) -> None:
    """Bytes and windows of SOMA's 77 joints, moved by CMU's recordings, and of these themselves."""
    recordings = {path.stem: mocpack.read(path)[1:] for path in collection("cmu", COMMITTED)}
    long = {name: clip for name, clip in recordings.items() if clip.frame_count >= SOMA_FRAMES}
    made = {
        "soma": {name: soma_clip(name, frames=SOMA_FRAMES) for name in long},
        "body": {name: clip[:SOMA_FRAMES] for name, clip in long.items()},
    }
    readers: dict[str, Read] = {}
    for name, clips in made.items():
        files = {}
        for clip_name, clip in clips.items():
            file = files[clip_name] = BUILD / f"{name}-{given.effort}" / f"{clip_name}.mocp"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(mocpack.encode(clip, max_error="1mm", effort=given.effort))
        path = BUILD / f"{name}-{given.effort}.mocps"
        pack(files, path)
        corpus = open_corpus(path)
        frames = SOMA_FRAMES * len(corpus)
        print(
            f"{name}: {len(corpus)} clips, {len(clip.skeleton)} joints, within 1 mm: "
            f"{corpus.bytes_by_part['single_files'] / frames:.2f} bytes per frame, at most "
            f"{max(corpus.table.column('max_error_mm').to_pylist()):.4f} mm"
        )
        readers[name] = ours(Windows(corpus, SECONDS, stride=1 / 120))
    counts = [SOMA_FRAMES] * len(long)
    show(measured(readers, counts, time.process_time), "windows per second, processor time")


def windows(given: argparse.Namespace) -> None:
    """Random windows per second, nothing decoded kept; and from the decoded cache."""
    path = archive("5mm", given)
    whole = rows_of(path)
    readers = {
        name: make(whole) for name, make in PEERS.items() if find_spec(NEEDED.get(name, "numpy"))
    }
    with (
        open_corpus(path) as coarse,
        open_corpus(archive("1mm", given)) as fine,
        open_corpus(path) as again,
    ):
        readers["mocpack 5 mm"] = ours(Windows(coarse, SECONDS, stride=1 / 120))
        readers["mocpack 1 mm"] = ours(Windows(fine, SECONDS, stride=1 / 120))
        readers["mocpack 5 mm, again"] = again(Windows(again, SECONDS, stride=1 / 120))
        cached = Windows(coarse, SECONDS, stride=1 / 120, cache="4GB")
        readers["mocpack, decoded cache"] = ours(cached)
        for clip in range(len(cached)) if len(cached) < 100 else range(0, len(cached), 100):
            cached[clip]
        frames = [len(rows) for rows in whole]
        for name, clock in CLOCKS.items():
            print(f"by {name}:")
            show(measured(readers, frames, clock), "windows per second")


def opened(given: argparse.Namespace) -> None:
    """Frames of a clip that is opened for them: by `corpus[name].frames`, and from an .npz."""
    readers, frames = {}, []
    for bound in ("5mm", "1mm"):
        found = open_corpus(archive(bound, given))
        frames = [int(count) for count in found.index.frame_counts]
        readers[f"mocpack {bound}"] = frames_reopened(found)
        if bound == "5mm":
            for kind in ("float64", "float32"):
                readers[f"npz of {kind}"] = compressed(found, kind)
    for name, clock in CLOCKS.items():
        print(f"by {name}:")
        show(measured(readers, frames, clock), "reads a second")


def frames_reopened(found: Corpus) -> Read:
    def read(clip: int, frame: int) -> Any:
        found._motions.clear()
        return found[found.names[clip]].frames(frame, frame + ROWS)

    return read


def compressed(found: Corpus, kind: str) -> Read:
    folder = BUILD / f"npz-{kind}"
    folder.mkdir(exist_ok=True)
    for clip, motion in enumerate(found):
        turns, places = (array.astype(kind) for array in motion.arrays(0, len(motion)))
        np.savez_compressed(folder / f"{clip}.npz", rotations=turns, translations=places)

    def read(clip: int, frame: int) -> Any:
        with np.load(folder / f"{clip}.npz") as arrays:
            turns, places = arrays["rotations"], arrays["translations"]
        return turns[frame : frame + ROWS], places[frame : frame + ROWS]

    return read


def ours(found: Windows) -> Read:
    """Return a reader of windows by clip and frame; the stride must be one frame."""
    out = np.empty((found.rows, found.width), np.float32)
    first = {clip: found.window_indices(place).start for place, clip in enumerate(found.clips)}
    return lambda clip, frame: found.read(first[clip] + frame, out)


def again(found: Windows) -> Read:
    """Return a reader that opens the clip again for each window."""
    read = ours(found)

    def opened(clip: int, frame: int) -> Any:
        found.corpus._motions.clear()
        return read(clip, frame)

    return opened


def measured(
    readers: dict[str, Read], frames: list[int], clock: Callable[[], float]
) -> dict[str, float]:
    """Return the rate of each by a clock: the median of rounds that take turns."""
    rng = np.random.default_rng(0)
    long = [clip for clip, count in enumerate(frames) if count >= ROWS]
    rates: dict[str, list[float]] = {name: [] for name in readers}
    for turn in range(ROUNDS + 1):
        clips = rng.choice(long, A_ROUND)
        picks = [(int(c), int(rng.integers(frames[c] - ROWS + 1))) for c in clips]
        for name, read in readers.items():
            # fast stores are read more often, to reduce noise
            often = 20 if name in ("memmap", "mocpack, decoded cache") else 1
            began = clock()
            for _ in range(often):
                for clip, frame in picks:
                    read(clip, frame)
            if turn:  # the first warms up
                rates[name].append(often * len(picks) / (clock() - began))
    return {name: float(np.median(found)) for name, found in rates.items()}


def show(rates: dict[str, float], unit: str) -> None:
    for name, rate in rates.items():
        ratios = ", ".join(
            f"{rate / rates[peer]:.2f} × {peer}" for peer in PEERS if peer in rates and peer != name
        )
        print(f"{name:24} {rate:9.0f} {unit}; {ratios}")


def stream(given: argparse.Namespace) -> None:
    """A whole epoch, windows every half second, in random order."""
    path = archive("5mm", given)
    whole = rows_of(path)
    rates: dict[str, list[float]] = {"mocpack 5 mm": [], "mocpack 1 mm": []}
    readers = {
        n: PEERS[n](whole) for n in ("hf arrow", "memmap") if find_spec(NEEDED.get(n, "numpy"))
    }
    with open_corpus(path) as coarse, open_corpus(archive("1mm", given)) as fine:
        for seed in range(3):
            for name, clips in (("mocpack 5 mm", coarse), ("mocpack 1 mm", fine)):
                found = Windows(clips, SECONDS, stride=STRIDE)
                began = time.process_time()
                count = sum(1 for _ in Stream(found, seed=seed))
                rates[name].append(count / (time.process_time() - began))
            for name, read in readers.items():
                began = time.process_time()
                for number in Stream(found, seed=seed).indices():
                    place, start, _ = found.locate(number)
                    read(found.clips[place], start)
                rates.setdefault(name, []).append(count / (time.process_time() - began))
    print(f"{count} windows an epoch")
    show({name: float(np.median(values)) for name, values in rates.items()}, "windows per second")


def readers(given: argparse.Namespace) -> None:
    """Read many windows in threads, forked and spawned processes, and compare the numbers."""
    path = archive("5mm", given)
    for cache in (None, "4GB", "8MB"):
        with open_corpus(path) as clips:
            found = Windows(clips, SECONDS, stride=STRIDE, cache=cache)
            expected = np.array(
                [checked(Windows(clips, SECONDS, stride=STRIDE), n) for n in range(len(found))]
            )
            each = max(1, given.reads // 24 // 3)
            with ThreadPoolExecutor(8) as pool:
                jobs = [(found, expected, each, seed) for seed in range(8)]
                told = {"8 threads": list(pool.map(lambda job: wrong(*job), jobs))}
            for method in ("fork", "spawn"):
                with multiprocessing.get_context(method).Pool(8) as pool:
                    told[f"8 {method}ed"] = pool.starmap(wrong, jobs)
        for name, counts in told.items():
            print(f"cache {cache}: {name}: {8 * each} reads, {sum(counts)} wrong or failed")


def checked(found: Windows, number: int) -> float:
    return float(found[number].astype(np.float64).sum())


def wrong(found: Windows, expected: np.ndarray, count: int, seed: int) -> int:
    """Return how many reads fail or return wrong numbers."""
    faults = 0
    for number in np.random.default_rng(seed).integers(len(found), size=count):
        try:
            # sums of the same float32 numbers; of a cache, rounded once
            faults += abs(checked(found, int(number)) - expected[number]) > 1e-2
        except Exception as error:
            print(type(error).__name__, error)
            faults += 1
    return int(faults)


def s3(given: argparse.Namespace) -> None:
    """Count requests and bytes per window from an S3 server, on the server and here."""
    import s3fs

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Path(__file__).parent.parent / ".venv-moto" / "bin" / "moto_server"
    log = BUILD / "requests.log"
    path = archive("1mm", given)
    with log.open("wb") as stream_:
        words = [str(server), "-H", "127.0.0.1", "-p", str(port)]
        process = subprocess.Popen(words, stdout=stream_, stderr=stream_)
    try:
        while b"Running on" not in log.read_bytes():
            time.sleep(0.1)
        endpoint = {"endpoint_url": f"http://127.0.0.1:{port}"}
        options = {"key": "test", "secret": "test", "client_kwargs": endpoint}
        system = s3fs.S3FileSystem(**options)
        system.mkdir("data")
        system.put_file(str(path), "data/plain.mocps")
        ask_windows("plain", path, options, log)
    finally:
        process.terminate()
        process.wait()


def ask_windows(name: str, path: Path, options: dict[str, Any], log: Path) -> None:
    import mocpack.corpora.remote as remote

    with open_corpus(path) as local:
        remote.TAIL_BYTES = local.trailer_size  # nothing of the clips comes along with the trailer
    url = f"s3://data/{name}.mocps"
    for kept, count in ((False, 300), (True, 1000)):
        with mocpack.open_corpus(url, storage_options=options) as clips:
            trailer = clips.request_totals
            found = Windows(clips, SECONDS, stride=1 / 120)
            before, asked = clips.request_totals, gets(log)
            for number in np.random.default_rng(1).integers(len(found), size=count):
                if not kept:
                    clips._files._cache._reset()  # as if every window were the first
                found[int(number)]
            requests, fetched = np.subtract(clips.request_totals, before) / count
            at_server = (gets(log) - asked) / count
        print(
            f"{name}, {'everything' if kept else 'nothing'} kept: trailer {trailer[0]} request of "
            f"{trailer[1]} bytes; {count} windows: {requests:.2f} requests ({at_server:.2f} at the "
            f"server) and {fetched:.0f} bytes a window"
        )


def gets(log: Path) -> int:
    return len(re.findall(r"GET /data/", log.read_text()))


def folder_size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(one.stat().st_size for one in path.rglob("*") if one.is_file())


def starts_of(whole: list[np.ndarray]) -> list[int]:
    return [0, *np.cumsum([len(rows) for rows in whole]).tolist()]


def memmap(whole: list[np.ndarray]) -> Read:
    """One array of all frames, mapped into memory."""
    path = BUILD / "memmap"
    np.concatenate(whole).tofile(path)
    rows = np.memmap(path, np.float32, "r").reshape(-1, whole[0].shape[1])
    starts, out = starts_of(whole), np.empty((ROWS, rows.shape[1]), np.float32)

    def read(clip: int, frame: int) -> Any:
        at = starts[clip] + frame
        np.copyto(out, rows[at : at + ROWS])
        return out

    return read


def table_of(whole: list[np.ndarray]) -> Any:
    """Return all frames as an Arrow table with one list of fixed length per row."""
    import pyarrow as pa

    rows = np.concatenate(whole)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
    return pa.table({"row": lists})


def as_rows(column: Any, width: int) -> np.ndarray:
    flat = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return np.array(flat, np.float32).reshape(-1, width)


def lance_take(whole: list[np.ndarray]) -> Read:
    """Lance with one row per frame, read by `take`."""
    import lance

    path = BUILD / "lance"
    if not path.exists():
        lance.write_dataset(table_of(whole), str(path))
    data, starts, width = lance.dataset(str(path)), starts_of(whole), whole[0].shape[1]

    def read(clip: int, frame: int) -> np.ndarray:
        at = starts[clip] + frame
        return as_rows(data.take(list(range(at, at + ROWS))).column("row"), width)

    return read


def hf_arrow(whole: list[np.ndarray]) -> Read:
    """Hugging Face datasets, an Arrow file mapped into memory, by slice."""
    import datasets

    path = BUILD / "hf arrow"
    datasets.disable_progress_bars()
    if not path.exists():
        datasets.Dataset(table_of(whole)).save_to_disk(str(path))
    data = datasets.load_from_disk(str(path)).with_format("numpy")
    starts = starts_of(whole)

    def read(clip: int, frame: int) -> np.ndarray:
        at = starts[clip] + frame
        return data[at : at + ROWS]["row"]

    return read


def zarr_shards(whole: list[np.ndarray]) -> Read:
    """zarr 3, chunks of 240 frames in shards, blosc-zstd."""
    import zarr

    path, rows = BUILD / "zarr", np.concatenate(whole)
    if not path.exists():
        chunk = (ROWS, rows.shape[1])
        codec = zarr.codecs.BloscCodec(cname="zstd", clevel=5, shuffle="bitshuffle", typesize=4)
        made = zarr.create_array(
            path,
            shape=rows.shape,
            dtype="float32",
            chunks=chunk,
            shards=(64 * ROWS, rows.shape[1]),
            compressors=codec,
        )
        made[:] = rows
    data, starts = zarr.open_array(path, mode="r"), starts_of(whole)

    def read(clip: int, frame: int) -> np.ndarray:
        at = starts[clip] + frame
        return np.asarray(data[at : at + ROWS])

    return read


PEERS: dict[str, Callable[[list[np.ndarray]], Read]] = {
    "memmap": memmap,
    "hf arrow": hf_arrow,
    "lance": lance_take,
    "zarr": zarr_shards,
}
NEEDED = {"hf arrow": "datasets", "lance": "lance", "zarr": "zarr"}
PARTS = {
    "sizes": sizes,
    "shares": shares,
    "soma": soma,
    "windows": windows,
    "opened": opened,
    "stream": stream,
    "readers": readers,
    "s3": s3,
}


if __name__ == "__main__":
    os.environ.setdefault("RUST_LOG", "error")
    main()
