"""Tables 1 and 2 of Chattopadhyay, Bhandarkar and Li (2007), made again beside the printed figures.

The paper's clips are those of the CMU database with its frame counts: recorded at 120 Hz, played
at 33. It counts kilobytes of 1024 bytes, and of a sparse matrix only the indices that are left.
Where the ASF/AMC of a clip is at hand its columns are the paper's own 62; the BVH has 74 that move.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.progress import track

from mocpack import _api
from mocpack.bench.datasets import find_clips_of
from mocpack.bench.papers import energy
from mocpack.bench.report.markdown import markdown_table
from mocpack.bench.runner.timing import fastest
from mocpack.clip import Clip
from mocpack.codecs.bap import grid_search
from mocpack.codecs.bap.bap_index import BapIndex, BapSparse
from mocpack.codecs.bap.columns import LENGTH_UNIT
from mocpack.codecs.bap.mpeg4_bap import Mpeg4Bap
from mocpack.codecs.bap.segments import paper_size, size_model
from mocpack.metrics.papers import displacement_error
from mocpack.metrics.position import distances
from mocpack.rate import raw_size
from mocpack.units import parse_bandwidth
from mocpack.workers import worker_pool

KB = 1024
BANDWIDTHS = ("128kbps", "1Mbps", "4Mbps")
LITERAL = BapIndex(variant="literal")
THINNED = BapSparse(variant="literal", sparse_fixed=True)  # Table 2's sizes leave no other reading
TIMINGS = 25
FORMS = {"asfamc": "amc", "cmu": "bvh"}
RULES: dict[str, Callable[[grid_search.Outcome], float]] = {
    "least DEF": lambda outcome: outcome[1],
    "least T·DEF": lambda outcome: outcome[0] * outcome[1],
}


@dataclass(frozen=True)
class Motion:
    """A motion of the paper's tables, with what they print of it.

    Attributes
    ----------
    name, clip : str
        The paper's name and ours.
    segments : int
        Into which the sizes of Table 1 show that the clip was cut; one column was kept.
    mpeg4_kb, indexed_kb, sparsed_kb : float
        Table 1, columns 3 to 5.
    mpeg4_mj, sparsed_mj : tuple of float
        Table 1, columns 6, 9, 12 and 7, 10, 13: at 128 Kbps, 1 and 4 Mbps.
    fraction : float
        Table 2: MPEG-4 of original.
    tuned_kb, tuned_def, thinned_kb, thinned_def : float
        Table 2, its last four columns.
    """

    name: str
    clip: str
    frames: int
    segments: int
    mpeg4_kb: float
    indexed_kb: float
    sparsed_kb: float
    mpeg4_mj: tuple[float, float, float]
    sparsed_mj: tuple[float, float, float]
    fraction: float
    tuned_kb: float
    tuned_def: float
    thinned_kb: float
    thinned_def: float


# fmt: off
MOTIONS = (
    Motion("jog", "16_46", 136, 2, 28, 10.9, 6.8, (2913, 1002, 798), (1259, 796, 746),
           0.85, 27.74, 1.19, 18.99, 1.49),
    Motion("run-leap", "49_04", 251, 2, 50, 18.2, 12.2, (5246, 1834, 1468), (2298, 1465, 1376),
           0.82, 47.5, 0.29, 28.55, 0.45),
    Motion("stride", "08_05", 298, 2, 59, 21.19, 12.8, (6200, 2174, 1742), (2598, 1723, 1630),
           0.82, 47.29, 1.08, 29.67, 1.97),
    Motion("walk", "02_01", 343, 2, 73, 24, 14.6, (7534, 2551, 2018), (2977, 1982, 1875),
           0.88, 69.13, 0.15, 45.91, 0.17),
    Motion("jump", "13_39", 351, 2, 72, 24.55, 16.1, (7499, 2585, 2058), (3138, 2040, 1922),
           0.85, 62.47, 0.14, 41.95, 0.25),
    Motion("basketball", "06_04", 396, 2, 84, 27.41, 18.0, (8676, 2943, 2329), (3528, 2299, 2168),
           0.88, 79.48, 0.23, 53.84, 0.42),
    Motion("forward-jump", "13_11", 415, 2, 86, 28.61, 18.9, (8934, 3064, 2436), (3702, 2410, 2272),
           0.86, 85.22, 0.33, 55.71, 0.34),
    Motion("dance", "05_03", 434, 2, 92, 29.82, 18.1, (9504, 3225, 2552), (3742, 2505, 2372),
           0.87, 86.9, 11.16, 58.93, 14.09),
    Motion("play_violin", "79_17", 804, 2, 162, 53.31, 34.8, (16948, 5892, 4707),
           (7030, 4652, 4397), 0.83, 159.17, 0.78, 104.81, 1.23),
    Motion("sword play", "02_07", 2251, 4, 465, 147, 100.9, (48344, 16607, 13207),
           (19947, 13058, 12320), 0.85, 450.93, 1.45, 315.58, 2.49),
)
# fmt: on


@dataclass(frozen=True)
class Source:
    """A motion, which form of the database its numbers are from, and their file."""

    motion: Motion
    form: str
    path: Path

    @property
    def title(self) -> str:
        return f"{self.motion.name} ({self.form})"

    def clip(self) -> Clip:
        """Read the frames of the paper; the BVH conversion added a pose before them."""
        clip = _api.read(self.path)
        assert isinstance(clip, Clip)
        return clip.frames(clip.frame_count - self.motion.frames, clip.frame_count)


@dataclass(frozen=True)
class Coded:
    """What a codec made of a clip: bytes as the paper counts and as they are, and DEF."""

    counted: int
    real: int
    error: float


def reproduce(data: Path | None, out: Path) -> None:
    """Write and print both tables for every clip at hand."""
    sources = find_sources(data)
    tasks = sorted(sources, key=lambda s: -s.motion.frames)
    with worker_pool(0) as pool:
        console = Console(stderr=True)
        found = track(pool.map(_rows, tasks), "searching", len(tasks), console=console)
        rows = dict(zip((task.title for task in tasks), found, strict=True))
    tables = [[rows[source.title][k] for source in sources] for k in range(3)]
    tables.append([_decoder_row(source) for source in sources])
    for (name, heading), lines in zip(TABLES.items(), tables, strict=True):
        text = markdown_table(heading, lines) + "\n"
        (out / f"paper-001-{name}.md").write_text(text, encoding="utf-8")
        print(f"{name}\n\n{text}")


def find_sources(data: Path | None = None) -> list[Source]:
    """Return the motions at hand, in each form that they are there in."""
    names = {
        f"{folder}/{motion.clip}": (motion, form)
        for motion in MOTIONS
        for folder, form in FORMS.items()
    }
    found = find_clips_of([*names], data)
    return [Source(*names[name], path) for name, path in found.items()]


def _rows(source: Source) -> tuple[list[str], list[str], list[str]]:
    clip = source.clip()
    mpeg4 = len(Mpeg4Bap(lossless=True).encode(clip))
    rows = -(-(clip.frame_count - 1) // source.motion.segments)
    sparsed = code(replace(THINNED, FDF=1, n_d=rows), clip)
    return (
        _sizes_row(source, clip, mpeg4, sparsed),
        [source.title, *_energies(source.motion, clip.frame_count, mpeg4, sparsed.counted)],
        _table_2(source, clip, mpeg4),
    )


TABLE_1 = (
    "motion", "s", "MPEG-4 KB", "paper", "indexed KB", "all columns", "paper",
    "sparsed KB", "paper", "as a file", "indexed DEF", "sparsed DEF", "companded DEF",
)  # fmt: skip
ENERGIES = (
    "motion",
    *(f"{b} {what}" for b in BANDWIDTHS for what in ("MPEG-4 mJ", "sparsed mJ", "ratio, paper's")),
)


def _sizes_row(source: Source, clip: Clip, mpeg4: int, sparsed: Coded) -> list[str]:
    """Least sizes: one column kept, few segments."""
    motion = source.motion
    rows = -(-(clip.frame_count - 1) // motion.segments)
    indexed = code(replace(LITERAL, FDF=1, n_d=rows), clip)
    ours = code(BapIndex(FDF=1, n_d=rows), clip)
    return [
        source.title,
        f"{clip.frame_count / energy.PAPER_FRAME_RATE:.1f}",
        _kb(mpeg4),
        f"{motion.mpeg4_kb:g}",
        _kb(indexed.counted),
        _kb(_with_still_columns(replace(LITERAL, FDF=1, n_d=rows), clip)),
        f"{motion.indexed_kb:g}",
        _kb(sparsed.counted),
        f"{motion.sparsed_kb:g}",
        _kb(sparsed.real),
        *(f"{coded.error:.2f}" for coded in (indexed, sparsed, ours)),
    ]


def _with_still_columns(codec: BapIndex, clip: Clip) -> int:
    """Return the size with an index for every channel of the source, as the paper has."""
    columns = clip.skeleton.channel_count
    layout = codec.row_layout(columns)
    return paper_size(size_model(clip.frame_count, layout), clip.frame_count, layout)


def _energies(motion: Motion, frames: int, mpeg4: int, sparsed: int) -> Iterator[str]:
    seconds = frames / energy.PAPER_FRAME_RATE
    for k, text in enumerate(BANDWIDTHS):
        bandwidth = parse_bandwidth(text, kilo=energy.PAPER_KILO)
        a, b = (
            1000 * energy.reception(size, seconds, bandwidth).joules for size in (mpeg4, sparsed)
        )
        yield f"{a:.0f}"
        yield f"{b:.0f}"
        yield f"{100 * b / a:.1f} %, {100 * motion.sparsed_mj[k] / motion.mpeg4_mj[k]:.1f} %"


TABLE_2 = (
    "motion", "frames", "columns", "original KB", "MPEG-4 KB", "f", "paper", "FDF", "n_d",
    "indexed KB", "paper", "DEF", "paper", "sparsed KB", "paper", "as a file", "DEF", "paper",
    "indexed columns alone KB", "DEF", "indexed, closed loop, DEF", "companded, DEF",
    "least T·DEF at", "tried",
)  # fmt: skip


def _table_2(source: Source, clip: Clip, mpeg4: int) -> list[str]:
    """The least DEF of indexing in the size of lossless MPEG-4, and sparsing from there."""
    motion, limit = source.motion, mpeg4
    tried: dict[grid_search.Point, grid_search.Outcome] = {}
    best = search(clip, LITERAL, limit, RULES["least DEF"], tried)
    evaluations = len(tried)
    product = search(clip, LITERAL, limit, RULES["least T·DEF"], tried)
    fixed, rows = best
    indexed = code(replace(LITERAL, FDF=fixed, n_d=rows), clip)
    sparsed = code(replace(THINNED, FDF=fixed, n_d=rows), clip)
    partly = code(replace(THINNED, FDF=fixed, n_d=rows, sparse_fixed=False), clip)
    closed, companded = (
        code(BapIndex(FDF=fixed, n_d=rows, variant=v), clip) for v in ("closed_loop", "companded")
    )
    original = raw_size(clip)
    return [
        source.title,
        f"{clip.frame_count}",
        f"{original // (4 * clip.frame_count)}",
        _kb(original),
        _kb(mpeg4),
        f"{100 * mpeg4 / original:.0f} %",
        f"{100 * motion.fraction:.0f} %",
        *map(str, best),
        _kb(indexed.counted),
        f"{motion.tuned_kb:g}",
        f"{indexed.error:.2f}",
        f"{motion.tuned_def:g}",
        _kb(sparsed.counted),
        f"{motion.thinned_kb:g}",
        _kb(sparsed.real),
        f"{sparsed.error:.2f}",
        f"{motion.thinned_def:g}",
        _kb(partly.counted),
        f"{partly.error:.2f}",
        f"{closed.error:.3f}",
        f"{companded.error:.3f}",
        f"{product[0]}, {product[1]}",
        f"{evaluations}",
    ]


def code(codec: BapIndex, clip: Clip) -> Coded:
    """Encode, decode, and measure DEF in units of the CMU skeletons."""
    payload = codec.encode(clip)
    moved = distances(clip.positions(), codec.decode(payload, clip.header).positions())
    counted = codec.paper_size(payload, clip.header)
    return Coded(counted, len(payload), displacement_error(moved) / LENGTH_UNIT)


def search(
    clip: Clip,
    codec: BapIndex,
    limit: float,
    merit: Callable[[grid_search.Outcome], float],
    tried: dict[grid_search.Point, grid_search.Outcome],
    *,
    exhaustive: bool = False,
    known: Mapping[grid_search.Point, grid_search.Outcome] | None = None,
) -> grid_search.Point:
    """Return FDF and n_d of least merit among payloads up to `limit` bytes; fills `tried`.

    What `known` has need not be coded again.
    """

    def value(outcome: grid_search.Outcome) -> float:
        return merit(outcome) if outcome[0] <= limit else float("inf")

    fixed, rows, least = codec.search_grid(clip)
    rounds = grid_search.from_the_limit(fixed, rows, least, value, limit)
    if exhaustive:
        rounds = grid_search.every_point(fixed, rows)
    points: Sequence[grid_search.Point] | None = next(rounds, None)
    while points:
        for f, n in points:
            if known and (f, n) in known:
                tried[f, n] = known[f, n]
            if (f, n) not in tried:
                coded = code(replace(codec, FDF=f, n_d=n), clip)
                tried[f, n] = coded.real, coded.error
        try:
            points = rounds.send([tried[point] for point in points])
        except StopIteration:
            break
    return min(tried, key=lambda point: (value(tried[point]), point))


DECODERS = (
    "motion", "bap-index", "bap-sparse", "mpeg4-bap", "mpeg4-bap lossless",
)  # fmt: skip


TABLES = {
    "table-1": TABLE_1,
    "table-1-energy": ENERGIES,
    "table-2": TABLE_2,
    "decoding-ns-a-frame": DECODERS,
}


def _decoder_row(source: Source) -> list[str]:
    """Time from payload to the matrix of parameters: each codec's own work, and nothing else."""
    clip = source.clip()
    times = [
        *(_table_decoder_ns(codec, clip) for codec in (BapIndex(), BapSparse())),
        *(_arithmetic_decoder_ns(codec, clip) for codec in (Mpeg4Bap(), Mpeg4Bap(lossless=True))),
    ]
    return [source.title, *(f"{ns:.0f}" for ns in times)]


def _table_decoder_ns(codec: BapIndex, clip: Clip) -> float:
    payload = codec.encode(clip)
    return _decoder_ns(lambda: codec.decode_columns(payload, clip.header), clip)


def _arithmetic_decoder_ns(codec: Mpeg4Bap, clip: Clip) -> float:
    payload = codec.encode(clip)

    def read(at: int, size: int) -> bytes:
        return payload[at : at + size]

    return _decoder_ns(lambda: codec.decode_matrix(read, clip.header), clip)


def _decoder_ns(decode: Callable[[], object], clip: Clip) -> float:
    """Return nanoseconds a frame of this thread; what else is running does not count."""
    return 1e9 * fastest(decode, TIMINGS, clock=time.thread_time) / clip.frame_count


def _kb(size: float) -> str:
    return f"{size / KB:.2f}"


if __name__ == "__main__":
    folder = Path("report")
    folder.mkdir(exist_ok=True)
    reproduce(None, folder)
