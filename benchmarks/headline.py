"""Measure file sizes at equal error on all of cmu; write docs/benchmarks.md and the README's table.

python benchmarks/headline.py measure [CODEC…]   # rewrites these codecs in results/cmu.csv
python benchmarks/headline.py speed [CODEC…]     # results/speed.csv, on a quiet machine
python benchmarks/headline.py page               # rewrites the page and the table from both files

All codecs take about one hour on one core. An interrupted run continues where it stopped.
"""

import csv
import sys
from pathlib import Path

from mocpack.bench.datasets import collection, require_clip
from mocpack.bench.runner.measure import Setting
from mocpack.bench.runner.run import describe_machine, run_bench

HERE = Path(__file__).parent
RESULTS = HERE / "results"
SIZES, SPEEDS = RESULTS / "cmu.csv", RESULTS / "speed.csv"
ACL = RESULTS / "acl-2.1-cmu.csv"
PAGE = HERE.parent / "docs" / "benchmarks.md"
README = HERE.parent / "README.md"
MARKS = "<!-- {name}: begin -->", "<!-- {name}: end -->"
HOUR = 3600 * 120  # frames

BOUNDS = ("10mm", "1mm", "0.1mm")
OURS = {
    "keysine": "ours, the default",
    "fk-wavelet": "Li et al. 2008",
    "ik-predict": "Li et al. 2008, prediction",
    "rd-pca": "Váša and Brunnett 2014",
    "wavelet-opt": "Beaudoin et al. 2007",
    "wavelet": "Beaudoin et al. 2007",
    "mpeg4-bap": "Chattopadhyay et al. 2007",
    "bap-index": "Chattopadhyay et al. 2007",
    "last-frame": "Li et al. 2008",
    "lossless": "ours, bit for bit",
}
PEERS = {
    "gltfpack": "glTF",
    "gltf-transform": "glTF",
    "gltf-transform:level=high": "glTF",
    "pcodec": "rounded",
    "sz3": "error-bounded",
    "zfp": "error-bounded",
    "float32-zstd": "float32",
    "npz": "float32",
    "bvh-xz": "text, compressed",
}
ABOUT = {**OURS, **PEERS}
WITHOUT_KNOB = ("lossless", "float32-zstd", "npz", "bvh-xz")
QUIET_CLIPS = ("02_01", "49_02")
ROW_SECONDS = 300.0  # time limit per row
SIZE_COLUMNS = (
    "clip",
    "codec",
    "target",
    "frames",
    "failure",
    "payload_bytes",
    "file_bytes",
    "with_model_bytes",
    "ratio_float32",
    "ratio_source",
    "max_error_mm",
    "p99_mm",
    "rms_mm",
    "mean_mm",
    "velocity_cm_s",
    "foot_skate_cm_s",
    "foot_skate_source_cm_s",
    "e30",
    "e30_source",
    "sk_ted",
    "commit",
)
SPEED_COLUMNS = (
    "clip",
    "codec",
    "target",
    "frames",
    "failure",
    "encode_fps",
    "decode_fps",
    "encode_peak_mb",
    "decode_peak_mb",
    "search_seconds",
    "commit",
)


def main(words):
    command, codecs = (words[0], words[1:]) if words else ("page", [])
    for codec in codecs:
        if codec not in ABOUT:
            sys.exit(f"no {codec!r} in this table; it has: {', '.join(ABOUT)}")
    if command == "measure":
        clips = collection("cmu")
        measure(clips, codecs or ABOUT, SIZES, SIZE_COLUMNS, timed=False)
    elif command == "speed":
        clips = [require_clip(f"cmu/{name}") for name in QUIET_CLIPS]
        measure(clips, codecs or ABOUT, SPEEDS, SPEED_COLUMNS, timed=True)
    elif command == "page":
        write_pages()
    else:
        sys.exit(__doc__)


def measure(clips, codecs, table, columns, *, timed):
    """Measure some codecs and replace their rows in the table."""
    settings = [setting for codec in codecs for setting in settings_of(codec)]
    total, count = len(clips) * len(settings), iter(range(1, 1 << 30))
    rows = run_bench(
        clips,
        settings,
        RESULTS / "rows",
        workers=1 if timed else 0,
        frames="1:",
        timed=timed,
        max_seconds=ROW_SECONDS,
        done=lambda: print(f"\r{next(count)} of {total} rows", end="", file=sys.stderr),
    )
    kept = [r for r in load(table)[1] if r["codec"] not in codecs]
    write(table, columns, [*kept, *rows])


def settings_of(codec):
    targets = [None] if codec in WITHOUT_KNOB else [("max_error", bound) for bound in BOUNDS]
    return [Setting(codec, target) for target in targets]


def load(table):
    """Return the head of a table, line by line, and its rows; both empty if it does not exist."""
    if not table.exists():
        return [], []
    lines = table.read_text().splitlines()
    head = [line[2:] for line in lines if line.startswith("#")]
    return head, list(csv.DictReader(line for line in lines if not line.startswith("#")))


def write(table, columns, rows):
    order = list(ABOUT)
    # stable, so the order of clips stays
    rows = sorted(rows, key=lambda r: order.index(r["codec"]))
    with table.open("w", newline="") as file:
        for name, value in describe_machine().items():
            if name not in ("mocpack", "calibration"):  # rows carry their own commit
                file.write(f"# {name}: {value}\n")
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: _short(v) for k, v in row.items()} for row in rows)


def _short(value):
    return f"{value:.6g}" if isinstance(value, float) else value


def write_pages():
    PAGE.write_text(page())
    README.write_text(with_table(README.read_text()))
    print(f"wrote {PAGE} and the table in {README}", file=sys.stderr)


def page():
    """Return docs/benchmarks.md."""
    head, rows = load(SIZES)
    speed_head, speeds = load(SPEEDS)
    frames = sum(int(r["frames"]) for r in rows if r["codec"] == "keysine") // len(BOUNDS)
    clips = len({r["clip"] for r in rows})
    text = [
        "# Sizes at equal error",
        "",
        f"All {clips} clips of `cmu` ({frames:,} frames at 120 a second, 31 joints), the added",
        "T-pose dropped, every codec driven to one largest error over joints, bone ends and skin,",
        "by its own means or by a search of its knob with the real decoder in the loop. Bytes are",
        "sums over the clips; *payload* is the file without skeleton and metadata; *ratio* is to",
        "float32 of the channels that move; *× keysine* compares whole files on clips that both",
        "manage. Errors are means over frames. Made by `python benchmarks/headline.py page` from",
        "`benchmarks/results/cmu.csv`, which `measure` rewrites, all of it or codec by codec.",
        "",
        f"Measured: {'; '.join(head)}.",
        "",
    ]
    for bound in BOUNDS:
        text += [f"## Largest error {bound.replace('mm', ' mm')}", "", *size_table(rows, bound), ""]
    text += ["## Speed and memory", "", *speed_table(speed_head, speeds), ""]
    return "\n".join(text)


def size_table(rows, bound):
    found = {codec: at_bound(rows, codec, bound) for codec in ABOUT}
    ours = {r["clip"]: int(r["file_bytes"]) for r in found["keysine"] if not r["failure"]}
    lines = []
    for codec, mine in found.items():
        if mine:
            lines.append(size_line(codec, mine, ours))
    return [
        "| codec | | payload B | file B | ratio | × keysine | mean error mm | velocity cm/s |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
        *(line for _, line in sorted(lines)),
        *errors(found),
    ]


def at_bound(rows, codec, bound):
    """Return a codec's rows at a bound, or all rows if it has no quality parameter."""
    mine = [r for r in rows if r["codec"] == codec]
    if codec in WITHOUT_KNOB:
        return mine
    return [r for r in mine if r["target"] == f"max_error={bound}"]


def size_line(codec, mine, ours):
    good = [r for r in mine if not r["failure"]]
    name = f"{codec} | {ABOUT[codec]}"
    if not good:
        return float("inf"), f"| {name} | fails on all {len(mine)} | | | | | |"
    both = [r for r in good if r["clip"] in ours]
    times = sum(int(r["file_bytes"]) for r in both) / sum(ours[r["clip"]] for r in both)
    if len(good) < len(mine):
        failed = f"fails on {len(mine) - len(good)} of {len(mine)}"
        return 1000 + times, f"| {name} | {failed} | | | {times:.2f} | | |"
    payload, file = (sum(int(r[c]) for r in good) for c in ("payload_bytes", "file_bytes"))
    raw = sum(float(r["ratio_float32"]) * int(r["file_bytes"]) for r in good)
    cells = (f"{payload:,}", f"{file:,}", f"{raw / file:.1f}", f"{times:.2f}")
    errors = (f"{mean_of(good, 'mean_mm'):.3f}", f"{mean_of(good, 'velocity_cm_s'):.2f}")
    return times, f"| {name} | {' | '.join((*cells, *errors))} |"


def mean_of(rows, column):
    frames = [int(r["frames"]) for r in rows]
    return sum(float(r[column]) * f for r, f in zip(rows, frames, strict=True)) / sum(frames)


def errors(found):
    lines = []
    for codec, mine in found.items():
        failed = [r for r in mine if r["failure"]]
        if failed:
            lines.append(f"- {codec} on {failed[0]['clip']}: {failed[0]['failure']}")
    return ["", *lines] if lines else []


def speed_table(head, rows):
    if not rows:
        return ["Not measured yet: `python benchmarks/headline.py speed`."]
    text = [
        f"On {' and '.join(dict.fromkeys(r['clip'] for r in rows))}, one thread, the median of",
        "up to five runs after one to warm up; memory is what encoder or decoder adds.",
        f"{'; '.join(head)}.",
        "",
        "| codec | largest error | encode f/s | decode f/s | encode MB | decode MB |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for codec in ABOUT:
        for target in dict.fromkeys(r["target"] for r in rows if r["codec"] == codec):
            mine = [r for r in rows if (r["codec"], r["target"]) == (codec, target)]
            text.append(speed_line(codec, target, [r for r in mine if not r["failure"]]))
    return text


def speed_line(codec, target, rows):
    bound = target.removeprefix("max_error=").replace("mm", " mm") or "–"
    if not rows:
        return f"| {codec} | {bound} | fails | | | |"
    frames = sum(int(r["frames"]) for r in rows)
    speeds = [
        f"{frames / sum(int(r['frames']) / float(r[c]) for r in rows):,.0f}"
        for c in ("encode_fps", "decode_fps")
    ]
    peaks = [
        f"{max(float(r[c]) for r in rows):.0f}" if all(r[c] for r in rows) else "–"
        for c in ("encode_peak_mb", "decode_peak_mb")
    ]
    return f"| {codec} | {bound} | {' | '.join((*speeds, *peaks))} |"


def with_table(text):
    """Return the README with its table rewritten."""
    return between(text, "hour", one_hour())


def between(text, name, inside):
    """Return a text with the part between the marks of that name replaced."""
    begin, end = (mark.format(name=name) for mark in MARKS)
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{inside}\n{end}{after}"


def one_hour():
    """Return the README's table: one hour at 120 frames per second, maximum error 1 mm."""
    _, rows = load(SIZES)
    ours = at_bound(rows, "keysine", "1mm")
    frames = sum(int(r["frames"]) for r in ours)
    text = sum(float(r["ratio_source"]) * int(r["file_bytes"]) for r in ours)
    measured = [r for r in csv.DictReader(ACL.read_text().splitlines()) if r["fps"] == "120"]
    acl = [float(r["bits_per_frame"]) / 8 for r in measured if float(r["precision_cm"]) == 0.1]
    sizes = {
        "BVH": text / frames,
        "npz (float32)": bytes_of(rows, "npz") / frames,
        "glTF (gltfpack)": bytes_of(rows, "gltfpack") / frames,
        "ACL 2.1 (games)": sum(acl) / len(acl),
        "**mocpack**": bytes_of(rows, "keysine") / frames,
    }
    cells = [
        f"{HOUR * size / 1e6:,.0f} MB" if size > 50 else f"{HOUR * size / 1e6:.1f} MB"
        for size in sizes.values()
    ]
    return "\n".join(
        [f"| {' | '.join(sizes)} |", "|" + "--:|" * len(sizes), f"| {' | '.join(cells)} |"]
    )


def bytes_of(rows, codec):
    return sum(int(r["file_bytes"]) for r in at_bound(rows, codec, "1mm"))


if __name__ == "__main__":
    main(sys.argv[1:])
