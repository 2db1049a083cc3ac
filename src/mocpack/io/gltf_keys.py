"""Evaluate the keys of glTF animations, and choose the frame times that a clip needs.

Between two keys a value is constant (STEP), linear (LINEAR; rotations along the shorter arc) or
cubic (CUBICSPLINE). Before the first and after the last key it is constant. Clips interpolate
linearly, so linear channels need frames only at their keys. Cubic channels get frames between keys,
and a step gets one more frame just before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack.common.arrays import F64
from mocpack.common.choice import check_fps
from mocpack.common.json_object import Json
from mocpack.errors import CorruptionError, UsageError
from mocpack.io.keyed_frames import MAX_DEVIATION, MAX_SPLIT, MAX_TURN_RAD, max_turn
from mocpack.model import rotations

INTERPOLATIONS = ("STEP", "LINEAR", "CUBICSPLINE")
MAX_TIME_S = 1e8
SAME_TIME_S = 2e-6  # keys closer than this, or than float32 resolves, coincide
UNEVEN_TOLERANCE = 2e-4  # of a step; files round their times
MIN_GRID_FPS, MAX_GRID_FPS = 24.0, 125.0  # of an even grid, unless the keys are denser
MAX_GRID_DIVISION = 32  # of the smallest gap, when searching a grid
BEFORE_STEP_S = 1e-5
MAX_FRAMES = 1 << 22
MAX_EXTRA_FRAMES = 100_000  # of an even grid, in addition to the number of keys


@dataclass(frozen=True)
class Keys:
    """The keys of one channel."""

    times: F64  # (K,), increasing, in seconds
    values: F64  # (K, n)
    kind: str  # one of `INTERPOLATIONS`
    is_rotation: bool
    in_tangents: F64 | None = None  # (K, n) of cubic keys, per second
    out_tangents: F64 | None = None

    @classmethod
    def build(cls, times: F64, values: F64, kind: Json, path: str, what: str) -> Keys:
        """Check and build the keys of a channel from `values` as stored in the file."""
        if not isinstance(kind, str) or kind not in INTERPOLATIONS:
            raise CorruptionError(
                f"{what}.interpolation must be one of {', '.join(INTERPOLATIONS)}, got {kind!r:.40}"
            )
        if not np.abs(times).max() < MAX_TIME_S:  # written so that NaN fails too
            raise CorruptionError(
                f"{what}: times must be finite and below {MAX_TIME_S:.0e} seconds"
            )
        if (np.diff(times) < 0).any():
            raise CorruptionError(f"{what}: times must increase")
        if not np.isfinite(values).all():
            raise CorruptionError(f"{what}: values must be finite")
        rows = len(times) * (3 if kind == "CUBICSPLINE" else 1)
        if path == "weights":
            if not values.size or values.size % rows:
                raise CorruptionError(
                    f"{what}: {values.size} weights are not a multiple of {rows} keys"
                )
            values = values.reshape(rows, -1)
        elif len(values) != rows:
            raise CorruptionError(f"{what}: expected {rows} values, got {len(values)}")
        # At equal times, the last key counts.
        last = np.append(np.diff(times) > 0, True)
        if kind != "CUBICSPLINE":
            # Channels that share an array of times keep sharing it.
            if not last.all():
                times, values = times[last], values[last]
            return cls(times, values, kind, path == "rotation")
        parts = values.reshape(len(times), 3, -1)[last]
        in_tangents, middle, out_tangents = parts[:, 0], parts[:, 1], parts[:, 2]
        return cls(times[last], middle, kind, path == "rotation", in_tangents, out_tangents)

    def at(self, times: F64) -> F64:
        """Return the values (T, n) at these times."""
        if len(self.times) == 1:
            return np.repeat(self.values, len(times), axis=0)
        if self.kind == "STEP":
            # A frame time may differ from its key by rounding.
            last = np.searchsorted(self.times, times + SAME_TIME_S, side="right") - 1
            return np.asarray(self.values[np.maximum(last, 0)])
        after = np.clip(np.searchsorted(self.times, times, side="right"), 1, len(self.times) - 1)
        before = after - 1
        at_keys = np.where(times - self.times[before] < self.times[after] - times, before, after)
        if np.abs(times - self.times[at_keys]).max() <= SAME_TIME_S:
            return np.asarray(self.values[at_keys])
        gap = self.times[after] - self.times[before]
        share = np.clip((times - self.times[before]) / gap, 0.0, 1.0)
        if self.kind == "CUBICSPLINE":
            return self._evaluate_cubic(before, after, gap[:, np.newaxis], share[:, np.newaxis])
        if self.is_rotation:
            turns = rotations.normalize(self.values)
            return rotations.slerp(turns[before], turns[after], share)
        share = share[:, np.newaxis]
        return np.asarray((1 - share) * self.values[before] + share * self.values[after])

    def _evaluate_cubic(
        self, before: npt.NDArray[np.intp], after: npt.NDArray[np.intp], gap: F64, t: F64
    ) -> F64:
        assert self.in_tangents is not None
        assert self.out_tangents is not None
        values = np.asarray(
            (2 * t**3 - 3 * t**2 + 1) * self.values[before]
            + (t**3 - 2 * t**2 + t) * gap * self.out_tangents[before]
            + (3 * t**2 - 2 * t**3) * self.values[after]
            + (t**3 - t**2) * gap * self.in_tangents[after]
        )
        return rotations.normalize(values) if self.is_rotation else values

    def list_jumps(self) -> F64:
        """Return the times at which a value jumps."""
        if self.kind != "STEP":
            return np.zeros(0)
        jumps = (np.diff(self.values, axis=0) != 0).any(1)
        return np.asarray(self.times[1:][jumps])


def frame_times(channels: Sequence[Keys], fps: float | None = None) -> F64:
    """Return frame times (T,) that lose nothing of these channels, evenly spaced if possible.

    With `fps`, they are even at that rate. Otherwise they are even at the lowest rate between
    `MIN_GRID_FPS` and `MAX_GRID_FPS` that has a frame at every key, or at the rate of the keys if
    that is higher. If there is no such rate, or a value jumps, the frames are at the keys.
    """
    known = {id(c.times): c.times for c in channels}
    keys = np.unique(np.concatenate(list(known.values())))
    if fps is not None:
        return _sample_evenly(keys, fps)
    jumps = np.unique(np.concatenate([c.list_jumps() for c in channels]))
    grid = None if len(jumps) else _find_grid(keys)
    if grid is None:  # keys that coincide with the previous one give one frame
        grid = keys[np.append(True, np.diff(keys) > SAME_TIME_S)]
    times = grid
    cubics = [c for c in channels if c.kind == "CUBICSPLINE" and len(c.times) > 1]
    split = 1
    while (
        cubics
        and split < MAX_SPLIT
        and _max_deviation(cubics, _subdivide(times, split)) > MAX_DEVIATION
    ):
        split *= 2
    times = _subdivide(times, split)
    # The direction of a rotation by nearly half a turn would be ambiguous.
    if _max_channel_turn(channels, times) > MAX_TURN_RAD:
        times = _subdivide(times, 2)
    # The frame before a jump must come after the previous one.
    early = jumps - np.maximum(BEFORE_STEP_S, 8 * np.spacing(np.abs(jumps).astype(np.float32)))
    return np.union1d(times, early[early > times[0]]) if len(jumps) else times


def _sample_evenly(keys: F64, fps: float) -> F64:
    check_fps(fps)
    count = np.floor((keys[-1] - keys[0]) * fps + 1e-3) + 1
    if count > MAX_FRAMES:
        raise UsageError(
            f"{keys[-1] - keys[0]:.6g} s at {fps} frames per second exceed the limit of "
            f"{MAX_FRAMES} frames"
        )
    return np.asarray(keys[0] + np.arange(int(count)) / fps)


def _find_grid(keys: F64) -> F64 | None:
    """Return even times that contain all keys, or None."""
    near = SAME_TIME_S + 2 * float(np.spacing(np.float32(np.abs(keys).max())))
    apart = keys[np.append(True, np.diff(keys) > 2 * near)]
    if len(apart) == 1:
        return np.asarray(apart)
    start, length = keys[0], keys[-1] - keys[0]
    for count in _list_grid_counts(apart, length):
        step = length / count
        numbers = (apart - start) / step
        if np.abs(numbers - np.rint(numbers)).max() * step > max(near, UNEVEN_TOLERANCE * step):
            continue
        if not np.diff(np.rint(numbers)).all():
            continue  # two keys, such as those of a jump, would share a frame
        finer = max(1, int(np.ceil(MIN_GRID_FPS * step - 0.05)))
        finer = finer if count * finer <= len(keys) + MAX_EXTRA_FRAMES else 1
        return _make_even_times(start, length, count * finer, near)
    return None


def _make_even_times(start: float, length: float, count: int, near: float) -> F64:
    """Return even times at a whole number of frames per second, if the keys mean that."""
    step = length / count
    whole = 1 / max(1, round(1 / step))
    step = whole if abs(whole - step) * count <= near else step
    return np.asarray(start + np.arange(count + 1) * step)


def _list_grid_counts(apart: F64, length: float) -> list[int]:
    """Return the numbers of steps to try for a grid, based on the gaps between keys."""
    gaps = np.diff(apart)
    counts = {len(gaps), round(length / float(np.median(gaps))), round(length / float(gaps.min()))}
    finer = {
        round(length * n / float(gaps.min()))
        for n in range(2, MAX_GRID_DIVISION + 1)
        if n / float(gaps.min()) <= MAX_GRID_FPS
    }
    return sorted(count for count in counts | finer if count <= len(apart) + MAX_EXTRA_FRAMES)


def _subdivide(times: F64, split: int) -> F64:
    """Return the times with every gap divided into `split` parts."""
    if split == 1 or len(times) == 1:
        return times
    at = np.arange((len(times) - 1) * split + 1) / split
    return np.asarray(np.interp(at, np.arange(len(times)), times))


def _max_channel_turn(channels: Sequence[Keys], times: F64) -> float:
    """Return the largest rotation of a joint between consecutive frames, in radians."""
    turning = (k for k in channels if k.is_rotation and k.kind != "STEP" and len(k.times) > 1)
    return max((max_turn(keys.at(times)) for keys in turning), default=0.0)


def _max_deviation(channels: Sequence[Keys], times: F64) -> float:
    """Return how far channels are from linear interpolation, halfway between frames."""
    worst = 0.0
    if len(times) * 2 > MAX_FRAMES:
        return worst  # more frames would exceed the limit
    half = (times[1:] + times[:-1]) / 2
    for keys in channels:
        at_times, between = keys.at(times), keys.at(half)
        if keys.is_rotation:
            line = rotations.slerp(at_times[:-1], at_times[1:], 0.5)
            apart = np.minimum(np.abs(line - between).max(-1), np.abs(line + between).max(-1)) * 2
        else:
            apart = np.abs((at_times[1:] + at_times[:-1]) / 2 - between).max(-1)
        worst = max(worst, float(apart.max()))
    return worst
