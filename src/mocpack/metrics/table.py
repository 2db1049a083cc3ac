"""The table of metrics: key, title, unit, source and function of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, SupportsFloat

import numpy as np

from mocpack.common.arrays import F64
from mocpack.errors import UsageError
from mocpack.metrics import angles, contacts, papers, position, spectrum, take_data
from mocpack.metrics.comparison import Comparison, Row, worst_frames, worst_joints
from mocpack.metrics.pair import AnyPair, SkeletonPair, pair_clips
from mocpack.model.clip import AnyClip
from mocpack.model.rotations import angle_between

MM, CM = 1e3, 1e2  # per meter
ORIGINAL, DECODED = 0, 1  # in a pair
Statistic = Callable[[F64], SupportsFloat]


@dataclass(frozen=True)
class Metric:
    """One metric.

    Attributes
    ----------
    key : str
        Its name in `compare --json`.
    title, unit, source : str
        For display.
    measure : callable
        Returns the value in `unit` for a pair of clips, or None if it does not apply.
    kinds : tuple of str
        Kinds of clips that it measures.
    """

    key: str
    title: str
    unit: str
    source: str
    measure: Callable[[Any], float | None]
    kinds: tuple[str, ...] = ("skeleton",)


PAPERS = frozenset(
    {
        "Beaudoin et al. 2007",
        "Chattopadhyay et al. 2007",
        "Mukai; Karni and Gotsman 2004",
        "Váša and Brunnett 2014",
        "Li et al. 2008",
    }
)
BOTH = ("skeleton", "vertices")
MESH = ("vertices",)

# fmt: off
METRICS = (
    Metric("max_error_mm", "largest error, with bone ends and skin", "mm", "",
           lambda p: MM * p.max_error, BOTH),
    Metric("max_joint_mm", "largest joint error", "mm", "",
           lambda p: MM * np.max(p.distances), BOTH),
    Metric("p99_mm", "99th percentile of joint errors", "mm", "",
           lambda p: MM * np.percentile(p.distances, 99), BOTH),
    Metric("rms_mm", "root-mean-square joint error", "mm", "",
           lambda p: MM * position.rms(p.distances), BOTH),
    Metric("mean_mm", "mean joint error", "mm", "",
           lambda p: MM * np.mean(p.distances), BOTH),
    Metric("rotation_deg_max", "largest world rotation error", "deg", "",
           lambda p: _world_degrees(p, np.max)),
    Metric("rotation_deg_mean", "mean world rotation error", "deg", "",
           lambda p: _world_degrees(p, np.mean)),
    Metric("local_rotation_deg_max", "largest local rotation error", "deg", "",
           lambda p: _local_degrees(p, np.max)),
    Metric("local_rotation_deg_mean", "mean local rotation error", "deg", "",
           lambda p: _local_degrees(p, np.mean)),
    Metric("angle_deg_max", "largest error of a hinge angle or joint rotation", "deg", "",
           lambda p: np.degrees(angles.largest_angle(p.original, p.decoded))),
    Metric("angle_deg_mean", "mean error of hinge angles and joint rotations", "deg", "",
           lambda p: np.degrees(np.mean(angles.angle_errors(p.original, p.decoded)))),
    Metric("angle_velocity_rms_deg_s", "RMS error of angular velocity", "deg/s", "",
           lambda p: _angle_rate(p, 1, position.rms)),
    Metric("angle_velocity_max_deg_s", "largest error of angular velocity", "deg/s", "",
           lambda p: _angle_rate(p, 1, np.max)),
    Metric("angle_acceleration_rms_deg_s2", "RMS error of angular acceleration", "deg/s²", "",
           lambda p: _angle_rate(p, 2, position.rms)),
    Metric("angle_acceleration_max_deg_s2", "largest error of angular acceleration", "deg/s²", "",
           lambda p: _angle_rate(p, 2, np.max)),
    Metric("velocity_cm_s", "mean velocity error", "cm/s", "",
           lambda p: _velocity(p, np.mean), BOTH),
    Metric("velocity_max_cm_s", "largest velocity error", "cm/s", "",
           lambda p: _velocity(p, np.max), BOTH),
    Metric("foot_skate_cm_s", "speed of planted feet", "cm/s", "",
           lambda p: _skate(p, DECODED)),
    Metric("foot_skate_source_cm_s", "speed of planted feet in the source", "cm/s", "",
           lambda p: _skate(p, ORIGINAL)),
    Metric("e15", "energy above 15 Hz", "mm²", "Welch 1967",
           lambda p: _energy(p, 15, DECODED), BOTH),
    Metric("e15_source", "energy above 15 Hz in the source", "mm²", "Welch 1967",
           lambda p: _energy(p, 15, ORIGINAL), BOTH),
    Metric("e30", "energy above 30 Hz", "mm²", "Welch 1967",
           lambda p: _energy(p, 30, DECODED), BOTH),
    Metric("e30_source", "energy above 30 Hz in the source", "mm²", "Welch 1967",
           lambda p: _energy(p, 30, ORIGINAL), BOTH),
    Metric("eps_x_cm", "eps_x, at bone ends", "cm", "Beaudoin et al. 2007",
           lambda p: _eps_x(p)),
    Metric("eps_x_center_cm", "eps_x, at joint centers", "cm", "Beaudoin et al. 2007",
           lambda p: _eps_x(p, at="center")),
    Metric("def_cm", "DEF, sum over joints", "cm", "Chattopadhyay et al. 2007",
           lambda p: CM * papers.displacement_error(p.distances)),
    Metric("def_units", "DEF, in the source's unit", "", "Chattopadhyay et al. 2007",
           lambda p: papers.displacement_error(p.distances) / p.original.unit),
    Metric("e_d", "E_D of positions", "%", "Mukai; Karni and Gotsman 2004",
           lambda p: papers.e_d(*p.points), BOTH),
    Metric("e_d_dofs", "E_D of degrees of freedom", "%", "Mukai; Karni and Gotsman 2004",
           lambda p: None if p.dofs is None else papers.e_d(*p.dofs)),
    Metric("me_cm", "ME, mean joint error", "cm", "Váša and Brunnett 2014",
           lambda p: CM * np.mean(p.distances)),
    Metric("sk_ted", "SkTED, change of speed", "", "Váša and Brunnett 2014",
           lambda p: papers.sk_ted(*p.points)),
    Metric("e_position_cm", "E_position", "cm", "Li et al. 2008",
           lambda p: CM * np.mean(p.distances)),
    Metric("e_angle_deg", "E_angle", "deg", "Li et al. 2008",
           lambda p: _e_angle(p)),
    Metric("scale_max", "largest error of a scale", "", "",
           lambda p: take_data.scale_error(p.original, p.decoded)),
    Metric("time_max_ms", "largest error of a frame's time", "ms", "",
           lambda p: _scaled(take_data.time_error(p.original, p.decoded), 1e3)),
    Metric("gaps_changed", "samples whose gap flag changed", "", "",
           lambda p: take_data.count_changed_gaps(p.original, p.decoded)),
    Metric("track_over_bound", "largest track error relative to its bound", "", "",
           lambda p: take_data.track_error(p.original, p.decoded)),
    Metric("sted", "STED, change of the surface", "", "Váša and Skala 2011",
           lambda p: p.sted.total, MESH),
    Metric("sted_spatial", "STED, edges in space", "", "Váša and Skala 2011",
           lambda p: p.sted.spatial, MESH),
    Metric("sted_temporal", "STED, edges in time", "", "Váša and Skala 2011",
           lambda p: p.sted.temporal, MESH),
)
# fmt: on


def compare(original: AnyClip, decoded: AnyClip) -> Comparison:
    """Measure `decoded` against `original` with all metrics.

    Raises
    ------
    UsageError
        If the clips differ in frame count, frame rate, skeleton or mesh. Joints are matched by
        name, and end sites are left out if only one clip has any.
    """
    both = pair_clips(original, decoded)
    rows = tuple(
        Row(m.key, m.title, m.unit, _value(m, both), m.source if m.source in PAPERS else "")
        for m in METRICS
    )
    names = _names(both)
    return Comparison(
        rows,
        worst_joints(both.displacements, names),
        worst_frames(both.displacements, names, both.frame_rate),
        both.end_sites_ignored,
    )


def measure(key: str, original: AnyClip, decoded: AnyClip) -> float | None:
    """Measure `decoded` against `original` with one metric, given by its key."""
    metric = next((m for m in METRICS if m.key == key), None)
    if metric is None:
        raise UsageError(f"unknown metric {key!r}; metrics: {', '.join(m.key for m in METRICS)}")
    return _value(metric, pair_clips(original, decoded))


def _value(metric: Metric, both: AnyPair) -> float | None:
    if both.kind not in metric.kinds:
        return None
    value = metric.measure(both)
    return None if value is None else float(value)


def _names(both: AnyPair) -> tuple[str, ...]:
    if isinstance(both, SkeletonPair):
        return both.skeleton.names
    return tuple(f"vertex {v}" for v in range(both.original.header.vertex_count))


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale


def _eps_x(p: SkeletonPair, at: Literal["end", "center"] = "end") -> float | None:
    return _scaled(papers.eps_x(p.skeleton, p.points, p.ends, at=at), CM)


def _e_angle(p: SkeletonPair) -> float | None:
    if p.dofs is None:
        return None
    return _scaled(papers.e_angle(p.skeleton, *p.dofs), np.degrees(1.0))


def _velocity(p: AnyPair, statistic: Statistic) -> float | None:
    """Return a statistic of |v - v̂| over points and pairs of frames; None for a single frame."""
    a, b = (np.diff(points, axis=0) * p.frame_rate for points in p.points)
    return CM * float(statistic(position.distances(a, b))) if len(a) else None


def _skate(p: SkeletonPair, which: int) -> float | None:
    found = contacts.foot_skate(p.skeleton, *p.points, p.frame_rate)
    return None if found is None else CM * found[which]


def _energy(p: AnyPair, hertz: float, which: int) -> float | None:
    return _scaled(spectrum.energy_above(p.points[which], p.frame_rate, hertz), MM**2)


def _angle_rate(p: SkeletonPair, order: int, statistic: Statistic) -> float | None:
    errors = angles.rate_errors(p.original, p.decoded, order)
    return None if errors is None else float(np.degrees(float(statistic(errors))))


def _world_degrees(p: SkeletonPair, statistic: Statistic) -> float:
    return float(np.degrees(float(statistic(angle_between(p.worlds[0][1], p.worlds[1][1])))))


def _local_degrees(p: SkeletonPair, statistic: Statistic) -> float:
    turned = angle_between(p.original.rotations, p.decoded.rotations)
    return float(np.degrees(float(statistic(turned))))
