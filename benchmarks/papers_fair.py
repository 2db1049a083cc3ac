"""Compare one method of each paper with keysine at equal errors, on two seconds of 36 clips.

    python benchmarks/papers_fair.py [--frames 240] [--out benchmarks/results/papers_fair.csv]

Each codec is swept over its quality. Sizes are payloads, without container and skeleton. The
picture, docs/pictures/papers/fair.svg, has the mean ratio to float32 channels at equal errors.
`latent-spline` takes its fast search of knots, because CMA-ES takes 6 to 190 times as long at 0.96
to 1.03 of its error. `bap-sparse` keeps fixed columns. `rd-pca` has s = 4 and Q_l = 1 at fine
rates. Literally it loses the rotation of last joints, so its eps_x ends near 1 cm. A curve ends
where fewer than `MIN_CLIPS` clips reach the error.
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


def specs(codec: str, *qualities: float) -> list[str]:
    """Return a codec at each quality, from coarse to fine."""
    return [codec.format(quality) for quality in qualities]


METHODS = {
    "Beaudoin: wavelet-opt": specs("wavelet-opt:settings=paper,ratio={}", 150, 60, 25, 10, 4, 2),
    "Chattopadhyay: bap-sparse": specs(
        "bap-sparse:settings=paper,sparse_fixed=false,n_d=60,FDF={}", 1, 20, 40, 55, 65, 72
    ),
    "Mukai: latent-spline": specs(
        "latent-spline:settings=paper,knots=fast,tolerance=0.002,control_points={}",
        6, 12, 24, 48, 96,
    ),
    "Váša: rd-pca": [
        *specs("rd-pca:settings=paper,lam={}", 1, 0.3, 0.1, 0.03, 0.01),
        # section 3.5 searches s and Q_l for every file; every twelfth sample limits fine rates
        *specs("rd-pca:settings=paper,s=4,Q_l=1,lam={}", 0.003, 0.001),
    ],
    "Li: ik-predict": specs("ik-predict:settings=paper,step={}", 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4),
    "keysine": specs("keysine:max_error={}m", 0.3, 0.1, 0.03, 0.01, 0.003, 0.001),
}  # fmt: skip
"""By method, its codec at several qualities."""
METRICS = {"mean_mm": "mean error, mm", "eps_x_cm": "eps_x, cm", "skted": "SkTED"}
MIN_CLIPS = 24  # of which a point needs values; errors that fewer clips reach are left out


@dataclass(frozen=True)
class Sample:
    """A clip coded by a method at one quality."""

    clip: str
    method: str
    spec: str
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
        (name, method, spec)
        for name in clips
        for method, codecs in METHODS.items()
        for spec in codecs
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


def sample(clips: Mapping[str, Clip], task: tuple[str, str, str]) -> Sample:
    """Encode and decode a clip once."""
    name, method, spec = task
    clip, codec = clips[name], mocpack.parse_codec(spec)
    payload = codec.encode(clip)
    back = codec.decode(payload, clip.header)
    eps_x, skted = (measure(metric, clip, back) or 0.0 for metric in ("eps_x_cm", "sk_ted"))
    error = 1000 * mean_error(clip, back)
    return Sample(name, method, spec, raw_size(clip), len(payload), error, eps_x, skted)


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
