"""Measure time and memory of encoding and decoding by number of frames and joints.

python benchmarks/growth.py measure [CODEC…]   # rewrites those codecs' rows of results/growth.csv
python benchmarks/growth.py page               # docs/growth.md and docs/pictures/growth.svg

Each point runs in its own process with one thread and limits on time and memory. Points that exceed
a limit, or would exceed it at ten times the cost of the point before, are rows that say so.
"""

import csv
import math
import resource
import sys
import time
from pathlib import Path

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.figure import Figure

import mocpack
from mocpack.bench.datasets import collection
from mocpack.bench.runner.measure import measure_cost
from mocpack.bench.runner.run import commit_of_code, describe_machine
from mocpack.errors import MocpackError
from mocpack.model.clip import Clip
from mocpack.testing.motions import chain
from mocpack.workers import LostJob, run_each

HERE = Path(__file__).parent
TABLE = HERE / "results" / "growth.csv"
DOCS = HERE.parent / "docs"
CODECS = (
    "keysine:effort=fast,threads=1",
    "keysine:threads=1",
    "lossless",
    "pca",
    "wavelet",
    "wavelet-opt",
    "bap-index",
    "mpeg4-bap",
    "latent-spline",
    "rd-pca",
    "fk-wavelet",
    "ik-predict",
)
FRAMES = (100, 1_000, 10_000, 100_000, 1_000_000)
JOINTS = (1, 3, 10, 30, 100, 300)
CHAIN_FRAMES = 1_000
MAX_CPU_SECONDS = 150  # of one measurement
MAX_MEGABYTES = 14_000  # maximum of a process, including libraries
COLORS = colormaps["tab20"].colors
COSTS = {
    "encode_seconds": "encode, s",
    "decode_seconds": "decode, s",
    "encode_peak_mb": "memory of encoding, MB",
}
COLUMNS = ("axis", "codec", "size", *COSTS, "decode_peak_mb", "payload_bytes", "failure", "commit")


def joined(frames):
    """Return that many frames of the clips of cmu, concatenated."""
    parts = [mocpack.read(p) for p in collection("cmu")]
    parts = [p.frames(1, p.frame_count) for p in parts]
    repeats = -(-frames // sum(p.frame_count for p in parts))
    turns, places, end = [], [], np.zeros(3)
    for part in parts * repeats:
        place = part.translations - part.translations[0] * [1, 0, 1] + end
        end = place[-1] * [1, 0, 1]
        turns.append(part.rotations)
        places.append(place)
    frame_time = parts[0].frame_time
    turns, places = np.concatenate(turns)[:frames], np.concatenate(places)[:frames]
    return Clip.build(parts[0].skeleton, turns, places, frame_time=frame_time)


def measure_point(axis, size, codec):
    """Return the cost of a codec on a clip of `size` frames or joints."""
    limit_process()
    clip = joined(size) if axis == "frames" else chain(size, CHAIN_FRAMES, scale=0.3 / size)
    try:
        cost, payload = measure_cost(mocpack.parse_codec(codec), clip, clock=time.process_time)
        return {**cost, "payload_bytes": len(payload)}
    except (MocpackError, MemoryError) as error:
        return {"failure": str(error) or "not enough memory"}


def limit_process():
    """Limit the CPU time and memory of this process; SIGXCPU ends it when its time is over."""
    most = MAX_MEGABYTES << 20
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_SECONDS, MAX_CPU_SECONDS + 1))


def measure(codecs):
    commit = commit_of_code()
    for codec in codecs:
        rows = [
            {"axis": axis, "codec": codec, "commit": commit, **row}
            for axis, sizes in (("frames", FRAMES), ("joints", JOINTS))
            for row in climb(axis, codec, sizes)
        ]
        write([*(r for r in load()[1] if r["codec"] != codec), *rows])


def climb(axis, codec, sizes):
    """Yield the row of each size; if one exceeds a limit, larger ones are not tried."""
    hopeless = None
    for size in sizes:
        row = {"size": size, "failure": hopeless}
        if hopeless is None:
            _, found = next(run_each(measure_point, [(axis, size, codec)], workers=1))
            row |= {"failure": found.reason} if isinstance(found, LostJob) else found
            hopeless = outlook(row, axis)
        print(f"{codec} {axis} {size}: {row}", file=sys.stderr)
        yield row


def outlook(row, axis):
    """Return why ten times as many frames would exceed a limit, or None."""
    if row.get("failure"):
        return f"not tried: {row['size']:,} {axis} failed"
    seconds = row["encode_seconds"] + row["decode_seconds"]
    if axis == "frames" and 10 * seconds > MAX_CPU_SECONDS:
        return f"not tried: {row['size']:,} took {row['encode_seconds']:.3g} s to encode"
    return None


def load():
    if not TABLE.exists():
        return [], []
    lines = TABLE.read_text().splitlines()
    head = [line[2:] for line in lines if line.startswith("#")]
    return head, list(csv.DictReader(line for line in lines if not line.startswith("#")))


def write(rows):
    rows = sorted(rows, key=lambda r: CODECS.index(r["codec"]))
    with TABLE.open("w", newline="") as file:
        for name, value in describe_machine().items():
            if name != "mocpack":  # rows carry their own commit
                file.write(f"# {name}: {value}\n")
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: _short(v) for k, v in row.items()} for row in rows)


def _short(value):
    return f"{value:.4g}" if isinstance(value, float) else value


def page():
    """Return docs/growth.md."""
    head, rows = load()
    text = [
        "# How cost grows",
        "",
        "Frames are all clips of `cmu` one after the other, again from the start where they are",
        f"too few; joints are chains of {CHAIN_FRAMES:,} frames. Every codec at its default",
        "setting, one thread, each point in a process of its own with"
        f" {MAX_CPU_SECONDS} s and {MAX_MEGABYTES / 1000:g} GB at most.",
        "Time is the processor's, the median of up to five runs; memory is what encoding or",
        "decoding adds to the process that holds the clip. Made by `python benchmarks/growth.py",
        "page` from `benchmarks/results/growth.csv`, which `measure` rewrites.",
        "",
        f"{'; '.join(head)}.",
        "",
        "![Time and memory against frames and joints, logarithmic](pictures/growth.svg)",
        "",
        "Where time grows a little faster than frames, it is memory's: arrays beyond some 30 MB",
        "are given back to the system and fetched again, page by page, with every step.",
        "`fk-wavelet` encodes 60,000 frames in 6.5 times the processor's own time of 10,000, but",
        "the system's share rises from a twentieth to a quarter; `wavelet` sorts besides.",
        "",
    ]
    for axis in ("frames", "joints"):
        text += [f"## Against {axis}", "", *table(rows, axis), ""]
    return "\n".join(text)


def table(rows, axis):
    lines = [
        "| codec | largest | encode s | decode s | encode MB | decode MB | encode grows by |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    short = []
    for codec in CODECS:
        mine = [r for r in rows if (r["axis"], r["codec"]) == (axis, codec)]
        good = [r for r in mine if not r["failure"]]
        if good:
            last = good[-1]
            cells = [f"{int(last['size']):,}", last["encode_seconds"], last["decode_seconds"]]
            cells += [last["encode_peak_mb"] or "–", last["decode_peak_mb"] or "–"]
            lines.append(f"| {codec} | {' | '.join(cells)} | {_power(good, axis)} |")
        if not mine:
            short.append(f"- {codec}: not measured yet")
        first = next((r for r in mine if r["failure"]), None)
        if first:
            short.append(f"- {codec} at {int(first['size']):,} {axis}: {first['failure']}")
    note = [f"*Grows by*: the power of {axis} between the last two points; 1 is in proportion."]
    return [*lines, "", *note, *(["", "Stopped by a limit:", "", *short] if short else [])]


def _power(good, axis):
    if len(good) < 2:
        return "–"
    a, b = good[-2:]
    power = math.log(float(b["encode_seconds"]) / float(a["encode_seconds"]))
    return f"{axis}^{power / math.log(int(b['size']) / int(a['size'])):.2f}"


def picture(rows):
    figure = Figure(figsize=(12, 7.5), layout="constrained")
    grid = figure.subplots(2, len(COSTS))
    for line, axis in zip(grid, ("frames", "joints"), strict=True):
        for axes, (cost, label) in zip(line, COSTS.items(), strict=True):
            axes.set(xscale="log", yscale="log", xlabel=axis, ylabel=label)
            for number, codec in enumerate(CODECS):
                mine = [r for r in rows if (r["axis"], r["codec"]) == (axis, codec)]
                if not mine:
                    continue
                points = [(int(r["size"]), float(r[cost])) for r in mine if float(r[cost] or 0)]
                style = {"marker": "osD^vP*Xhd<>"[number], "color": COLORS[number]}
                axes.plot(*np.array(points).reshape(-1, 2).T, markersize=4, label=codec, **style)
            sizes, bounds = np.array(FRAMES if axis == "frames" else JOINTS, float), axes.get_ylim()
            slope = 2 * bounds[0] * sizes / sizes[0]
            axes.plot(sizes, slope, ":", color="#999999", linewidth=1, label="in proportion")
            axes.set_ylim(bounds)
            axes.grid(alpha=0.3, which="both", linewidth=0.4)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize=8)
    return figure


def write_page():
    (DOCS / "growth.md").write_text(page())
    figure = picture(load()[1])
    with rc_context({"svg.hashsalt": "growth"}):  # the same picture for the same rows
        figure.savefig(DOCS / "pictures" / "growth.svg", metadata={"Date": None, "Creator": None})


def main(words):
    command, codecs = (words[0], words[1:]) if words else ("page", [])
    for codec in codecs:
        if codec not in CODECS:
            sys.exit(f"no {codec!r} here; there are: {', '.join(CODECS)}")
    if command == "measure":
        measure(codecs or CODECS)
    elif command == "page":
        write_page()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
