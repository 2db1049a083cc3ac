"""Check that `keysine` keeps its error bound on every available clip.

    python benchmarks/promise.py [--jobs N] [--only TEXT] [--limit N]

Each clip of cmu, asfamc, bandai and dog (the last two are in the folder that MOCPACK_DATA names) at
10, 1 and 0.1 mm, `fast` and `default`, and `best` on every tenth clip. Rows go to
results/promise.csv as they are made; an interrupted run continues where it stopped, and rows of
another state of the codec are made again. Ends with 1 if a bound is broken or a clip refused, and
says which files jitter or skate.
"""

import argparse
import csv
import hashlib
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import mocpack
from mocpack.bench.datasets import CHECKOUT, collection
from mocpack.codecs.keysine import Keysine
from mocpack.errors import MocpackError, UsageError
from mocpack.metrics.contacts import foot_skate_excess
from mocpack.metrics.spectrum import jitter
from mocpack.metrics.table import compare
from mocpack.model.clip import measure_error

TABLE = Path(__file__).parent / "results" / "promise.csv"
BOUNDS_MM = (10.0, 1.0, 0.1)
# the code that determines the bytes
CODE = ("core/src/keysine", "core/src/common", "src/mocpack/codecs/keysine", "src/mocpack/coding")
SOURCES = (".h", ".cpp", ".inc", ".py")
BEST_EVERY = 10  # clips
METRICS = {  # column: metric of `compare`
    "mean_mm": "mean_mm",
    "skate": "foot_skate_cm_s",
    "skate_source": "foot_skate_source_cm_s",
    "e15": "e15",
    "e15_source": "e15_source",
    "e30": "e30",
    "e30_source": "e30_source",
}
COLUMNS = (
    *("clip", "frames", "joints", "effort", "bound_mm", "error_mm", "payload"),
    *METRICS,
    *("jitter", "foot_skate", "seconds", "refusal", "stamp"),
)


def paths():
    """Return all available clips; print the missing collections."""
    found = []
    for name in ("cmu", "bandai", "dog", "asfamc"):
        try:
            found += collection(name)
        except UsageError as missing:
            print(f"left out: {missing}", flush=True)
    return found


def tasks():
    """Return all (path, effort, bound in mm), the fast ones of each clip first."""
    for number, path in enumerate(paths()):
        efforts = ("fast", "default", *(["best"] if number % BEST_EVERY == 0 else []))
        yield from ((path, effort, bound) for effort in efforts for bound in BOUNDS_MM)


def stamp():
    """Return a hash of the codec's code."""
    code = hashlib.sha1()
    for folder in CODE:
        for path in sorted((CHECKOUT / folder).rglob("*.*")):
            if path.suffix in SOURCES:
                code.update(path.read_bytes())
    return code.hexdigest()[:10]


def measured(path, effort, bound):
    """Return the row of one file; its column `refusal` has the error if encoding fails."""
    row = {"clip": name_of(path), "effort": effort, "bound_mm": bound}
    clip = mocpack.read(path)
    row |= {"frames": clip.frame_count, "joints": len(clip.skeleton)}
    codec = Keysine(max_error=bound / 1000, effort=effort, threads=1)
    start = time.perf_counter()
    try:
        payload = codec.encode(clip)
        back = codec.decode(payload, clip.header)
    except MocpackError as refusal:
        return row | {"refusal": str(refusal)}
    row["seconds"] = f"{time.perf_counter() - start:.3f}"
    row |= {"error_mm": 1000 * measure_error(clip, back).max, "payload": len(payload)}
    found = compare(clip, back).values
    row |= {column: found[metric] for column, metric in METRICS.items()}
    calm = {
        "jitter": jitter(clip, back, bound / 1000),
        "foot_skate": foot_skate_excess(clip, back, bound / 1000),
    }
    return row | calm


def name_of(path):
    return f"{path.parent.name}/{path.stem}"


def key_of(row):
    return row["clip"], row["effort"], float(row["bound_mm"])


def earlier(current):
    """Return the rows of an earlier run with the same code, by key."""
    if not TABLE.exists():
        return {}
    with TABLE.open(newline="") as file:
        return {key_of(row): row for row in csv.DictReader(file) if row["stamp"] == current}


def run(*, jobs=1, only="", limit=None):
    """Measure the missing rows; return how many files exceed their bound."""
    current = stamp()
    rows = earlier(current)
    wanted = [t for t in tasks() if only in name_of(t[0])][:limit]
    missing = [t for t in wanted if (name_of(t[0]), t[1], t[2]) not in rows]
    print(f"{len(wanted)} files, {len(wanted) - len(missing)} of them measured before", flush=True)
    with TABLE.open("w", newline="") as file, ProcessPoolExecutor(jobs) as pool:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows.values())
        futures = [pool.submit(measured, *task) for task in missing]
        for number, future in enumerate(as_completed(futures), 1):
            row = future.result() | {"stamp": current}
            rows[key_of(row)] = row
            table.writerow(row)
            file.flush()
            say(row, number, len(missing))
    return summary([row for row in rows.values() if only in row["clip"]])


def say(row, number, count):
    verdict = "" if keeps_bound(row) else f" BROKEN {row.get('refusal') or ''}"
    unrest = "" if calm(row) else f" jitters {row['jitter']:.2f} skates {row['foot_skate']:.2f}"
    error = row.get("error_mm") or float("nan")
    print(
        f"[{number}/{count}] {row['clip']} {row['effort']} {row['bound_mm']:g} mm: {error:.4f} mm, "
        f"{row.get('payload')} bytes{verdict}{unrest}",
        flush=True,
    )


def keeps_bound(row):
    return not row.get("refusal") and float(row["error_mm"]) <= float(row["bound_mm"])


def calm(row):
    return bool(row.get("refusal")) or max(float(row["jitter"]), float(row["foot_skate"])) <= 1


def summary(rows):
    broken = [row for row in rows if not keeps_bound(row)]
    for effort in ("fast", "default", "best"):
        for bound in BOUNDS_MM:
            part = [r for r in rows if r["effort"] == effort and float(r["bound_mm"]) == bound]
            if not part:
                continue
            size = sum(int(r["payload"]) for r in part if not r.get("refusal"))
            restless = sum(not calm(r) for r in part)
            broke = sum(not keeps_bound(r) for r in part)
            print(
                f"{effort:8}{bound:5g} mm: {len(part):3} files, {size:9} bytes, "
                f"{broke} broken, {restless} jitter or foot_skate"
            )
    print(f"{len(rows)} files, {len(broken)} broken")
    return len(broken)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="clips whose name holds this text")
    parser.add_argument("--limit", type=int, help="this many files at most")
    sys.exit(1 if run(**vars(parser.parse_args())) else 0)


if __name__ == "__main__":
    main()
