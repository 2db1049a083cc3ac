"""Size against eps_x: clips encoded at several settings, interpolated between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from mocpack.bench.papers.measuring import interpolate_log, report_progress
from mocpack.codec import Codec
from mocpack.metrics import measure
from mocpack.model.clip import Clip
from mocpack.rate import raw_size


@dataclass(frozen=True)
class Point:
    """Size and error of one file."""

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
    return point_of(name, clip, technique, codec, knob, codec.encode(clip), metric)


def point_of(
    name: str,
    clip: Clip,
    technique: str,
    codec: Codec,
    knob: float,
    payload: bytes,
    metric: str = "eps_x_cm",
) -> Point:
    """Return size and error of a payload."""
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
    """Encode a clip at several settings; the default metric is the one that the codec minimizes."""
    quality = codec.quality
    assert quality is not None
    by = str(metric or getattr(codec, "metric", "eps_x_cm"))
    found = []
    for knob in knobs:
        value = int(knob) if quality.integer else float(knob)
        made = point(name, clip, technique, replace(codec, **{quality.field: value}), knob, by)
        found.append(made)
        report_progress(f"{name} {technique} {knob}: {made.size} B, {made.eps_x:.3f} cm")
    return found


def size_at(points: Sequence[Point], eps_x: float) -> float | None:
    """Return the size in bytes at that error, log-log between its neighbors; None outside."""
    return interpolate_log(eps_x, [(p.eps_x, p.size) for p in points])


def error_at(points: Sequence[Point], ratio: float) -> float | None:
    """Return eps_x at that compression ratio, log-log between its neighbors; None outside."""
    return interpolate_log(ratio, [(p.ratio, p.eps_x) for p in points])


def of(points: Sequence[Point], clip: str, technique: str) -> list[Point]:
    """Return the points of one clip and technique."""
    return [p for p in points if p.clip == clip and p.technique == technique]
