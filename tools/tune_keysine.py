"""Measure what each constant of keysine's encoder saves, on the clips of `cmu-train` alone.

    python tools/tune_keysine.py [NAME ...] [--clips 12] [--frames 300] [--set NAME=VALUES ...]
        [--csv FILE] [--seconds S]
    python tools/tune_keysine.py --count

Encodes the middle frames of clips, evenly chosen, in several cases: within 10, 1 and 0.1 mm; within
1 and 5 mm as a robot would move (every joint a chain of hinges); within a mean of 1 mm. For each
constant of `core/src/keysine/encode/constants.inc` (or those named) it prints by how many per cent
the bytes of its cases change if the constant is smaller (x 0.8), larger (x 1.25) and neutral: the
value at which what it is for does nothing. Whole numbers change by one. `--set` changes constants
for all of this, such as `--set rounding=0.4 weight_tries=1,2`, and prints first what that costs.
`--csv` appends a row per constant to a file, skips constants that the file already has, and
starts no further constant after `--seconds`. `--count` counts the numbers of the encoder: those of
the table, and named ones of other files that are neither mathematics nor given by the format.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mocpack
from mocpack import _core
from mocpack.bench.datasets import collection
from mocpack.codecs.keysine import Keysine
from mocpack.codecs.keysine.codec import encode_natively
from mocpack.errors import BoundError

Constants = dict[str, tuple[float, ...]]

ENCODER = Path(__file__).resolve().parents[1] / "core" / "src" / "keysine" / "encode"
HINGED_CLIPS, HINGED_FRAMES = 6, 120
LESS, MORE = 0.8, 1.25
# cases: the clips that they encode, and the target
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "10 mm": ("plain", {"max_error": 10e-3}),
    "1 mm": ("plain", {"max_error": 1e-3}),
    "0.1 mm": ("plain", {"max_error": 0.1e-3}),
    "hinges 5 mm": ("hinged", {"max_error": 5e-3}),
    "hinges 1 mm": ("hinged", {"max_error": 1e-3}),
    "mean 1 mm": ("plain", {"mean_error": 1e-3}),
    "layers 1 mm": ("plain", {"max_error": 1e-3, "layers": 4}),
}
BOUNDED = ("10 mm", "1 mm", "0.1 mm")
# cases of the constants of a section of the table, if not BOUNDED
SECTION_CASES: dict[str, tuple[str, ...]] = {
    "hinges": ("hinges 5 mm", "hinges 1 mm"),
    "the search for a step, without a bound": ("mean 1 mm",),
    "the search for a mean error": ("mean 1 mm",),
    "layers": ("layers 1 mm",),
    "progress": (),
}
# where a constant does nothing: a number for all of its values
NEUTRAL = {
    "sweeps": 0.0,
    "split_tries": 0.0,
    "weight_tries": 0.0,
    "beam_growth": 0.5,
    "rounding": 0.5,
    "rounding_change": 0.0,
    "repair_candidates": 1.0,
    "give_up_ratio": 1e9,
    "hard_step": 64.0,
    "search_retries": 1.0,
    "retry_margin": 1.0,
    "near_best_ratio": 1.0,
    "origin_falloff": 0.0,
    "max_origin_share": 1.0,
    "turn_price": 0.0,
    "key_share": 0.0,
    "jitter_penalty": 0.0,
    "quartic_penalty": 0.0,
    "quartic_exponent": 0.0,
    "hinge_rounding": 0.33,
    "hinge_quartic": 1.0,
    "hinge_price_ratio": 1.0,
    "hinge_slack_ratio": 1.0,
    "hinge_room_ratio": 0.5,
    "strain_excess": 1.0,
    "free_falloff": 0.0,
    "free_shell": 1.0,
    "free_rounding": 0.5,
    "free_key_price": 0.0,
    "grid_bound": 0.0,
    "grid_step": 1.0,
    "grid_error_penalty": 0.0,
    "grid_inside": 1.0,
    "grid_finer_bits": 0.0,
    "max_vector_turn": 0.0,
    "leap_ratio": 1e9,
    "axes_precision": 0.0,
    "octave_bits": 1.0,
    "axes_turn_bits": 0.0,
    "entropy_factor": 1.0,
    "min_block_seconds": 0.0,
    "sample_frames": 1e9,
    "predictor_bits": 1e9,
    "predictors_per_channel": 1.0,
    "min_square": 1.0,
    "exact_sources": 1.0,
    "max_encodes": 1.0,
    "mean_error_exponent": 1.0,
    "refit_step_ratio": 1e9,
}
# named numbers of other files that were not chosen by experiment, and why
NOT_TUNED = {
    "mathematics": ("PI", "FULL_CIRCLE", "ALMOST", "LEAST_ROOM", "MIN_UNIT", "UNIT_TOLERANCE"),
    "given by the format": [
        "MAX_STILL",
        "MAX_FINE_BITS",
        "MAX_EXCESS",
        "DECODER_MARGIN",
        "FARTHEST_KEY",
        "FINEST_STEP",
        "FIRST_SCALE",
        "PREDICTOR_BANDS",
        "MAX_PACE",
        "SIXTEENTHS",
        "MIN_GROUP_BYTES",
        "SHIFTS",
        "LAYERS",
        "MAX_DISTANCE",
    ],
    "definitions of docs/metrics.md": [
        "FLOOR_SHARE",
        "PLANTED_HEIGHT",
        "PLANTED_SPEED",
        "PLANTED_SPAN",
        "LOWEST_SHARE",
        "FREE_SKATE",
        "SEGMENT",
        "JITTER_HERTZ",
        "JITTER_RATIO",
        "FREE_JITTER",
    ],
    "sizes of arrays": [
        "MAX_CANDIDATES",
        "MAX_STEEPEST",
        "MOST_PLACES",
        "MAX_SOURCES",
        "MAX_KNOWN_ERRORS",
        "LANES",
        "MAX_BANDS",
        "MAX_DEPTH",
        "MAX_CHANGES",
        "KEY_SHARES",
        "CELL_SHARES",
        "NOTHING",
    ],
}


def sections() -> dict[str, str]:
    """Return the section of the table that each constant is in."""
    section, found = "", {}
    for line in (ENCODER / "constants.inc").read_text().splitlines():
        if line.startswith("// ----"):
            section = line.removeprefix("// ----").split(":")[0].strip()
        elif match := re.match(r"NUMBERS?\((\w+)", line):
            found[match[1]] = section
    return found


def stretch(path: Path, frames: int) -> mocpack.Clip:
    """Return the middle of a clip, without its first frame."""
    clip = mocpack.read(path)
    start = max(1, (clip.frame_count - frames) // 2)
    return clip.frames(start, min(clip.frame_count, start + frames))


def clips_of(count: int, frames: int) -> dict[str, list[mocpack.Clip]]:
    """Return stretches of clips as they are, and of fewer as robots would move."""
    from hinge_chains import convert_to_hinges

    paths = [Path(path) for path in collection("cmu-train")]
    paths = paths[:: max(1, len(paths) // count)][:count]
    hinged = paths[:: max(1, len(paths) // HINGED_CLIPS)][:HINGED_CLIPS]
    return {
        "plain": [stretch(path, frames) for path in paths],
        "hinged": [convert_to_hinges(stretch(path, HINGED_FRAMES)) for path in hinged],
    }


def variants(name: str, values: tuple[float, ...]) -> dict[str, tuple[float, ...]]:
    """Return the other values of a constant that are tried, by what they are."""

    def scaled(factor: float) -> tuple[float, ...]:
        if all(value == int(value) and value < 1e3 for value in values):
            step = 1 if factor > 1 else -1
            return tuple(max(0.0, value + step) for value in values)
        return tuple(value * factor for value in values)

    others = {"less": scaled(LESS), "more": scaled(MORE)}
    if name in NEUTRAL:
        others["neutral"] = (NEUTRAL[name],) * len(values)
    return {what: other for what, other in others.items() if other != values}


def changes(sizes: Sequence[int], usual: Sequence[int]) -> str:
    """Return by how many per cent bytes change: all cases alike, then each."""
    each = [100 * (size / other - 1) for size, other in zip(sizes, usual, strict=True)]
    shown = ", ".join(f"{one:+.2f}" for one in each)
    return f"{sum(each) / len(each):+.3f}" + (f" ({shown})" if len(each) > 1 else "")


def other_numbers() -> dict[str, int]:
    """Return the tuned numbers beside the table: those of each named constant, by file and name."""
    kinds = r"(?:double|float|int|size_t|u?int\d+_t)"
    line = re.compile(rf"^\s*(?:static )?const(?:expr)? {kinds} (?=[A-Z])")
    constant = re.compile(r"([A-Z][A-Z0-9_]*)(?:\[\w*\])? = (\{[^}]*\}|[^,;]*)")
    number = re.compile(r"(?<![\w.])\d+\.?\d*(?:e-?\d+)?f?")
    known = {name for names in NOT_TUNED.values() for name in names}
    found = {}
    for path in sorted([*ENCODER.glob("*.cpp"), *ENCODER.glob("*.h")]):
        for text in path.read_text().splitlines():
            if match := line.match(text):
                for name, value in constant.findall(text[match.end() :].split("//")[0]):
                    if name not in known and not name.startswith("MIN_SEGMENT"):
                        found[f"{path.name}: {name}"] = len(number.findall(value))
    return found


class Measurer:
    """Encodes the clips of a case with changed constants; remembers sizes of the usual ones."""

    def __init__(self, clips: dict[str, list[mocpack.Clip]], base: Constants) -> None:
        self.clips, self.base = clips, base
        self.usual: dict[str, int] = {}

    def size(self, case: str, constants: Constants) -> int:
        kind, target = CASES[case]
        codec = Keysine(threads=1, **target)
        return sum(
            len(encode_natively(codec, clip, constants).payload) for clip in self.clips[kind]
        )

    def usual_size(self, case: str) -> int:
        if case not in self.usual:
            self.usual[case] = self.size(case, self.base)
        return self.usual[case]

    def changes(self, cases: Sequence[str], constants: Constants) -> str:
        sizes = [self.size(case, {**self.base, **constants}) for case in cases]
        return changes(sizes, [self.usual_size(case) for case in cases])


def count() -> None:
    listed = sum(len(values) for _, _, values in _core.keysine_constants())
    others = other_numbers()
    print(
        f"{listed} numbers in constants.inc, {sum(others.values())} in other files: "
        f"{', '.join(others) or 'none'}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--clips", type=int, default=12)
    parser.add_argument("--frames", type=int, default=300)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUES")
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--count", action="store_true")
    options = parser.parse_args()
    if options.count:
        count()
        return
    table = {name: tuple(values) for name, _, values in _core.keysine_constants()}
    base: Constants = {}
    for text in options.set:
        name, _, values = text.partition("=")
        base[name] = tuple(map(float, values.split(",")))
    unknown = [name for name in (*options.names, *base) if name not in table]
    if unknown:
        sys.exit(f"no such constants: {', '.join(unknown)}")
    started = time.monotonic()
    measurer = Measurer(clips_of(options.clips, options.frames), base)
    if base:
        usual = [measurer.size(case, {}) for case in CASES]
        changed = [measurer.usual_size(case) for case in CASES]
        for case, before, after in zip(CASES, usual, changed, strict=True):
            print(f"{case}: {before} -> {after} bytes: {100 * (after / before - 1):+.2f} %")
    rows = read_rows(options.csv)
    for name in options.names or ([] if base else table):
        if name in rows or time.monotonic() - started > options.seconds:
            continue
        row = measure(measurer, name, base.get(name, table[name]))
        print(", ".join(row), flush=True)
        if options.csv:
            with options.csv.open("a", newline="") as file:
                csv.writer(file).writerow(row)


def read_rows(path: Path | None) -> set[str]:
    """Return the names that a file has; begins a new file with its header."""
    if path is None:
        return set()
    if not path.exists():
        with path.open("w", newline="") as file:
            file.write("# python tools/tune_keysine.py --csv FILE: change of bytes in per cent\n")
            csv.writer(file).writerow(["name", "value", "cases", "less", "more", "neutral"])
    with path.open(newline="") as file:
        return {row[0] for row in csv.reader(file) if row}


def measure(measurer: Measurer, name: str, values: tuple[float, ...]) -> list[str]:
    """Return a row of the table: name, values, cases, and what other values change."""
    cases = SECTION_CASES.get(sections()[name], BOUNDED)
    found = dict.fromkeys(("less", "more", "neutral"), "")
    for what, other in variants(name, values).items() if cases else ():
        try:
            found[what] = measurer.changes(cases, {name: other})
        except BoundError:
            found[what] = "fails"
    shown = " ".join(f"{value:g}" for value in values)
    return [name, shown, "; ".join(cases), *found.values()]


if __name__ == "__main__":
    main()
