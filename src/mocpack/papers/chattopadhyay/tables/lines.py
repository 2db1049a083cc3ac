"""A line for each number that Chattopadhyay, Bhandarkar and Li (2007) print in their tables.

Of a motion whose AMC is at hand the AMC is taken, else the BVH; sizes are counted for the paper's
62 columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from mocpack.bench.papers.verdicts import Line, claim, compare
from mocpack.papers.chattopadhyay import energy
from mocpack.papers.chattopadhyay.codec.bap_index import BapIndex
from mocpack.papers.chattopadhyay.codec.segments import paper_size, size_model
from mocpack.papers.chattopadhyay.tables.coding import KB
from mocpack.papers.chattopadhyay.tables.motions import MOTIONS, ORIGINAL_KB, PAPER_COLUMNS, Motion
from mocpack.papers.chattopadhyay.tables.results import LITERAL, Made
from mocpack.units import parse_bandwidth

BANDWIDTHS = ("128kbps", "1Mbps", "4Mbps")


def table_lines(made: Sequence[Made]) -> list[Line]:
    """Return a line for each number of both tables, and for what sections 3 and 5 say."""
    amc = {one.source.motion.name for one in made if one.source.form == "amc"}
    chosen = [m for m in made if m.source.form == "amc" or m.source.motion.name not in amc]
    chosen.sort(key=lambda one: one.source.motion.frames)
    lines = [line for one in chosen for line in _table_1_lines(one)]
    lines += _share_lines(made, chosen)
    lines += [line for one in chosen for line in _table_2_lines(one)]
    return [*lines, _energy_line(), *_section_lines(chosen)]


def energies(mpeg4: float, sparsed: float, motion: Motion) -> Iterator[tuple[float, float]]:
    """Return the card's millijoules for two sizes, at each bandwidth."""
    seconds = motion.frames / energy.PAPER_FRAME_RATE
    for text in BANDWIDTHS:
        bandwidth = parse_bandwidth(text, kilo=energy.PAPER_KILO)
        a, b = (energy.reception(size, seconds, bandwidth).joules for size in (mpeg4, sparsed))
        yield 1000 * a, 1000 * b


def _table_1_lines(made: Made) -> Iterator[Line]:
    motion, where = made.source.motion, "Table 1"
    name, wide = made.source.title, PAPER_COLUMNS / made.columns
    yield compare(
        where, f"{name}, MPEG-4, KB", wide * made.mpeg4 / KB, f"{motion.mpeg4_kb:g}", form=".1f",
        less_is_better=None, why=_why_lossless(made),
    )  # fmt: skip
    layout = replace(LITERAL, FDF=1, n_d=motion.rows).row_layout(PAPER_COLUMNS)
    indexed = paper_size(size_model(motion.frames, layout), motion.frames, layout)
    printed = f"{motion.indexed_kb:g}"
    yield compare(where, f"{name}, indexed, KB", indexed / KB, printed, form=".2f")
    left = (1 - made.shares["text"]) * (PAPER_COLUMNS - 1) * (motion.frames - 1)
    yield compare(
        where, f"{name}, sparsed, KB", (indexed - left) / KB, f"{motion.sparsed_kb:g}", form=".2f",
        why="the shares of indices left are unexplained",
    )  # fmt: skip
    for k, (a, b) in enumerate(energies(wide * made.mpeg4, indexed - left, motion)):
        ratio = 100 * motion.sparsed_mj[k] / motion.mpeg4_mj[k]
        what = f"{name}, energy at {BANDWIDTHS[k]}, sparsed of MPEG-4, %"
        why = "MPEG-4's size and the shares differ"
        yield compare(where, what, 100 * b / a, f"{ratio:.1f}", form=".1f", why=why)


def _energy_line() -> Line:
    """Return how many of Table 1's energies equation 11 gives from its sizes, to their rounding."""
    right = [
        abs(ours - printed) <= 0.51 + unsure
        for motion in MOTIONS
        for ours, printed, unsure in _printed_energies(motion)
    ]
    what = "energies by equation 11 from the printed sizes"
    ours = f"{sum(right)} of {len(right)} to rounding"
    return claim("Table 1", what, f"{len(right)}", ours, all(right))


def _printed_energies(motion: Motion) -> Iterator[tuple[float, float, float]]:
    """Return each energy as ours, as printed, and what the rounding of its size makes unsure."""
    sizes = KB * motion.mpeg4_kb, KB * motion.sparsed_kb
    for k, (a, b) in enumerate(energies(*sizes, motion)):
        bandwidth = parse_bandwidth(BANDWIDTHS[k], kilo=energy.PAPER_KILO)
        rounding = 1000 * (energy.RECEIVING - energy.SLEEPING) * 8 * 0.05 * KB / bandwidth
        yield a, motion.mpeg4_mj[k], 0.0
        yield b, motion.sparsed_mj[k], rounding


def _share_lines(made: Sequence[Made], chosen: Sequence[Made]) -> Iterator[Line]:
    where = "Table 1, implied"
    for one in chosen:
        what = f"{one.source.title}, indices that sparsing leaves, %"
        printed = f"{100 * one.source.motion.share:.0f}"
        ours = 100 * one.shares["text"]
        yield compare(
            where, what, ours, printed, form=".0f", less_is_better=None, why="unexplained"
        )
    bvh = [one for one in made if one.source.form == "bvh"]
    if bvh:
        theirs = 100 * float(np.mean([one.source.motion.share for one in bvh]))
        ours = 100 * float(np.mean([one.shares["text"] for one in bvh]))
        what = f"mean of {len(bvh)} (bvh), indices that sparsing leaves, %"
        yield compare(where, what, ours, f"{theirs:.1f}", form=".1f", less_is_better=None)


def _table_2_lines(made: Made) -> Iterator[Line]:
    motion, where = made.source.motion, "Table 2"
    name, wide = made.source.title, PAPER_COLUMNS / made.columns
    original = 4 * PAPER_COLUMNS * motion.frames / KB
    yield compare(
        where, f"{name}, original, KB", original, f"{ORIGINAL_KB[motion.name]}", form=".1f",
        less_is_better=None,
    )  # fmt: skip
    yield compare(
        where, f"{name}, f, %", 100 * made.mpeg4 / made.original, f"{100 * motion.fraction:.0f}",
        form=".0f", less_is_better=None, why=_why_lossless(made),
    )  # fmt: skip
    yield compare(
        where, f"{name}, indexed, KB", wide * made.tuned.counted / KB, f"{motion.tuned_kb:g}",
        form=".2f", less_is_better=None, why="as large as f of our MPEG-4 allows",
    )  # fmt: skip
    error = f"{name}, indexed, DEF"
    yield compare(where, error, made.tuned.error, f"{motion.tuned_def:g}", form=".2f")
    yield compare(
        where, f"{name}, sparsed, KB", wide * made.thinned.counted / KB, f"{motion.thinned_kb:g}",
        form=".2f", why="the shares of indices left are unexplained",
    )  # fmt: skip
    error = f"{name}, sparsed, DEF"
    why = "kept columns are frozen too, which the sizes ask for"
    yield compare(where, error, made.thinned.error, f"{motion.thinned_def:g}", form=".2f", why=why)


def _why_lossless(made: Made) -> str:
    if made.source.form == "amc":
        return "the coder is ours, and AMC's text has fewer digits than float32"
    return "the coder is ours, and a BVH's columns are not the AMC's"


def _section_lines(chosen: Sequence[Made]) -> Iterator[Line]:
    better = sum(one.by_eta[-1] <= one.by_eta[0] for one in chosen)
    ours = f"{better} of {len(chosen)} motions"
    what = "DEF is less with selective averaging (η = ∞) than with plain means (η = 0)"
    why = "errors add up whichever entry is taken"
    yield claim("Section 3.2", what, "less", ours, better == len(chosen), why=why)
    layout = BapIndex(FDF=0, n_d=135).row_layout(PAPER_COLUMNS)
    least, whole = paper_size(size_model(136, layout), 136, layout), 4 * PAPER_COLUMNS * 136
    what = "jog, bounds of T, bytes"
    holds = (least, whole) == (9642, 33728)
    yield claim("Section 5.1.1", what, "9642, 33728", f"{least}, {whole}", holds)
    larger = [b for b in range(9, 17) if _whole_size(b) > whole]
    what = "jog, b > 8 exceeds the original's size"
    ours = f"from b = {larger[0]} on" if larger else "never"
    yield claim("Section 5.1.1", what, "always", ours, len(larger) == 8, why="by equation 5")


def _whole_size(bits: int) -> int:
    layout = BapIndex(FDF=0, n_d=135, b=bits).row_layout(PAPER_COLUMNS)
    return paper_size(size_model(136, layout), 136, layout)
