"""Tables 1 and 2 and figures 5 to 7 of Chattopadhyay, Bhandarkar and Li (2007)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mocpack.bench.papers.verdicts import Line, Timing, write_results
from mocpack.bench.report.markdown import markdown_table
from mocpack.bench.runner.timing import fastest
from mocpack.clip import Clip
from mocpack.papers.chattopadhyay import energy
from mocpack.papers.chattopadhyay.codec.bap_index import BapIndex, BapSparse
from mocpack.papers.chattopadhyay.codec.mpeg4_bap import Mpeg4Bap
from mocpack.papers.chattopadhyay.codec.segments import paper_size, size_model
from mocpack.papers.chattopadhyay.tables import energy_lines as bap_energy
from mocpack.papers.chattopadhyay.tables import figures as bap_figures
from mocpack.papers.chattopadhyay.tables.coding import KB
from mocpack.papers.chattopadhyay.tables.lines import (
    BANDWIDTHS,
    choose_sources,
    energies,
    table_lines,
)
from mocpack.papers.chattopadhyay.tables.motions import GIGACYCLES, Source, find_sources
from mocpack.papers.chattopadhyay.tables.results import LITERAL, READINGS, Made, make_all

COARSE = (3, 10)  # figure 7 has every third FDF, every tenth n_d
TIMINGS = 25
PAGE_NOTES = (
    "Clips: the CMU clips with the paper's frame counts, recorded at 120 Hz, played at 33.",
    "Columns: AMC files have the paper's 62 (walk, sword play); BVH files have 74 that move.",
    "1 KB is 1024 bytes. The paper counts only the indices that sparsing leaves, not their places.",
    "DEF is in CMU skeleton units. Segments of Table 1 are fitted to its printed sizes.",
)


def reproduce(data: Path | None, out: Path) -> None:
    """Print and write the tables, draw the figures, and write one line per printed number."""
    sources = find_sources(data)
    made = make_all(sources)
    decoding = {source.title: _decoder_times(source) for source in sources}
    clips = {source.motion.name: source for source in sources if source.form == "bvh"}
    compared = [
        one
        for name, source in clips.items()
        for one in bap_energy.compare_codecs(name, source.clip())
    ]
    tables = {
        "table-1": markdown_table(TABLE_1, map(_sizes_row, made)),
        "table-1-shares": shares_table(made),
        "table-1-energy": markdown_table(ENERGIES, map(_energies_row, made)),
        "table-2": markdown_table(TABLE_2, map(_table_2_row, made)),
        "decoding-ns-a-frame": markdown_table(DECODERS, map(_decoder_row, decoding.items())),
        "energy-at-equal-error": bap_energy.energy_table(compared),
    }
    lines = table_lines(made)
    if "jog" in clips:
        lines += _figures(clips, out)
    for name, text in tables.items():
        (out / f"paper-001-{name}.md").write_text(text + "\n", encoding="utf-8")
        print(f"{name}\n\n{text}\n")
    write_results(lines, _decoder_timings(choose_sources(made), decoding), out)


def _figures(clips: Mapping[str, Source], out: Path) -> list[Line]:
    jog = bap_figures.surface("jog", clips["jog"].clip())
    others = [
        bap_figures.surface(name, source.clip(), every=COARSE)
        for name, source in clips.items()
        if name != "jog"
    ]
    bap_figures.write_figures(jog, others, out)
    print(bap_figures.tables(jog, others))
    return bap_figures.figure_lines(jog, others)


TABLE_1 = (
    "motion", "s", "MPEG-4 KB", "paper", "indexed KB", "all columns", "paper",
    "sparsed KB", "paper", "as a file", "indexed DEF", "sparsed DEF", "companded DEF",
)  # fmt: skip


ENERGIES = (
    "motion",
    *(f"{b} {what}" for b in BANDWIDTHS for what in ("MPEG-4 mJ", "sparsed mJ", "ratio, paper's")),
)


def _sizes_row(made: Made) -> list[str]:
    """Least sizes: one column kept, few segments."""
    motion = made.source.motion
    codec = replace(LITERAL, FDF=1, n_d=motion.rows)
    return [
        made.source.title,
        f"{motion.frames / energy.PAPER_FRAME_RATE:.1f}",
        _kb(made.mpeg4),
        f"{motion.mpeg4_kb:g}",
        _kb(made.indexed.counted),
        _kb(_with_still_columns(codec, made.source.clip())),
        f"{motion.indexed_kb:g}",
        _kb(made.sparsed.counted),
        f"{motion.sparsed_kb:g}",
        _kb(made.sparsed.real),
        *(f"{coded.error:.2f}" for coded in (made.indexed, made.sparsed, made.companded)),
    ]


def shares_table(made: Sequence[Made]) -> str:
    """Return the share of indices that is left, the paper's and by each reading."""
    rows = [
        [one.source.title, f"{100 * one.source.motion.share:.0f}"]
        + [f"{100 * one.shares[reading]:.0f}" for reading in READINGS]
        + [f"{one.strayed[reading]:.3g}" for reading in READINGS]
        for one in made
    ]
    bvh = [one for one in made if one.source.form == "bvh"]
    if len(bvh) > 1:
        theirs = np.array([one.source.motion.share for one in bvh])
        ours = {r: np.array([one.shares[r] for one in bvh]) for r in READINGS}
        means = [f"{100 * values.mean():.1f}" for values in (theirs, *ours.values())]
        rows.append([f"mean of {len(bvh)} (bvh)", *means, "", ""])
        likeness = [f"{np.corrcoef(theirs, values)[0, 1]:+.2f}" for values in ours.values()]
        rows.append(["correlation with the paper's", "1", *likeness, "", ""])
    head = ["motion", "paper, %:", "ours, the text, %:", "ours, figure 4, %:"]
    head += ["DEF, the text:", "DEF, figure 4:"]
    return f"{markdown_table(head, rows)}\n\nThe difference is unexplained.\n"


def _with_still_columns(codec: BapIndex, clip: Clip) -> int:
    """Return the size with an index for every channel of the source, as the paper has."""
    columns = clip.skeleton.channel_count
    layout = codec.row_layout(columns)
    return paper_size(size_model(clip.frame_count, layout), clip.frame_count, layout)


def _energies_row(made: Made) -> list[str]:
    motion = made.source.motion
    cells = [made.source.title]
    for k, (a, b) in enumerate(energies(made.mpeg4, made.sparsed.counted, motion)):
        printed = motion.sparsed_mj[k] / motion.mpeg4_mj[k]
        cells += [f"{a:.0f}", f"{b:.0f}", f"{100 * b / a:.1f} %, {100 * printed:.1f} %"]
    return cells


TABLE_2 = (
    "motion", "frames", "columns", "original KB", "MPEG-4 KB", "f", "paper", "FDF", "n_d",
    "indexed KB", "paper", "DEF", "paper", "sparsed KB", "paper", "as a file", "DEF", "paper",
    "indexed columns alone KB", "DEF", "indexed, closed loop, DEF", "companded, DEF",
    "least T·DEF at", "tried",
)  # fmt: skip


def _table_2_row(made: Made) -> list[str]:
    """The least DEF of indexing in the size of lossless MPEG-4, and sparsing from there."""
    motion = made.source.motion
    return [
        made.source.title,
        f"{motion.frames}",
        f"{made.columns}",
        _kb(made.original),
        _kb(made.mpeg4),
        f"{100 * made.mpeg4 / made.original:.0f} %",
        f"{100 * motion.fraction:.0f} %",
        *map(str, made.best),
        _kb(made.tuned.counted),
        f"{motion.tuned_kb:g}",
        f"{made.tuned.error:.2f}",
        f"{motion.tuned_def:g}",
        _kb(made.thinned.counted),
        f"{motion.thinned_kb:g}",
        _kb(made.thinned.real),
        f"{made.thinned.error:.2f}",
        f"{motion.thinned_def:g}",
        _kb(made.partly.counted),
        f"{made.partly.error:.2f}",
        f"{made.closed.error:.3f}",
        f"{made.tuned_companded.error:.3f}",
        f"{made.product[0]}, {made.product[1]}",
        f"{made.evaluations}",
    ]


DECODERS = (
    "motion", "bap-index", "bap-sparse", "mpeg4-bap", "mpeg4-bap lossless",
)  # fmt: skip


def _decoder_times(source: Source) -> list[float]:
    """Time from payload to the matrix of parameters: each codec's own work, and nothing else."""
    clip = source.clip()
    return [
        *(_table_decoder_ns(codec, clip) for codec in (BapIndex(), BapSparse())),
        *(_arithmetic_decoder_ns(codec, clip) for codec in (Mpeg4Bap(), Mpeg4Bap(lossless=True))),
    ]


def _decoder_row(times: tuple[str, list[float]]) -> list[str]:
    title, found = times
    return [title, *(f"{ns:.0f}" for ns in found)]


def _decoder_timings(chosen: Sequence[Made], decoding: Mapping[str, list[float]]) -> list[Timing]:
    """Return the decoding times of Table 2: lossless MPEG-4, and look-ups, which it calls free."""
    timings = []
    for one in chosen:
        name, frames = one.source.title, one.source.motion.frames
        printed = GIGACYCLES[one.source.motion.name]
        look_up, *_, lossless = (1e-6 * frames * ns for ns in decoding[name])
        claim = "decode lossless MPEG-4: Gcycles printed, ms ours"
        timings.append(Timing("Table 2", claim, name, printed, f"{lossless:.2f}"))
        claim = "decode indexed: cycles printed, ms ours"
        timings.append(Timing("Table 2", claim, name, "0", f"{look_up:.3f}"))
    return timings


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
