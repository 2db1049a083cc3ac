"""Measure what each constant of keysine's encoder is worth, on the clips of `cmu-train` alone.

    python tools/tune_keysine.py [NAME ...] [--clips 12] [--frames 360] [--jobs 1]
        [--set NAME=VALUES ...]
    python tools/tune_keysine.py --count

Encodes stretches from the middle of clips, evenly chosen, at 10, 1 and 0.1 mm. For each constant
of `core/src/keysine/encode/constants.inc` (or those named) it prints the value, and by how many per
cent the bytes change when the constant is smaller (x 0.8), larger (x 1.25) and neutral: the value
at which what it is for does nothing. Whole numbers change by one. `--set` changes constants for all
of this, such as `--set rounding=0.4 sweeps=0,3,6`, and prints first what that costs. `--count`
counts the numbers of the encoder.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import mocpack
from mocpack import _core
from mocpack.bench.datasets import collection
from mocpack.codecs.keysine import Keysine
from mocpack.codecs.keysine.codec import encode_natively

Constants = dict[str, tuple[float, ...]]

ENCODER = Path(__file__).resolve().parents[1] / "core" / "src" / "keysine" / "encode"
BOUNDS = (10e-3, 1e-3, 0.1e-3)  # meters
LESS, MORE = 0.8, 1.25
# where a constant does nothing: a number for all of its values
NEUTRAL = {
    "sweeps": 0.0,
    "split_tries": 0.0,
    "weight_tries": 0.0,
    "beam_width": 1.0,
    "rounding": 0.5,
    "origin_falloff": 0.0,
    "turn_price": 0.0,
    "key_share": 0.0,
    "jitter_penalty": 0.0,
    "quartic_penalty": 0.0,
    "grid_bound": 0.0,
    "grid_error_penalty": 0.0,
    "grid_origin_share": 1.0,
    "axes_precision": 0.0,
    "coarser_axes": 0.0,
    "axes_number_bits": 0.0,
    "axes_turn_bits": 0.0,
    "entropy_factor": 1.0,
    "predictor_bits": 1e9,
    "min_square": 1.0,
    "exact_sources": 1.0,
    "max_retries": 0.0,
}


def stretch(path: Path, frames: int) -> mocpack.Clip:
    """Return the middle of a clip, without its first frame."""
    clip = mocpack.read(path)
    start = max(1, (clip.frame_count - frames) // 2)
    return clip.frames(start, min(clip.frame_count, start + frames))


def sizes_of(path: Path, frames: int, constants: Constants) -> list[int]:
    """Return the bytes of a stretch at each bound."""
    clip = stretch(path, frames)
    return [
        len(encode_natively(Keysine(max_error=bound, threads=1), clip, constants).payload)
        for bound in BOUNDS
    ]


def variants(name: str, values: tuple[float, ...]) -> dict[str, tuple[float, ...] | None]:
    """Return the other values of a constant that are tried, by what they are."""

    def scaled(factor: float) -> tuple[float, ...]:
        if all(value == int(value) for value in values):
            step = 1 if factor > 1 else -1
            return tuple(max(0.0, value + step) for value in values)
        return tuple(value * factor for value in values)

    neutral = (NEUTRAL[name],) * len(values) if name in NEUTRAL else None
    return {"less": scaled(LESS), "more": scaled(MORE), "neutral": neutral}


def changes(sizes: Sequence[int], usual: Sequence[int]) -> str:
    """Return by how many per cent bytes change: all bounds alike, then each."""
    each = [100 * (size / other - 1) for size, other in zip(sizes, usual, strict=True)]
    shown = ", ".join(f"{one:+.2f}" for one in each)
    return f"{sum(each) / len(each):+.3f} ({shown})"


def other_numbers() -> int:
    """Return how many named numbers the encoder's sources hold beside the table."""
    kinds = r"(?:double|float|int|size_t|u?int\d+_t|HingeWay)"
    line = re.compile(rf"^\s*(?:static )?const(?:expr)? {kinds} [A-Z]")
    number = re.compile(r"(?<![\w.])\d+\.?\d*(?:e-?\d+)?f?")
    found = 0
    for path in sorted([*ENCODER.glob("*.cpp"), *ENCODER.glob("*.h")]):
        for text in path.read_text().splitlines():
            if line.match(text):
                found += len(number.findall(text.split("//")[0].split("=", 1)[1]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--clips", type=int, default=12)
    parser.add_argument("--frames", type=int, default=360)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUES")
    parser.add_argument("--count", action="store_true")
    options = parser.parse_args()
    table = {name: tuple(values) for name, _, values in _core.keysine_constants()}
    if options.count:
        listed = sum(map(len, table.values()))
        print(f"{listed} numbers in constants.inc, {other_numbers()} in other files")
        return
    unknown = [name for name in options.names if name not in table]
    if unknown:
        sys.exit(f"no such constants: {', '.join(unknown)}")
    base: Constants = {}
    for text in options.set:
        name, _, values = text.partition("=")
        base[name] = tuple(map(float, values.split(",")))
    paths = [Path(path) for path in collection("cmu-train")]
    paths = paths[:: max(1, len(paths) // options.clips)][: options.clips]

    with ProcessPoolExecutor(options.jobs) as pool:

        def total(constants: Constants) -> list[int]:
            work = partial(sizes_of, frames=options.frames, constants=constants)
            return [sum(column) for column in zip(*pool.map(work, paths), strict=True)]

        usual = total({})
        print(f"{len(paths)} clips of cmu-train: {usual} bytes at 10, 1 and 0.1 mm", flush=True)
        if base:
            changed = total(base)
            print(f"with {base}: {changes(changed, usual)} %", flush=True)
            usual = changed
        for name in options.names or ([] if base else table):
            values = base.get(name, table[name])
            shown = ", ".join(f"{value:g}" for value in values)
            print(f"{name} = {shown}", flush=True)
            for what, other in variants(name, values).items():
                if other is not None and other != values:
                    sizes = total({**base, name: other})
                    print(f"    {what:8}{changes(sizes, usual)} %", flush=True)


if __name__ == "__main__":
    main()
