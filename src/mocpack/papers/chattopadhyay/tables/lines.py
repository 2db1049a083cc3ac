"""One line per number that Chattopadhyay, Bhandarkar and Li (2007) print in their tables.

A motion is taken from its AMC file if there is one, else from its BVH, which has 74 moving columns
instead of 62. Sizes of a BVH are not scaled to 62 columns. A line prints the result of the
paper's formula for 62 columns next to the real payload.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mocpack.bench.papers.verdicts import (
    TOLERANCES,
    UNKNOWN,
    Line,
    compare,
    judge_claim,
    note_formula,
)
from mocpack.common.units import parse_bandwidth
from mocpack.papers.chattopadhyay import energy
from mocpack.papers.chattopadhyay.codec.bap_index import BapIndex
from mocpack.papers.chattopadhyay.codec.segments import paper_size, size_model
from mocpack.papers.chattopadhyay.tables.coding import KB
from mocpack.papers.chattopadhyay.tables.motions import MOTIONS, PAPER_COLUMNS, Motion
from mocpack.papers.chattopadhyay.tables.results import LITERAL, Made

BANDWIDTHS = ("128kbps", "1Mbps", "4Mbps")
EQUATIONS = "Equations 3–11"
LEGS_FIRST = "BVH files list the legs first, so FDF keeps them"
BY_HAND = "jog: bounds of T, T above the original; energies from printed sizes"


def table_lines(chosen: Sequence[Made]) -> list[Line]:
    """Return one line per number of both tables, and per claim of sections 3 and 5."""
    lines = [line for one in chosen for line in _table_1_lines(one)]
    lines += _share_lines(chosen)
    lines += [line for one in chosen for line in _table_2_lines(one)]
    return [*lines, *_averaging_lines(chosen), *_equation_lines()]


def choose_sources(made: Sequence[Made]) -> list[Made]:
    """Return each motion once, from its AMC if there is one, shortest first."""
    amc = {one.source.motion.name for one in made if one.source.form == "amc"}
    chosen = [m for m in made if m.source.form == "amc" or m.source.motion.name not in amc]
    return sorted(chosen, key=lambda one: one.source.motion.frames)


def energies(mpeg4: float, sparsed: float, motion: Motion) -> Iterator[tuple[float, float]]:
    """Yield the energy in mJ of receiving two sizes, at each bandwidth."""
    seconds = motion.frames / energy.PAPER_FRAME_RATE
    for text in BANDWIDTHS:
        bandwidth = parse_bandwidth(text, kilo=energy.PAPER_KILO)
        a, b = (energy.reception(size, seconds, bandwidth).joules for size in (mpeg4, sparsed))
        yield 1000 * a, 1000 * b


def _table_1_lines(made: Made) -> Iterator[Line]:
    motion, where, name = made.source.motion, "Table 1", made.source.title
    yield _size_line(where, "lossless MPEG-4, KB", made, made.mpeg4, motion.mpeg4_kb)
    layout = replace(LITERAL, FDF=1, n_d=motion.rows).row_layout(PAPER_COLUMNS)
    indexed = paper_size(size_model(motion.frames, layout), motion.frames, layout)
    yield note_formula(
        where, "indexed, KB (formula; real)", name,
        f"{motion.indexed_kb:g}", _kb(indexed), _kb(made.indexed.real),
    )  # fmt: skip
    left = (1 - made.shares["text"]) * (PAPER_COLUMNS - 1) * (motion.frames - 1)
    yield note_formula(
        where, "sparsed, KB (formula; real)", name,
        f"{motion.sparsed_kb:g}", _kb(indexed - left), _kb(made.sparsed.real),
    )  # fmt: skip
    scale = PAPER_COLUMNS / made.columns
    by_formula = energies(scale * made.mpeg4, indexed - left, motion)
    real = energies(made.mpeg4, made.sparsed.real, motion)
    for k, ((a, b), (c, d)) in enumerate(zip(by_formula, real, strict=True)):
        printed = 100 * motion.sparsed_mj[k] / motion.mpeg4_mj[k]
        yield note_formula(
            where, "energy of sparsed to MPEG-4, % (formula; real)",
            f"{name} at {BANDWIDTHS[k]}", f"{printed:.1f}",
            f"{100 * b / a:.1f}", f"{100 * d / c:.1f}",
        )  # fmt: skip


def _size_line(
    where: str, claim: str, made: Made, size: int, printed: float, which: str = ""
) -> Line:
    """Return the line of a size: of a BVH scaled to 62 columns, which is a formula."""
    name = made.source.title + which
    if made.source.form == "bvh":
        scaled = size * PAPER_COLUMNS / made.columns
        return note_formula(where, claim, name, f"{printed:g}", _kb(scaled), _kb(size))
    return compare(
        where, claim, name, f"{printed:g}", literal=size / KB, kind="size", form=".2f",
        why=_why_mpeg4(made),
    )  # fmt: skip


def _kb(size: float) -> str:
    return f"{size / KB:.2f}"


def _energy_line() -> Line:
    """Return how many energies of Table 1 equation 11 gives from its printed sizes."""
    right = [
        abs(ours - printed) <= 0.51 + unsure
        for motion in MOTIONS
        for ours, printed, unsure in _printed_energies(motion)
    ]
    found = f"{sum(right)} of {len(right)} to rounding"
    return note_formula(EQUATIONS, BY_HAND, "energies of Table 1", f"{len(right)} energies", found)


def _printed_energies(motion: Motion) -> Iterator[tuple[float, float, float]]:
    """Yield each energy: ours, as printed, and the tolerance that rounding its size causes."""
    sizes = KB * motion.mpeg4_kb, KB * motion.sparsed_kb
    for k, (a, b) in enumerate(energies(*sizes, motion)):
        bandwidth = parse_bandwidth(BANDWIDTHS[k], kilo=energy.PAPER_KILO)
        rounding = 1000 * (energy.RECEIVING - energy.SLEEPING) * 8 * 0.05 * KB / bandwidth
        yield a, motion.mpeg4_mj[k], 0.0
        yield b, motion.sparsed_mj[k], rounding


def _share_lines(chosen: Sequence[Made]) -> Iterator[Line]:
    for one in chosen:
        yield compare(
            "Table 1", "indices that sparsing leaves, %", one.source.title,
            f"{100 * one.source.motion.share:.0f}", literal=100 * one.shares["text"],
            kind="share", form=".0f", less_is_better=None,
        )  # fmt: skip


def _table_2_lines(made: Made) -> Iterator[Line]:
    motion, where, name = made.source.motion, "Table 2", made.source.title
    yield compare(
        where, "f, MPEG-4 to original, %", name,
        f"{100 * motion.fraction:.0f}", literal=100 * made.mpeg4 / made.original,
        kind="share", form=".0f", why=_why_mpeg4(made),
    )  # fmt: skip
    claim = "indexed, sparsed, KB (formula; real)"
    yield _size_line(where, claim, made, made.tuned.counted, motion.tuned_kb, ", indexed")
    yield _size_line(where, claim, made, made.thinned.counted, motion.thinned_kb, ", sparsed")
    yield compare(
        where, "indexed, DEF (now: companded)", name, f"{motion.tuned_def:g}",
        literal=made.tuned.error, ours=made.tuned_companded.error, kind="error", form=".2f",
        why=LEGS_FIRST if made.source.form == "bvh" and made.tuned.error < motion.tuned_def
        else UNKNOWN,
    )  # fmt: skip
    yield compare(
        where, "sparsed, DEF (now: root kept)", name, f"{motion.thinned_def:g}",
        literal=made.thinned.error, ours=made.rooted.error, kind="error", form=".2f",
        why=_why_sparsed(made),
    )  # fmt: skip


def _why_mpeg4(made: Made) -> str:
    return "AMC text has few digits" if made.source.form == "amc" else UNKNOWN


def _why_sparsed(made: Made) -> str:
    """Return why the sparsed DEF is not the printed one, if one of the readings tells."""
    printed = made.source.motion.thinned_def
    if made.thinned.error > printed >= made.rooted.error / (1 + TOLERANCES["error"]):
        return "the root's position is frozen"
    if made.source.form == "bvh" and made.thinned.error < printed:
        return LEGS_FIRST
    return UNKNOWN


def _averaging_lines(chosen: Sequence[Made]) -> Iterator[Line]:
    claim = "selective averaging gives less DEF"
    for one in chosen:
        mean, selective = one.by_eta[0], one.by_eta[-1]
        found = f"{selective:.3g} against {mean:.3g}"
        yield judge_claim("Section 3.2", claim, one.source.title, "less", found, selective <= mean)


def _equation_lines() -> Iterator[Line]:
    """Yield results of the paper's equations on its own numbers."""
    layout = BapIndex(FDF=0, n_d=135).row_layout(PAPER_COLUMNS)
    least, whole = paper_size(size_model(136, layout), 136, layout), 4 * PAPER_COLUMNS * 136
    bounds = f"{least}, {whole} bytes"
    yield note_formula(EQUATIONS, BY_HAND, "bounds of T, jog", "9642, 33728 bytes", bounds)
    larger = [b for b in range(9, 17) if _whole_size(b) > whole]
    found = f"from b = {larger[0]} on" if larger else "never"
    yield note_formula(EQUATIONS, BY_HAND, "larger than the original, jog", "for b > 8", found)
    yield _energy_line()


def _whole_size(bits: int) -> int:
    layout = BapIndex(FDF=0, n_d=135, b=bits).row_layout(PAPER_COLUMNS)
    return paper_size(size_model(136, layout), 136, layout)
