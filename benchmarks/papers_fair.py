"""Compare one method of each paper with keysine at equal errors, on two seconds of 36 clips.

    python benchmarks/papers_fair.py [--frames 240] [--out benchmarks/results/papers_fair.csv]

Each codec is swept over its quality. Sizes are payloads, without container and skeleton. The
picture, docs/pictures/papers/fair.svg, has the mean ratio to float32 channels at equal errors.
`latent-spline` takes its fast search of knots, because CMA-ES takes 6 to 190 times as long at 0.96
to 1.03 of its error.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

import mocpack
from mocpack.bench.datasets import CHECKOUT, collection
from mocpack.bench.papers.measuring import interpolate_log, load_frames, map_parallel, mean_error
from mocpack.metrics import measure
from mocpack.model.clip import Clip
from mocpack.rate import raw_size

sys.path.insert(0, str(Path(__file__).parent))
from papers_figures import Curve, Panel, picture

# by method, its codec and from coarse to fine the values of its quality
METHODS: dict[str, tuple[str, Sequence[float]]] = {
    "Beaudoin: wavelet-opt": ("wavelet-opt:settings=paper,ratio={}", (150, 60, 25, 10, 4, 2)),
    "Chattopadhyay: bap-sparse": (
        "bap-sparse:settings=paper,sparse_fixed=false,n_d=60,FDF={}",
        (1, 20, 40, 55, 65, 72),
    ),
    "Mukai: latent-spline": (
        "latent-spline:settings=paper,knots=fast,tolerance=0.002,control_points={}",
        (6, 12, 24, 48, 96),
    ),
    "Váša: rd-pca": ("rd-pca:settings=paper,lam={}", (1, 0.3, 0.1, 0.03, 0.01, 0.002)),
    "Li: ik-predict": ("ik-predict:settings=paper,step={}", (0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4)),
    "keysine": ("keysine:max_error={}m", (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)),
}
METRICS = {"mean_mm": "mean error, mm", "eps_x_cm": "eps_x, cm", "skted": "SkTED"}
MIN_CLIPS = 24  # of which a point needs values; errors that fewer clips reach are left out


@dataclass(frozen=True)
class Sample:
    """A clip coded by a method at one quality."""

    clip: str
    method: str
    quality: float
    raw: int
    bytes: int
    mean_mm: float
    eps_x_cm: float
    skted: float


def main(words: Sequence[str]) -> int:
    """Measure, write the table and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=240)
    default = CHECKOUT / "benchmarks" / "results" / "papers_fair.csv"
    parser.add_argument("--out", type=Path, default=default)
    given = parser.parse_args(words)
    paths = {path.stem: path for path in collection("cmu")}
    clips = {name: load_frames(path, frames=given.frames) for name, path in paths.items()}
    tasks = [
        (name, method, quality)
        for name in clips
        for method, (_, qualities) in METHODS.items()
        for quality in qualities
    ]
    samples = map_parallel(sample, clips, tasks, "equal errors")
    with given.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [f.name for f in fields(Sample)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(one) for one in samples)
    out = CHECKOUT / "docs" / "pictures" / "papers" / "fair.svg"
    out.write_text(picture(panels(samples)), encoding="utf-8")
    print(f"wrote {given.out} and {out}")
    return 0


def sample(clips: Mapping[str, Clip], task: tuple[str, str, float]) -> Sample:
    """Encode and decode a clip once."""
    name, method, quality = task
    clip, codec = clips[name], mocpack.parse_codec(METHODS[method][0].format(quality))
    payload = codec.encode(clip)
    back = codec.decode(payload, clip.header)
    eps_x, skted = (measure(metric, clip, back) or 0.0 for metric in ("eps_x_cm", "sk_ted"))
    error = 1000 * mean_error(clip, back)
    return Sample(name, method, quality, raw_size(clip), len(payload), error, eps_x, skted)


def panels(samples: Sequence[Sample]) -> list[Panel]:
    """Return the mean compression ratio over each error."""
    clips = sorted({one.clip for one in samples})
    found = []
    for metric, title in METRICS.items():
        values = [getattr(one, metric) for one in samples if getattr(one, metric) > 0]
        grid = np.geomspace(*np.quantile(values, [0.05, 0.95]), 25)
        curves = [Curve(m, _ratios(samples, clips, m, metric, grid.tolist())) for m in METHODS]
        found.append(Panel(f"at equal {title}", title, "ratio", [c for c in curves if c.points]))
    return found


def _ratios(
    samples: Sequence[Sample], clips: Sequence[str], method: str, metric: str, grid: Sequence[float]
) -> list[tuple[float, float]]:
    """Return the geometric mean over clips of raw to coded bytes at each error."""
    points = []
    for error in grid:
        logs = []
        for clip in clips:
            own = [one for one in samples if (one.clip, one.method) == (clip, method)]
            size = interpolate_log(error, [(getattr(s, metric), s.bytes) for s in own])
            if size is not None:
                logs.append(math.log(own[0].raw / size))
        if len(logs) >= min(MIN_CLIPS, len(clips)):
            points.append((error, math.exp(sum(logs) / len(logs))))
    return points


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
