"""The fast search for FDF and n_d against the exhaustive one, by both of the paper's rules.

python -m mocpack.bench.bap_searches
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import track

from mocpack import _api
from mocpack.bench.datasets import require_data
from mocpack.bench.papers.paper_001 import LITERAL, MOTIONS, RULES, Coded, code, markdown, search
from mocpack.clip import Clip
from mocpack.codecs.bap import BapIndex
from mocpack.rate import raw_size
from mocpack.transforms import grid_search

SIZE_FRACTION = 0.85  # of the original


def compare_searches(data: Path, out: Path) -> None:
    """Set the fast search against the exhaustive one, by both rules, on ten clips and five more.

    An exhaustive search of a clip of 300 frames takes a minute or two of each core.
    """
    names = [*(motion.clip for motion in MOTIONS), *OTHERS]
    rows: list[list[str]] = []
    for name in names:
        clip = _api.read(data / "cmu" / f"{name}.bvh")
        assert isinstance(clip, Clip)
        rows += _search_rows(name, clip.frames(1, clip.frame_count))
    text = markdown(SEARCHES, rows)
    (out / "bap-searches.md").write_text(text)
    print(text)


OTHERS = ("09_01", "02_03", "07_01", "35_01", "16_35")
SEARCHES = (
    "clip",
    "rule",
    "exhaustive FDF, n_d",
    "value",
    "fast FDF, n_d",
    "value",
    "over",
    "tried",
)


def _search_rows(name: str, clip: Clip) -> Iterator[list[str]]:
    limit = SIZE_FRACTION * raw_size(clip)
    everything = _surface(clip, LITERAL, name)
    for rule, merit in RULES.items():
        best = search(clip, LITERAL, limit, merit, dict(everything), exhaustive=True)
        tried: dict[grid_search.Point, grid_search.Outcome] = {}
        fast = search(clip, LITERAL, limit, merit, tried, known=everything)
        values = [merit(everything[point]) for point in (best, fast)]
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
    with ProcessPoolExecutor(initializer=_share, initargs=(clip,)) as pool:
        console = Console(stderr=True)
        coded = pool.map(_code_shared, codecs, chunksize=64)
        outcomes = list(track(coded, name, len(points), console=console))
    return {p: (c.real, c.error) for p, c in zip(points, outcomes, strict=True)}


_SHARED: list[Clip] = []  # the clip of a worker process, so that it is sent once


def _share(clip: Clip) -> None:
    _SHARED[:] = [clip]


def _code_shared(codec: BapIndex) -> Coded:
    return code(codec, _SHARED[0])


if __name__ == "__main__":
    folder = Path("report")
    folder.mkdir(exist_ok=True)
    compare_searches(require_data(), folder)
