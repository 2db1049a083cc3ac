"""Tables 1 and 2 and figures 5 to 7 of Chattopadhyay, Bhandarkar and Li (2007)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from mocpack.bench.papers.measuring import report_progress
from mocpack.bench.papers.verdicts import Results, Timing
from mocpack.bench.runner.timing import fastest
from mocpack.papers.chattopadhyay.codec.bap_index import BapIndex
from mocpack.papers.chattopadhyay.codec.mpeg4_bap import Mpeg4Bap
from mocpack.papers.chattopadhyay.tables.figures import figure_lines, surface, surface_rows
from mocpack.papers.chattopadhyay.tables.lines import choose_sources, table_lines
from mocpack.papers.chattopadhyay.tables.motions import GIGACYCLES, MOTIONS, Source, find_sources
from mocpack.papers.chattopadhyay.tables.results import make_all, to_row

CLIPS = ("asfamc/02_01", "asfamc/02_07", *(f"cmu/{motion.clip}" for motion in MOTIONS))
REQUIRED: tuple[str, ...] = ()
JOG_GRID, COARSE_GRID = (1, 5), (3, 10)  # of FDF and n_d: figures 5 and 6; figure 7
TIMINGS = 25
PAGE_NOTES = (
    "Clips: jog, run-leap, stride, walk, jump, basketball, forward-jump, dance, violin, sword play "
    "of CMU, by frame count.",
    "AMC files (walk, sword play) have the paper's 62 columns, of which 60 move and are coded. BVH "
    "files have 74 moving columns, the violin 62. Formulas give sizes for 62 columns, with "
    "segments fitted to the printed sizes; real sizes are payloads.",
    "1 KB is 1024 bytes. DEF is in CMU units.",
    "Sparsing as printed freezes the root's position. *Ours now* of the sparsed DEF does not "
    "(`sparse_root=false`).",
)


def reproduce(clips: Mapping[str, Path], seeds: int) -> Results:
    """Measure everything that the paper prints on the clips that are present; nothing is random."""
    made = make_all(find_sources(clips))
    chosen = choose_sources(made)
    lines = table_lines(chosen)
    sources = {one.source.motion.name: one.source for one in made if one.source.form == "bvh"}
    surfaces = [
        surface(name, source.clip(), every=JOG_GRID if name == "jog" else COARSE_GRID)
        for name, source in sources.items()
    ]
    jog = next((one for one in surfaces if one.name == "jog"), None)
    if jog is not None:
        lines += figure_lines(jog, [one for one in surfaces if one is not jog])
    report_progress("decoding times")
    timings = [timing for one in chosen for timing in decoder_timings(one.source)]
    points = [row for one in surfaces for row in surface_rows(one)]
    return Results(lines, timings, {"motions": [to_row(m) for m in made], "surfaces": points})


def decoder_timings(source: Source) -> list[Timing]:
    """Time decoding of lossless MPEG-4 and of table lookups, which the paper calls free."""
    clip, index, lossless = source.clip(), BapIndex(), Mpeg4Bap(lossless=True)
    tables, coded = index.encode(clip), lossless.encode(clip)

    def read(at: int, size: int) -> bytes:
        return coded[at : at + size]

    mpeg4 = _milliseconds(lambda: lossless.decode_matrix(read, clip.header))
    look_up = _milliseconds(lambda: index.decode_columns(tables, clip.header))
    printed, name = GIGACYCLES[source.motion.name], source.title
    return [
        Timing("Table 2", "decode MPEG-4: Gcycles, ms ours", name, printed,
               f"{mpeg4:.2f}"),
        Timing("Table 2", "decode indexed: Gcycles, ms ours", name, "0", f"{look_up:.3f}"),
    ]  # fmt: skip


def _milliseconds(decode: Callable[[], object]) -> float:
    """Return milliseconds of CPU time of this thread."""
    return 1000 * fastest(decode, TIMINGS, clock=time.thread_time)
