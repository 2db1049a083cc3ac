"""Measure cut files of several layers: mean errors against direct coding and fk-wavelet.

For each clip, the file in four layers is cut at 25, 50 and 75 % of its payload. Direct coding at
the same bytes is interpolated from files of one layer with larger bounds. `fk-wavelet` is coded
once per clip, with a step of half the bound, and its file is cut to the same bytes.
"""

import csv
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

import mocpack
from mocpack.codecs.keysine import Keysine
from mocpack.codecs.registry import parse_codec
from mocpack.errors import TruncatedError
from mocpack.model.clip import Clip, measure_error

CUTS = (0.25, 0.5, 0.75)
BOUND_RATIO = 1.6  # between neighboring files of one layer
LAYERS = 4
RESULTS = Path(__file__).parent / "results" / "progressive.csv"


@dataclass(frozen=True)
class Cut:
    """One clip within one bound; errors are mean errors of joints in meters, at each cut."""

    clip: str
    bound: float
    single: int  # bytes
    layered: int
    ends: str  # of the layers, in % of the payload
    cut: tuple[float, ...]
    direct: tuple[float, ...]
    wavelet: tuple[float, ...]

    @property
    def overhead(self) -> float:
        return self.layered / self.single - 1


def mean_error(clip: Clip, back: Clip) -> float:
    """Return the mean displacement of joints in meters."""
    return measure_error(clip, back).joint_mean


def direct_curve(clip: Clip, bound: float, bytes_down_to: float) -> tuple[list[int], list[float]]:
    """Return bytes and mean errors of files of one layer, from `bound` to coarser bounds."""
    sizes: list[int] = []
    errors: list[float] = []
    while not sizes or (sizes[-1] > bytes_down_to and bound < 0.6):
        codec = Keysine(max_error=bound)
        payload = codec.encode(clip)
        sizes.append(len(payload))
        errors.append(mean_error(clip, codec.decode(payload, clip.header)))
        bound *= BOUND_RATIO
    return sizes, errors


def error_at(size: float, sizes: list[int], errors: list[float]) -> float:
    """Return the error of direct coding at a size, interpolated in logarithms."""
    order = np.argsort(sizes)
    logs = np.interp(np.log(size), np.log(np.array(sizes)[order]), np.log(np.array(errors)[order]))
    return float(np.exp(logs))


def cut_errors(clip: Clip, codec, payload: bytes, sizes: list[int]) -> tuple[float, ...]:
    """Return the mean errors of a payload that is cut to these sizes."""
    cuts = (payload[: min(size, len(payload))] for size in sizes)
    return tuple(mean_error(clip, codec.open(cut, clip.header).partial()) for cut in cuts)


def _error_if_playable(clip: Clip, codec, payload: bytes, size: int) -> float:
    try:
        return cut_errors(clip, codec, payload, [size])[0]
    except TruncatedError:  # a part that the codec needs is missing
        return float("inf")


def measure(
    name: str, clip: Clip, bound: float, *, curve=None, with_wavelet: bool = True, codec=None
) -> Cut:
    codec = codec or Keysine(max_error=bound, layers=LAYERS)
    payload = codec.encode(clip)
    sizes = [round(cut * len(payload)) for cut in CUTS]
    curve = curve or direct_curve(clip, bound, 0.95 * sizes[0])
    wavelet: tuple[float, ...] = (float("inf"),) * len(CUTS)
    if with_wavelet:
        other = parse_codec(f"fk-wavelet:step={bound / 2}")
        whole = other.encode(clip)
        wavelet = tuple(_error_if_playable(clip, other, whole, size) for size in sizes)
    ends = [layer.end for layer in codec.open(payload, clip.header).layout().layers]
    return Cut(
        name,
        bound,
        curve[0][0],
        len(payload),
        " ".join(f"{100 * end / len(payload):.0f}" for end in ends),
        cut_errors(clip, codec, payload, sizes),
        tuple(error_at(size, *curve) for size in sizes),
        wavelet,
    )


def describe(found: list[Cut]) -> str:
    """Return the figures of several clips."""
    ratios = np.array([[c / d for c, d in zip(f.cut, f.direct, strict=True)] for f in found])
    ahead = np.sum([[c < w for c, w in zip(f.cut, f.wavelet, strict=True)] for f in found], axis=0)
    mean = np.exp(np.log(ratios).mean(axis=0))
    larger = np.array([f.overhead for f in found])
    whole = sum(f.layered for f in found) / sum(f.single for f in found) - 1
    return (
        f"{len(found)} clips: mean error over direct coding "
        + " / ".join(f"{r:.2f}" for r in mean)
        + "; ahead of fk-wavelet on "
        + " / ".join(map(str, ahead))
        + f"; larger than one layer by {100 * larger.mean():.1f} % "
        f"(mean; {100 * larger.min():.1f} to {100 * larger.max():.1f}; "
        f"all bytes {100 * whole:.1f})"
    )


def run(paths: list[Path], bound: float) -> str:
    """Measure clips without their added T-pose, one line each, and return all figures.

    Continues an interrupted run (`results/progressive.csv`).
    """
    found = [cut for cut in _stored() if cut.bound == bound]
    known = {cut.clip for cut in found}
    for path in paths:
        if path.stem in known:
            continue
        clip = mocpack.read(path)
        found.append(measure(path.stem, clip.frames(1, clip.frame_count), bound))
        _store(found[-1])
        print(describe(found[-1:]), path.stem, found[-1].ends, flush=True)
    return describe(found)


def _stored() -> list[Cut]:
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return [_parse(row) for row in csv.DictReader(file)]


def _parse(row: dict[str, str]) -> Cut:
    lists = {name: tuple(map(float, row[name].split())) for name in ("cut", "direct", "wavelet")}
    sizes = int(row["single"]), int(row["layered"])
    return Cut(row["clip"], float(row["bound"]), *sizes, row["ends"], **lists)


def _store(cut: Cut) -> None:
    names = [field.name for field in fields(Cut)]
    is_new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        out = csv.writer(file)
        if is_new:
            out.writerow(names)
        values = (getattr(cut, name) for name in names)
        out.writerow(
            " ".join(f"{v:.6g}" for v in value) if isinstance(value, tuple) else value
            for value in values
        )
