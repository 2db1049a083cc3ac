"""Result of `compare`: the value of every metric, and the worst joints and frames."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from mocpack.common.arguments import check_number
from mocpack.common.arrays import F64
from mocpack.common.json_object import JsonObject
from mocpack.common.texts import count_of
from mocpack.common.units import format_angle, format_length

MIN_SHOWN = 1e-9  # of any metric; less is rounding of float64, shown as 0
MAX_WORST = 5  # worst joints and frames to list
POSITION_SLACK_M = 1e-6  # allowed difference between the arithmetic of decoders
ANGLE_SLACK_RAD = 1e-9  # the same for angles
MAX_ADDED_SKATE_CM_S = 0.5  # planted feet may move this much faster than in the source


@dataclass(frozen=True)
class Worst:
    """A joint and frame with a large error."""

    joint: str
    frame: int
    error_mm: float


@dataclass(frozen=True)
class Row:
    """The value of one metric; `paper` is the paper that defines it, if only papers use it."""

    key: str
    title: str
    unit: str
    value: float | None
    paper: str = ""


@dataclass(frozen=True)
class Comparison:
    """All metrics of two clips; `str` returns a verdict and a table, `to_dict` JSON values.

    Attributes
    ----------
    rows : tuple of Row
        In the order of `METRICS`; the value is None if the metric does not apply.
    worst : tuple of Worst
        The worst joints, each at its worst frame.
    worst_frames : tuple of Worst
        The worst frames, at least one second apart, each with its worst joint.
    end_sites_ignored : int
        End sites that only one of the clips has, which no metric includes.
    """

    rows: tuple[Row, ...]
    worst: tuple[Worst, ...]
    worst_frames: tuple[Worst, ...]
    end_sites_ignored: int = 0

    def __getitem__(self, key: str) -> float | None:
        return self.values[key]

    @property
    def values(self) -> Mapping[str, float | None]:
        """Value of each metric by its key."""
        return {row.key: row.value for row in self.rows}

    def to_dict(self) -> JsonObject:
        """Return the values that `compare --json` prints."""
        return {
            **self.values,
            "worst": [asdict(place) for place in self.worst],
            "worst_frames": [asdict(place) for place in self.worst_frames],
            "end_sites_ignored": self.end_sites_ignored,
        }

    def __str__(self) -> str:
        return f"{self.verdict()}\n\n{self.table()}"

    def is_within(self, bound: float) -> bool:
        """Return whether the largest error is within a bound in meters."""
        check_number("bound", bound, 0, math.inf)
        return (self["max_error_mm"] or 0.0) / 1000 <= bound + POSITION_SLACK_M

    def is_within_angle(self, bound: float) -> bool:
        """Return whether the largest angle error is within a bound in radians."""
        check_number("bound", bound, 0, math.inf)
        return math.radians(self["angle_deg_max"] or 0.0) <= bound * (1 + 1e-6) + ANGLE_SLACK_RAD

    def verdict(self, bound: float | None = None, angle: float | None = None) -> str:
        """Return a one-paragraph verdict: the largest error, its location, and whether bounds hold.

        Parameters
        ----------
        bound : float, optional
            Maximum error in meters.
        angle : float, optional
            Maximum angle error in radians.
        """
        for name, limit in (("bound", bound), ("angle", angle)):
            if limit is not None:
                check_number(name, limit, 0, math.inf)
        largest = format_length((self["max_error_mm"] or 0.0) / 1000)
        where = f" at {self.worst[0].joint}, frame {self.worst[0].frame}" if self.worst else ""
        sentence = f"The largest error is {largest}{where}"
        if bound is not None:
            kept = "within" if self.is_within(bound) else "NOT within"
            sentence += f": {kept} the declared {format_length(bound)}"
        if angle is not None:
            kept = "within" if self.is_within_angle(angle) else "NOT within"
            off = format_angle(math.radians(self["angle_deg_max"] or 0.0))
            sentence += f"; angles are {off} off, {kept} the {format_angle(angle)} declared"
        mean = format_length((self["mean_mm"] or 0.0) / 1000)
        sentence = f"{sentence}. The mean is {mean}. {self._describe_skating()}".rstrip()
        if self.end_sites_ignored:
            count = count_of(self.end_sites_ignored, "end site")
            sentence += f" {count} of one motion not compared, because the other has none."
        return sentence

    def _describe_skating(self) -> str:
        now, before = self.values.get("foot_skate_cm_s"), self.values.get("foot_skate_source_cm_s")
        if now is None or before is None:
            return ""
        if now - before <= MAX_ADDED_SKATE_CM_S:
            return f"Planted feet move as in the source ({now:.2g} cm/s, source {before:.2g})."
        return f"Planted feet slide: {now:.2g} cm/s, source {before:.2g}."

    def table(self, *, papers: bool = False) -> str:
        """Return one line per metric that applies, then the worst joints and frames.

        With `papers`, the table includes metrics that only papers use, with the paper of each.
        """
        rows = [row for row in self.rows if row.value is not None and (papers or not row.paper)]
        width = max(len(row.title) for row in rows)
        lines = [
            f"{row.title:{width}}  {_number(row.value):>10} {row.unit:6}  {row.key:30}"
            f"{row.paper}".rstrip()
            for row in rows
        ]
        for title, places in (("worst joints", self.worst), ("worst frames", self.worst_frames)):
            lines.append(f"{title}:")
            lines += [f"  {w.joint} at frame {w.frame}: {w.error_mm:.4g} mm" for w in places]
        return "\n".join(lines)


def worst_joints(displacements: F64, names: tuple[str, ...]) -> tuple[Worst, ...]:
    """Return the joints with the largest displacements (T, J), given in meters."""
    frames = displacements.argmax(0)
    peaks = displacements.max(0)
    order = np.argsort(-peaks, kind="stable")[:MAX_WORST]
    return tuple(Worst(names[j], int(frames[j]), 1e3 * float(peaks[j])) for j in order)


def worst_frames(
    displacements: F64, names: tuple[str, ...], frame_rate: float
) -> tuple[Worst, ...]:
    """Return the frames with the largest displacements (T, J), at least one second apart."""
    peaks = displacements.max(1)
    left = peaks.copy()
    found: list[Worst] = []
    apart = max(1, round(frame_rate))
    while len(found) < MAX_WORST and left.max() >= 0:
        t = int(left.argmax())
        found.append(Worst(names[displacements[t].argmax()], t, 1e3 * float(peaks[t])))
        left[max(0, t - apart + 1) : t + apart] = -1
    return tuple(found)


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{0.0 if abs(value) < MIN_SHOWN else value:.4g}"
