"""The table of sizes at equal error that docs/benchmarks.md shows, from rows that are kept as CSV.

python benchmarks/headline.py measure    # a quarter of an hour: rewrites results/headline.csv
python benchmarks/headline.py page       # rewrites docs/benchmarks.md from it
"""

import csv
import sys
from pathlib import Path

from mocpack.bench.datasets import require_data
from mocpack.bench.measure import Setting
from mocpack.bench.run import run_bench, write_tables

HERE = Path(__file__).parent
TABLE = HERE / "results" / "headline.csv"
PAGE = HERE.parent / "docs" / "benchmarks.md"
CLIPS = ("02_01", "09_01", "16_32")
BOUNDS = ("10mm", "1mm")
OURS = ("keysine", "rd-pca", "fk-wavelet", "ik-predict", "wavelet", "last-frame")
PEERS = ("sz3", "zfp", "float32-zstd", "bvh-xz")
ABOUT = """\
Whole clips of `cmu`, the added T-pose dropped, every codec driven to one largest error (joints,
bone ends and skin) by its own means or by a search of its knob, the real decoder in the loop.
Bytes are sums over the clips; payload is the file without skeleton and metadata. Made by
`python benchmarks/headline.py page` from `benchmarks/results/headline.csv`, which `measure`
rewrites. Speeds are of one busy machine: compare them with each other only."""
COLUMNS = ("payload_bytes", "file_bytes", "mean_mm", "velocity_cm_s", "decode_fps")


def measure():
    folder = require_data() / "cmu"
    clips = [folder / f"{name}.bvh" for name in CLIPS]
    settings = [Setting(c, ("max_error", b)) for b in BOUNDS for c in (*OURS, *PEERS)]
    settings.append(Setting("lossless", None))
    out = HERE / "results" / "headline"
    rows = run_bench(clips, settings, out, workers=2, frames="1:")
    write_tables(rows, out)
    (out / "bench.csv").replace(TABLE)


def load():
    lines = TABLE.read_text().splitlines()
    head = [line[2:] for line in lines if line.startswith("#")]
    return head, list(csv.DictReader(line for line in lines if not line.startswith("#")))


def page():
    head, rows = load()
    text = ["# Sizes at equal error", ""]
    text += [
        *ABOUT.splitlines(),
        "",
        f"Clips: {', '.join(CLIPS)}. {'; '.join(head)}.",
        "",
    ]
    for bound in BOUNDS:
        text += _section(
            f"Largest error {bound}", [r for r in rows if r["target"] == f"max_error={bound}"]
        )
    text += _section("Every number bit for bit", [r for r in rows if r["codec"] == "lossless"])
    PAGE.write_text("\n".join(text))
    print(f"wrote {PAGE}", file=sys.stderr)


def _section(title, rows):
    text = [
        f"## {title}",
        "",
        "| codec | payload B | file B | mean error mm | velocity error cm/s | decode f/s |",
    ]
    text.append("|---|--:|--:|--:|--:|--:|")
    lines = []
    for codec in dict.fromkeys(r["codec"] for r in rows):
        mine = [r for r in rows if r["codec"] == codec]
        bad = [r for r in mine if r["failure"]]
        if bad:
            lines.append(
                (float("inf"), f"| {codec} | fails on {len(bad)}: {bad[0]['failure']} | | | | |")
            )
            continue
        frames = [float(r["frames"]) for r in mine]
        sizes = [sum(int(r[c]) for r in mine) for c in COLUMNS[:2]]
        weights = [f / sum(frames) for f in frames]
        mean, velocity = (
            sum(float(r[c]) * w for r, w in zip(mine, weights, strict=True)) for c in COLUMNS[2:4]
        )
        seconds = sum(f / float(r["decode_fps"]) for r, f in zip(mine, frames, strict=True))
        cells = (f"{sizes[0]:,}", f"{sizes[1]:,}", f"{mean:.3f}", f"{velocity:.2f}")
        speed = f"{sum(frames) / seconds:,.0f}"
        lines.append((sizes[1], f"| {codec} | {' | '.join((*cells, speed))} |"))
    return [*text, *(line for _, line in sorted(lines)), ""]


if __name__ == "__main__":
    {"measure": measure, "page": page}[sys.argv[1] if len(sys.argv) == 2 else "page"]()
