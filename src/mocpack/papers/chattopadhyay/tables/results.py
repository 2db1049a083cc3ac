"""Sizes, errors and searches of each motion of Chattopadhyay, Bhandarkar and Li (2007)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from mocpack.bench.papers.measuring import map_parallel
from mocpack.model.clip import Clip
from mocpack.papers.chattopadhyay.codec import grid_search
from mocpack.papers.chattopadhyay.codec.bap_index import BapIndex, BapSparse
from mocpack.papers.chattopadhyay.codec.mpeg4_bap import Mpeg4Bap
from mocpack.papers.chattopadhyay.codec.segments import size_model
from mocpack.papers.chattopadhyay.tables.coding import Coded, code
from mocpack.papers.chattopadhyay.tables.motions import Source
from mocpack.rate import raw_size

LITERAL = BapIndex.from_params({"settings": "paper"})
THINNED = BapSparse.from_params({"settings": "paper"})
READINGS = {r: BapSparse(variant="literal", FDF=1, reading=r) for r in ("text", "figure4")}
ETAS = (0.0, 1.0, 2.0, float("inf"))
# DEF is equation (9), T·DEF equation (10); the search keeps within f·4mn, equation (8)
RULES: dict[str, Callable[[grid_search.Outcome], float]] = {
    "least DEF": lambda outcome: outcome[1],
    "least T·DEF": lambda outcome: outcome[0] * outcome[1],
}


@dataclass(frozen=True)
class Made:
    """The results of one motion.

    Attributes
    ----------
    columns, original, mpeg4 : int
        Columns that move; bytes as float32 and by lossless MPEG-4.
    indexed, sparsed, companded : Coded
        Of Table 1: one column kept, the paper's segments.
    shares, strayed : dict
        By reading: the share of indices that remain after sparsing, and DEF.
    by_eta : tuple of float
        DEF of indexing with each of `ETAS`.
    best : (int, int)
        FDF and n_d of the least DEF in MPEG-4's size.
    tuned, thinned, partly, rooted, closed, tuned_companded : Coded
        Of Table 2, at `best`; `partly` sparses only indexed columns, `rooted` all but the root's
        position.
    """

    source: Source
    columns: int
    original: int
    mpeg4: int
    indexed: Coded
    sparsed: Coded
    companded: Coded
    shares: dict[str, float]
    strayed: dict[str, float]
    by_eta: tuple[float, ...]
    best: grid_search.Point
    tuned: Coded
    thinned: Coded
    partly: Coded
    rooted: Coded
    closed: Coded
    tuned_companded: Coded


def make_all(sources: Sequence[Source]) -> list[Made]:
    """Measure all motions, the longest first, and return them in their order."""
    tasks = sorted(sources, key=lambda s: -s.motion.frames)
    found = map_parallel(_make, None, tasks, "searching FDF and n_d")
    by_title = {made.source.title: made for made in found}
    return [by_title[source.title] for source in sources]


def _make(_: None, source: Source) -> Made:
    return make(source)


def share_left(codec: BapSparse, clip: Clip) -> float:
    """Return the share of the indexed columns' changes that sparsing releases."""
    payload = codec.encode(clip)
    columns = raw_size(clip) // (4 * clip.frame_count)
    layout = codec.row_layout(columns)
    frozen = size_model(clip.frame_count, layout, still=clip.skeleton.channel_count - columns)
    indices = (clip.frame_count - 1) * (columns - layout.fixed)
    return (len(payload) - frozen) / (-(-layout.bits // 8) * indices)


def search(
    clip: Clip,
    codec: BapIndex,
    limit: float,
    objective: Callable[[grid_search.Outcome], float],
    tried: dict[grid_search.Point, grid_search.Outcome],
    *,
    exhaustive: bool = False,
    known: Mapping[grid_search.Point, grid_search.Outcome] | None = None,
) -> grid_search.Point:
    """Return FDF and n_d of the least objective among payloads up to `limit` bytes.

    Fills `tried`. Points in `known` are not coded again.
    """

    def value(outcome: grid_search.Outcome) -> float:
        return objective(outcome) if outcome[0] <= limit else float("inf")

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


def make(source: Source) -> Made:
    """Measure one motion."""
    clip, rows = source.clip(), source.motion.rows
    mpeg4 = len(Mpeg4Bap(lossless=True).encode(clip))
    tried: dict[grid_search.Point, grid_search.Outcome] = {}
    best = search(clip, LITERAL, mpeg4, RULES["least DEF"], tried)
    fixed, length = best
    original = raw_size(clip)
    least = replace(LITERAL, FDF=1, n_d=rows)
    return Made(
        source,
        columns=original // (4 * clip.frame_count),
        original=original,
        mpeg4=mpeg4,
        indexed=code(least, clip),
        sparsed=code(replace(THINNED, FDF=1, n_d=rows), clip),
        companded=code(BapIndex(FDF=1, n_d=rows), clip),
        shares={r: share_left(replace(c, n_d=rows), clip) for r, c in READINGS.items()},
        strayed={r: code(replace(c, n_d=rows), clip).error for r, c in READINGS.items()},
        by_eta=tuple(code(replace(least, eta=eta), clip).error for eta in ETAS),
        best=best,
        tuned=code(replace(LITERAL, FDF=fixed, n_d=length), clip),
        thinned=code(replace(THINNED, FDF=fixed, n_d=length), clip),
        partly=code(replace(THINNED, sparse_fixed=False, FDF=fixed, n_d=length), clip),
        rooted=code(replace(THINNED, sparse_root=False, FDF=fixed, n_d=length), clip),
        closed=code(BapIndex(variant="closed_loop", FDF=fixed, n_d=length), clip),
        tuned_companded=code(BapIndex(FDF=fixed, n_d=length), clip),
    )


def to_row(made: Made) -> dict[str, object]:
    """Return all numbers of a motion as one row: sizes in bytes, DEF in CMU units."""
    row: dict[str, object] = {"motion": made.source.title}
    for field in fields(made)[1:]:
        value = getattr(made, field.name)
        if isinstance(value, Coded):
            row |= {f"{field.name}_{f.name}": getattr(value, f.name) for f in fields(Coded)}
        elif isinstance(value, dict):
            row |= {f"{field.name}_{key}": number for key, number in value.items()}
        else:
            row[field.name] = value
    return row
