"""Size against eps_x: clips encoded at several settings, and what lies between the points."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import numpy as np

from mocpack.clip import Clip
from mocpack.codec import Codec
from mocpack.metrics import measure
from mocpack.rate import raw_size


@dataclass(frozen=True)
class Point:
    """One file: how small, how good."""

    clip: str
    technique: str
    knob: float
    size: int
    ratio: float
    eps_x: float
    foot_skate: float | None


def point(
    name: str, clip: Clip, technique: str, codec: Codec, knob: float, metric: str = "eps_x_cm"
) -> Point:
    """Encode and decode a clip once."""
    payload = codec.encode(clip)
    decoded = codec.decode(payload, clip.header)
    eps_x = measure(metric, clip, decoded)
    assert eps_x is not None
    skate = measure("foot_skate_cm_s", clip, decoded)
    size = len(payload)
    return Point(name, technique, knob, size, raw_size(clip) / size, eps_x, skate)


def curve(
    name: str,
    clip: Clip,
    technique: str,
    codec: Codec,
    knobs: Iterable[float],
    metric: str | None = None,
) -> list[Point]:
    """Encode a clip at several settings of its knob, measured as it aims unless said otherwise."""
    quality = codec.quality
    assert quality is not None
    felt = str(metric or getattr(codec, "metric", "eps_x_cm"))
    found = []
    for knob in knobs:
        value = int(knob) if quality.integer else float(knob)
        made = point(name, clip, technique, replace(codec, **{quality.field: value}), knob, felt)
        found.append(made)
        print(f"  {name} {technique} {knob}: {made.size} B, {made.eps_x:.3f} cm", file=sys.stderr)
    return found


def size_at(points: Sequence[Point], eps_x: float) -> float | None:
    """Return the size in bytes at that error, log-log between its neighbors; None outside."""
    found = sorted(points, key=lambda p: p.eps_x)
    errors = [p.eps_x for p in found]
    if not found or not errors[0] <= eps_x <= errors[-1]:
        return None
    sizes = [p.size for p in found]
    return float(np.exp(np.interp(np.log(eps_x), np.log(errors), np.log(sizes))))


def error_at(points: Sequence[Point], ratio: float) -> float | None:
    """Return eps_x at that compression ratio, log-log between its neighbors; None outside."""
    found = sorted(points, key=lambda p: p.ratio)
    ratios = [p.ratio for p in found]
    if not ratios[0] <= ratio <= ratios[-1]:
        return None
    errors = np.log([p.eps_x for p in found])
    return float(np.exp(np.interp(np.log(ratio), np.log(ratios), errors)))


def of(points: Sequence[Point], clip: str, technique: str) -> list[Point]:
    """Return the points of one clip and technique."""
    return [p for p in points if p.clip == clip and p.technique == technique]


def write_points(points: Sequence[Point], path: Path) -> None:
    """Write points as CSV, the errors with five digits."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["clip", "technique", "knob", "bytes", "ratio", "eps_x_cm", "foot_skate_cm_s"]
        )
        for p in points:
            writer.writerow([f"{v:.5g}" if isinstance(v, float) else v for v in astuple(p)])
