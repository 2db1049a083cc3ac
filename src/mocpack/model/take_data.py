"""Data of a take besides its poses: tracks, animated scales, gaps and uneven times.

All of it is optional. Codecs do not see it: `codec_clip.py` removes it before encoding and restores
it after decoding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from mocpack.common.arguments import check_array, check_number, check_sequence
from mocpack.common.arrays import F64, Mask
from mocpack.common.frozen import FrozenValue, freeze_array
from mocpack.common.texts import check_text
from mocpack.errors import InvalidClipError

MAX_TRACK_NAME = 1024  # bytes of UTF-8
MAX_LABEL = 1 << 20  # bytes of UTF-8
MAX_SCALE = 1e6
WIDTHS = {"scalar": 1, "flag": 1, "label": 1, "vec3": 3, "quaternion": 4}
KINDS = tuple(WIDTHS)
UNIT_TOLERANCE = 1e-3
SCALE_NOISE = 1e-4


@dataclass(frozen=True, eq=False)
class Track(FrozenValue):
    """A named series of samples: blend weights, contacts, forces, labels, events.

    Parameters
    ----------
    kind : {"scalar", "flag", "label", "vec3", "quaternion"}
    values : array or sequence of str
        N samples: numbers (N,), booleans (N,), N strings, (N, 3) or (N, 4).
    frame_time : float, optional
        Seconds per sample; by default that of the clip.
    start : float
        Time of the first sample in seconds, on the clock of the clip.
    times : array, shape (N,), optional
        Time of each sample in seconds if uneven, increasing. A label applies until the next.
    bound : float
        Maximum error of a sample: in the unit of the values, for vectors the length of the
        difference, for quaternions an angle in radians. 0 stores the values exactly.
    unit : str
        Unit of the values, for display.
    """

    kind: str
    values: Any
    frame_time: float | None = None
    start: float = 0.0
    times: F64 | None = None
    bound: float = 0.0
    unit: str = ""

    def __post_init__(self) -> None:
        freeze = object.__setattr__
        if not isinstance(self.kind, str) or self.kind not in WIDTHS:
            raise InvalidClipError(
                f"a track's kind must be one of {', '.join(KINDS)}, got {self.kind!r}"
            )
        freeze(self, "values", _check_values(self.kind, self.values))
        error = InvalidClipError
        if self.frame_time is not None:
            check_number("a track's frame_time", self.frame_time, 1e-9, 1e6, error=error)
        if not math.isfinite(check_number("a track's bound", self.bound, 0, error=error)):
            raise InvalidClipError(f"a track's bound must be finite, got {self.bound}")
        if self.bound and self.kind in ("flag", "label"):
            raise InvalidClipError(
                f"{self.kind} tracks are stored exactly, so bound must be 0, got {self.bound}"
            )
        if self.times is not None:
            freeze(self, "times", freeze_array(self.times))
            check_times(self.times, len(self), "a track's times")
            freeze(self, "start", float(self.times[0]) if len(self.times) else 0.0)
        check_number("a track's start", self.start, -1e9, 1e9, error=error)
        if not isinstance(self.unit, str):
            raise InvalidClipError(f"a track's unit must be a string, got {self.unit!r:.80}")
        check_text(self.unit, MAX_TRACK_NAME, "a track's unit")

    def __len__(self) -> int:
        return len(self.values)

    def has_same_layout(self, other: Track) -> bool:
        """Return whether the other track is equal except for its values."""
        same = self.kind == other.kind and len(self) == len(other)
        return same and self == replace(other, values=self.values)

    def seconds(self, frame_time: float) -> F64:
        """Return the time (N,) of each sample in seconds, in a clip with that frame time."""
        if self.times is not None:
            return self.times
        step = self.frame_time or frame_time
        return np.asarray(self.start + np.arange(len(self)) * step, np.float64)

    def between(self, first: float, last: float, frame_time: float) -> Track:
        """Return the samples from `first` to `last` seconds, with the label at `first`."""
        slack = 1e-6 * (self.frame_time or frame_time)
        seconds = self.seconds(frame_time)
        start = int(np.searchsorted(seconds, first - slack))
        stop = int(np.searchsorted(seconds, last + slack, side="right"))
        if self.kind == "label" and start > 0 and (start == len(self) or seconds[start] > first):
            start -= 1
        stop = max(start, stop)
        return replace(
            self,
            values=self.values[start:stop],
            times=None if self.times is None else self.times[start:stop],
            start=float(seconds[start]) if start < len(self) else float(first),
        )

    def change_speed(self, start: float, speed: float) -> Track:
        """Return the samples at `speed` times their speed; `start`, in seconds, keeps its time."""
        return replace(
            self,
            frame_time=self.frame_time and self.frame_time / speed,
            times=None if self.times is None else start + (self.times - start) / speed,
            start=start + (self.start - start) / speed,
        )

    def error(self, other: Track) -> float:
        """Return the largest error of the other track, as `bound` measures it."""
        if not len(self):
            return 0.0
        if self.kind in ("flag", "label"):
            return float(not np.array_equal(self.values, other.values))
        difference = np.asarray(self.values - other.values)
        if self.kind == "scalar":
            return float(np.abs(difference).max())
        apart = np.linalg.norm(difference, axis=1)
        if self.kind == "vec3":
            return float(apart.max())
        apart = np.minimum(apart, np.linalg.norm(self.values + other.values, axis=1))
        return float(4 * np.arcsin(np.minimum(apart.max() / 2, 1.0)))


@dataclass(frozen=True, eq=False)
class TakeData(FrozenValue):
    """Per-frame data of a clip besides its poses.

    Parameters
    ----------
    scales : array, shape (T, S, 3), optional
        Scales of the `scaled_joints` of the header; they replace those of the skeleton.
    times : array, shape (T,), optional
        Time of each frame in seconds if uneven, increasing.
    valid : array of bool, shape (T, J), optional
        False where a joint or marker was not recorded; its pose there is interpolated.
    tracks : mapping of str to Track
    """

    scales: F64 | None = None
    times: F64 | None = None
    valid: Mask | None = None
    tracks: Mapping[str, Track] = field(default_factory=dict)

    def __post_init__(self) -> None:
        freeze = object.__setattr__
        for name in ("scales", "times"):
            if getattr(self, name) is not None:
                freeze(self, name, freeze_array(getattr(self, name)))
        if self.valid is not None:
            freeze(self, "valid", freeze_flags(self.valid))
        if not isinstance(self.tracks, Mapping):
            raise InvalidClipError(
                f"tracks must be a mapping of names to Tracks, got {self.tracks!r:.80}"
            )
        freeze(self, "tracks", MappingProxyType(dict(self.tracks)))
        for name, track in self.tracks.items():
            if not isinstance(name, str) or not isinstance(track, Track):
                raise InvalidClipError(
                    f"tracks must map strings to Tracks, got {name!r}: {track!r:.80}"
                )

    def __bool__(self) -> bool:
        has_no_array = self.scales is None and self.times is None and self.valid is None
        return bool(self.tracks) or not has_no_array

    def frames(self, start: int, stop: int, seconds: tuple[float, float], rate: float) -> TakeData:
        """Return the data of frames `start` to `stop`; `seconds` are their first and last time."""
        return TakeData(
            None if self.scales is None else self.scales[start:stop],
            None if self.times is None else self.times[start:stop],
            None if self.valid is None else self.valid[start:stop],
            {name: track.between(*seconds, rate) for name, track in self.tracks.items()},
        )

    def with_frame_time(self, frame_time: float) -> TakeData:
        """Return data whose tracks state their rate, before the clip changes its `frame_time`."""
        tracks = {
            name: replace(track, frame_time=frame_time)
            if track.frame_time is None and track.times is None
            else track
            for name, track in self.tracks.items()
        }
        return replace(self, tracks=tracks) if tracks else self

    def at(self, frames: npt.NDArray[np.intp]) -> TakeData:
        """Return the data of some frames, with complete tracks."""
        return TakeData(
            None if self.scales is None else self.scales[frames],
            None if self.times is None else self.times[frames],
            None if self.valid is None else self.valid[frames],
            self.tracks,
        )

    def between(self, first: npt.NDArray[np.intp], last: npt.NDArray[np.intp], t: F64) -> TakeData:
        """Return the data of poses interpolated from frames `first` to `last` with weight `t`.

        Times are even; a joint is valid if it is valid in both frames.
        """
        scales = None
        if self.scales is not None:
            share = t[:, np.newaxis, np.newaxis]
            scales = (1 - share) * self.scales[first] + share * self.scales[last]
        seen = None
        if self.valid is not None:
            nearest = np.where(t > 0, last, first)
            seen = self.valid[first] & self.valid[nearest]
        return TakeData(scales, None, seen, self.tracks)

    def joints(self, kept: Sequence[int], scaled: Sequence[int]) -> TakeData:
        """Return the data of the joints `kept`; `scaled` are columns of `scales`."""
        return TakeData(
            None if self.scales is None or not scaled else self.scales[:, list(scaled)],
            self.times,
            None if self.valid is None else self.valid[:, list(kept)],
            self.tracks,
        )


NO_TAKE_DATA = TakeData()


@dataclass(frozen=True)
class SplitScales:
    """Scales of a clip, split into constant and animated ones.

    Attributes
    ----------
    constant : array, shape (J, 3)
    joints : tuple of int
        Joints with an animated scale.
    moving : array, shape (T, S, 3), or None
    dropped : float
        Largest difference that was removed as noise.
    """

    constant: F64
    joints: tuple[int, ...]
    moving: F64 | None
    dropped: float


def split_scales(scales: npt.ArrayLike, noise: float = SCALE_NOISE) -> SplitScales:
    """Split scales (T, J, 3) of all joints into constant and animated ones.

    Scales closer than `noise` to 1 become 1, and changes below `noise` are removed. Exporters write
    rounding noise around 1, which would take more space than the motion.
    """
    every = np.array(scales, np.float64)
    if every.ndim != 3 or every.shape[2] != 3 or not len(every):
        raise InvalidClipError(f"expected scales of shape (T, J, 3), got {every.shape}")
    constant = np.median(every, axis=0)
    # rounding noise is proportional to the value
    quiet = noise * np.maximum(1.0, np.abs(constant))
    joints = np.flatnonzero((np.ptp(every, axis=0) >= quiet).any(1))
    constant[np.abs(constant - 1) < noise] = 1.0
    moving = every[:, joints] if len(joints) else None
    rest = np.delete(np.abs(every - constant), joints, axis=1)
    return SplitScales(constant, tuple(map(int, joints)), moving, float(rest.max(initial=0.0)))


def check_take_data(take_data: TakeData, frames: int, joints: int, scaled: int) -> None:
    """Raise `InvalidClipError` if an array does not fit the clip."""
    if (take_data.scales is None) != (scaled == 0):
        raise InvalidClipError(
            f"scales must be given for scaled_joints and only for them, got {scaled} scaled_joints"
        )
    if take_data.scales is not None:
        if take_data.scales.shape != (frames, scaled, 3):
            raise InvalidClipError(
                f"expected scales of shape {(frames, scaled, 3)}, got {take_data.scales.shape}"
            )
        if not np.abs(take_data.scales).max(initial=0.0) <= MAX_SCALE:
            raise InvalidClipError(f"scales must be finite and within ±{MAX_SCALE:.0e}")
    if take_data.times is not None:
        check_times(take_data.times, frames, "times")
    if take_data.valid is not None and take_data.valid.shape != (frames, joints):
        raise InvalidClipError(
            f"expected valid of shape {(frames, joints)}, got {take_data.valid.shape}"
        )
    for name in take_data.tracks:
        check_text(name, MAX_TRACK_NAME, "a track's name")


def check_times(times: F64, count: int, what: str) -> None:
    if times.shape != (count,):
        raise InvalidClipError(f"expected {what} of shape {(count,)}, got {times.shape}")
    if not np.abs(times).max(initial=0.0) < 1e9:
        raise InvalidClipError(f"{what} must be finite and within 1e9 seconds")
    if (np.diff(times) <= 0).any():
        at = int(np.argmax(np.diff(times) <= 0))
        raise InvalidClipError(f"{what} must increase, got {times[at]} before {times[at + 1]}")


def freeze_flags(values: npt.ArrayLike) -> Mask:
    array = np.array(check_array("flags", values), np.bool_, order="C")
    array.setflags(write=False)
    return array


def _check_values(kind: str, values: Any) -> Any:
    if kind == "label":
        texts = tuple(map(str, check_sequence("a track's labels", values)))
        for text in set(texts):
            check_text(text, MAX_LABEL, "a label")
        return texts
    if kind == "flag":
        flags = freeze_flags(values)
        if flags.ndim != 1:
            raise InvalidClipError(f"expected flags of shape (N,), got {flags.shape}")
        return flags
    numbers = freeze_array(values)
    shape = () if kind == "scalar" else (WIDTHS[kind],)
    if numbers.ndim != 1 + len(shape) or numbers.shape[1:] != shape:
        expected = ", ".join(["N", *map(str, shape)])
        raise InvalidClipError(f"expected {kind} values of shape ({expected}), got {numbers.shape}")
    if not np.isfinite(numbers).all():
        raise InvalidClipError(f"{kind} values must be finite")
    if kind == "quaternion" and len(numbers):
        off = np.abs(np.linalg.norm(numbers, axis=1) - 1).max()
        if off > UNIT_TOLERANCE:
            raise InvalidClipError(
                f"quaternion values must have unit length, got a difference of {off:.3g}"
            )
    return numbers
