"""Compare the fast search for FDF and n_d with the exhaustive one, by both rules of the paper.

python benchmarks/bap_searches.py [CODEC [CLIP ...]]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mocpack.bench.datasets import load_clip
from mocpack.bench.report.markdown import markdown_table
from mocpack.codecs.registry import parse_codec
from mocpack.model.clip import Clip
from mocpack.papers.chattopadhyay.codec import grid_search
from mocpack.papers.chattopadhyay.codec.bap_index import BapIndex
from mocpack.papers.chattopadhyay.tables.coding import code_all
from mocpack.papers.chattopadhyay.tables.results import LITERAL, RULES, search
from mocpack.rate import raw_size

SIZE_FRACTION = 0.85  # of the original


CLIPS = ("16_46", "09_01", "16_35")  # short clips: each takes half a minute of one core
HEADING = (
    "clip",
    "rule",
    "exhaustive FDF, n_d",
    "value",
    "fast FDF, n_d",
    "value",
    "over",
    "tried",
)


def compare_searches(out: Path, codec: BapIndex, names: Sequence[str]) -> None:
    """Compare the fast search with the exhaustive one, by both rules, for each clip.

    An exhaustive search of a clip of 300 frames takes a minute of a core.
    """
    rows: list[list[str]] = []
    for name in names:
        clip = load_clip(f"cmu/{name}")
        for row in _search_rows(name, clip.frames(1, clip.frame_count), codec):
            print(" | ".join(row), flush=True)
            rows.append(row)
    (out / f"{codec.codec_id}-searches.md").write_text(
        markdown_table(HEADING, rows) + "\n", encoding="utf-8"
    )


def _search_rows(name: str, clip: Clip, codec: BapIndex) -> Iterator[list[str]]:
    limit = SIZE_FRACTION * raw_size(clip)
    everything = _surface(clip, codec, name)
    for rule, objective in RULES.items():
        best = search(clip, codec, limit, objective, dict(everything), exhaustive=True)
        tried: dict[grid_search.Point, grid_search.Outcome] = {}
        fast = search(clip, codec, limit, objective, tried, known=everything)
        values = [objective(everything[point]) for point in (best, fast)]
        yield [
            name,
            rule,
            f"{best[0]}, {best[1]}",
            f"{values[0]:.4g}",
            f"{fast[0]}, {fast[1]}",
            f"{values[1]:.4g}",
            f"{100 * (values[1] / values[0] - 1):.2f} %",
            f"{len(tried)} of {len(everything)}",
        ]


def _surface(
    clip: Clip, codec: BapIndex, name: str
) -> dict[grid_search.Point, grid_search.Outcome]:
    """Return size and error of every point of the grid."""
    fixed, rows, _ = codec.search_grid(clip)
    points = [(f, n) for f in fixed for n in rows]
    codecs = [replace(codec, FDF=f, n_d=n) for f, n in points]
    outcomes = code_all(codecs, clip, name)
    return {p: (c.real, c.error) for p, c in zip(points, outcomes, strict=True)}


if __name__ == "__main__":
    folder = Path("report")
    folder.mkdir(exist_ok=True)
    chosen = parse_codec(sys.argv[1]) if len(sys.argv) > 1 else LITERAL
    assert isinstance(chosen, BapIndex)
    compare_searches(folder, chosen, sys.argv[2:] or CLIPS)
