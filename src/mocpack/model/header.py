"""Headers of clips: everything except the samples, and how slicing a clip changes them.

Meters, seconds, radians; right-handed, y up; quaternions (x, y, z, w).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from mocpack.common.arguments import check_array, check_integer, check_number, check_sequence
from mocpack.common.arrays import F64, I32
from mocpack.common.frozen import FrozenValue, build_unchecked
from mocpack.common.json_object import MAX_METADATA, Json, pack_object
from mocpack.errors import InvalidClipError, UsageError
from mocpack.model.skeleton import MAX_JOINTS, Skeleton
from mocpack.model.space import HANDEDNESS, UP_AXES
from mocpack.model.take_data import NO_TAKE_DATA, TakeData, Track

MAX_TIME_S = 1e9  # seconds
MAX_FRAMES = 1 << 62
TIME_TOLERANCE = 1e-6  # of a frame, for rounding of times

Joints = str | Sequence[str | int]
Selection = int | slice | str | list[str] | list[str | int] | tuple[int | slice, Joints]
"""What an index into a motion selects: frames, joints with their ancestors, or both."""


class BaseHeader:
    """What headers of skeletons and of meshes share."""

    kind: ClassVar[str]
    """The kind of clip, in `Codec.kinds` and in files."""
    point_kind: ClassVar[str]
    """What the points of a clip are called, in the plural."""
    frame_count: int
    frame_time: float
    metadata: Mapping[str, Json]

    @property
    @abstractmethod
    def frame_width(self) -> int:
        """Numbers per frame."""

    @property
    def frame_rate(self) -> float:
        """Frames per second."""
        return 1.0 / self.frame_time

    def array_bytes(self, frames: int | None = None) -> int:
        """Return the size in bytes of the float64 arrays of some frames, by default all."""
        return 8 * self.frame_width * (self.frame_count if frames is None else frames)

    def with_frame_count(self, count: int) -> Self:
        """Return this header with another number of frames, without validating it again."""
        if count == self.frame_count:
            return self
        return build_unchecked(type(self), {**vars(self), "frame_count": count})


@dataclass(frozen=True, eq=False)
class ClipHeader(BaseHeader, FrozenValue):
    """Everything about a clip except its samples; the container stores it, codecs receive it.

    Parameters
    ----------
    skeleton : Skeleton
    frame_count : int
    frame_time : float
        Seconds per frame, as in the source.
    translated_joints : tuple of int
        Joints with a translation in every frame, in increasing order.
    unit : float
        Length of one source unit in meters; writers use the same unit.
    metadata : mapping
        JSON-compatible values, stored unchanged.
    scaled_joints : tuple of int
        Joints with a scale in every frame, in increasing order.
    start_time : float
        Time of the first frame in seconds, on the clock of the scene.
    loop : bool
        Whether the motion is meant to loop.
    up, handedness : str
        Up axis ("x", "y" or "z") and handedness ("right" or "left") of the source. Clips are
        always y up and right-handed; `space.py` converts.
    interpolated : bool
        Whether the source defines the motion between frames, as keyframes of glTF, FBX and USD do.
        An error bound then also holds between frames.
    """

    kind: ClassVar[str] = "skeleton"
    point_kind: ClassVar[str] = "joints"

    skeleton: Skeleton
    frame_count: int
    frame_time: float = 1 / 120
    translated_joints: tuple[int, ...] = (0,)
    unit: float = 1.0
    metadata: Mapping[str, Json] = field(default_factory=dict)
    scaled_joints: tuple[int, ...] = ()
    start_time: float = 0.0
    loop: bool = False
    up: str = "y"
    handedness: str = "right"
    interpolated: bool = False

    def __post_init__(self) -> None:
        for name in ("translated_joints", "scaled_joints"):
            object.__setattr__(self, name, joint_indices(self.skeleton, getattr(self, name), name))
        for name in ("loop", "interpolated"):
            value = getattr(self, name)
            if not isinstance(value, bool | np.bool_):
                raise InvalidClipError(f"{name} must be True or False, got {value!r:.80}")
            object.__setattr__(self, name, bool(value))
        object.__setattr__(self, "metadata", _check_metadata(self.metadata))
        _check_timing(self.frame_count, self.frame_time)
        check_number("unit, in meters,", self.unit, 1e-9, 1e9, error=InvalidClipError)
        for name in ("translated_joints", "scaled_joints"):
            joints = list(getattr(self, name))
            inside = all(0 <= j < len(self.skeleton) for j in joints)
            if joints != sorted(set(joints)) or not inside:
                raise InvalidClipError(f"{name} must be joint indices in increasing order")
        sliding = self.skeleton.hinges.sliding_joints if self.skeleton.hinges else ()
        for joint in set(sliding) - set(self.translated_joints):
            name = self.skeleton.names[joint]
            raise InvalidClipError(
                f"joint {name!r} has a slider, so it must be one of translated_joints"
            )
        check_number("start_time", self.start_time, -MAX_TIME_S, MAX_TIME_S, error=InvalidClipError)
        check_space(self.up, self.handedness)

    @property
    def is_scaled(self) -> bool:
        """Whether any joint has a scale."""
        return bool(self.scaled_joints) or self.skeleton.is_scaled

    @property
    def has_uniform_scales(self) -> bool:
        """Whether all scales are constant and uniform, like an armature's scale of 0.01."""
        return not self.scaled_joints and self.skeleton.has_uniform_scales

    @property
    def point_count(self) -> int:
        """Number of joints."""
        return len(self.skeleton)

    @property
    def point_names(self) -> Sequence[str]:
        """Names of the joints."""
        return self.skeleton.names

    @property
    def frame_width(self) -> int:
        """Numbers per frame."""
        return 4 * len(self.skeleton) + 3 * len(self.translated_joints)

    def indices(self, joints: Sequence[str | int]) -> list[int]:
        """Return the indices of joints, by name or index."""
        return self.skeleton.indices(joints)

    def joints(self, joints: Sequence[str | int]) -> ClipHeader:
        """Return the header for some joints and their ancestors."""
        kept = {old: new for new, old in enumerate(self.skeleton.with_ancestors(joints))}
        moving = tuple(kept[j] for j in self.translated_joints if j in kept)
        return replace(
            self,
            skeleton=self.skeleton.subset(list(kept)),
            translated_joints=moving,
            scaled_joints=tuple(kept[j] for j in self.scaled_joints if j in kept),
        )


@dataclass(frozen=True, eq=False)
class VertexHeader(BaseHeader, FrozenValue):
    """Everything about a vertex animation except its samples."""

    kind: ClassVar[str] = "vertices"
    point_kind: ClassVar[str] = "vertices"
    unit: ClassVar[None] = None
    is_scaled: ClassVar[bool] = False
    scaled_joints: ClassVar[tuple[int, ...]] = ()
    interpolated: ClassVar[bool] = False
    start_time: ClassVar[float] = 0.0
    point_names: ClassVar[Sequence[str]] = ()

    vertex_count: int
    faces: I32
    frame_count: int
    frame_time: float = 1 / 30
    metadata: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_integer("vertex_count", self.vertex_count, 1, 2**24, error=InvalidClipError)
        faces = np.ascontiguousarray(check_array("faces", self.faces), np.int32)
        if faces.size == 0:
            faces = faces.reshape(0, 3)
        if faces.ndim != 2 or faces.shape[1] != 3:
            raise InvalidClipError(f"expected faces of shape (F, 3), got {faces.shape}")
        if faces.size and not 0 <= faces.min() <= faces.max() < self.vertex_count:
            raise InvalidClipError(f"faces must refer to vertices 0 to {self.vertex_count - 1}")
        faces.setflags(write=False)
        object.__setattr__(self, "faces", faces)
        object.__setattr__(self, "metadata", _check_metadata(self.metadata))
        _check_timing(self.frame_count, self.frame_time)

    @property
    def point_count(self) -> int:
        """Number of vertices."""
        return self.vertex_count

    def indices(self, joints: Sequence[str | int]) -> list[int]:
        """Raise `UsageError`: a mesh has no joints."""
        raise UsageError(f"a vertex animation has no joints to select, got {joints!r}")

    @property
    def frame_width(self) -> int:
        """Numbers per frame."""
        return 3 * self.vertex_count


AnyHeader = ClipHeader | VertexHeader


class BaseClip:
    """What clips of skeletons and of meshes share."""

    header: Any  # of the kind of the clip
    take_data: TakeData = NO_TAKE_DATA

    @abstractmethod
    def frames(self, start: int, stop: int) -> Self:
        """Return frames `start` to `stop`, half-open."""

    @abstractmethod
    def joints(self, joints: Sequence[str | int]) -> Self:
        """Return the motion of some joints and of their ancestors."""

    @abstractmethod
    def pose_at(self, at: float) -> Self:
        """Return the pose at a frame index, which may be fractional, as a one-frame clip."""

    @abstractmethod
    def positions(self) -> F64:
        """Return world positions of all joints or vertices, shape (T, P, 3), in meters."""

    @property
    @abstractmethod
    def times(self) -> F64:
        """Time of each frame in seconds, (T,)."""

    @property
    @abstractmethod
    def duration(self) -> float:
        """Duration in seconds, including the last frame."""

    def cut(self, start: float, stop: float | None = None) -> Self:
        """Return the frames from `start` to `stop` seconds after the first frame, half-open.

        >>> from mocpack.testing import walk
        >>> walk().cut(0.5, 1.5).duration
        1.0
        """
        check_number("start", start, 0)
        stop = self.duration if stop is None else check_number("stop", stop, 0)
        seconds = self.times - self.times[0] + TIME_TOLERANCE * self.frame_time
        first, last = np.searchsorted(seconds, (start, stop)).tolist()
        if first >= last:
            raise UsageError(
                f"no frame lies from {start:g} s to {stop:g} s of a clip of {self.duration:g} s"
            )
        return self.frames(first, last)

    def bake_scales(self) -> Self:
        """Return the motion without scales; this clip if it has none."""
        return self

    def __len__(self) -> int:
        """Return the number of frames."""
        return self.frame_count

    @property
    def frame_count(self) -> int:
        return int(self.header.frame_count)

    @property
    def frame_time(self) -> float:
        """Seconds per frame, as in the source."""
        return float(self.header.frame_time)

    @property
    def frame_rate(self) -> float:
        """Frames per second."""
        return float(self.header.frame_rate)

    @property
    def fps(self) -> float:
        """Frames per second."""
        return self.frame_rate

    @property
    def metadata(self) -> Mapping[str, Json]:
        """JSON-compatible values, stored unchanged."""
        metadata: Mapping[str, Json] = self.header.metadata
        return metadata

    @property
    def tracks(self) -> Mapping[str, Track]:
        return self.take_data.tracks


def parse_selection(key: Selection, count: int) -> tuple[int, int, int, Joints | None]:
    """Parse an index into a motion: return (start, stop, step, joints).

    >>> [parse_selection(key, 100) for key in (slice(10, None, 2), -1, "LeftFoot")]
    [(10, 100, 2, None), (99, 100, 1, None), (0, 100, 1, 'LeftFoot')]
    """
    which: object = key
    joints: Joints | None = None
    if isinstance(key, tuple) and len(key) == 2:
        which, joints = key
    if isinstance(which, str | list):
        if joints is not None:
            raise UsageError(f"frames come before joints: write [10:200, {which!r}]")
        joints, which = which, slice(None)
    if isinstance(which, slice):
        try:
            which.indices(count)
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"frames must be a slice such as [10:200] or [::2], got {which}"
            ) from error
        start, stop, step = which.indices(count)
        if not 1 <= step <= MAX_FRAMES or start >= stop:
            raise UsageError(f"slice {start}:{stop}:{step} selects no frame of {count}")
        return start, stop, step, joints
    if not isinstance(which, Integral) or isinstance(which, bool):
        raise UsageError(f"index must be frames ([10:200]) or joint names, got {which!r}")
    frame = int(which)
    if not -count <= frame < count:
        raise IndexError(f"frame {frame} is outside a clip of {count} frames")
    return frame % count, frame % count + 1, 1, joints


def check_frames(start: int, stop: int, count: int) -> None:
    """Raise `UsageError` if frames `start` to `stop`, half-open, are outside a clip."""
    for name, value in (("start", start), ("stop", stop)):
        check_integer(name, value)
    if not 0 <= start < stop <= count:
        raise UsageError(
            f"frames {start!s:.40}:{stop!s:.40} (start:stop) are outside a clip of {count} frames"
        )


def check_space(up: object, handedness: object) -> None:
    """Raise `InvalidClipError` for an unknown up axis or handedness."""
    known = isinstance(up, str) and isinstance(handedness, str)
    if not known or up not in UP_AXES or handedness not in HANDEDNESS:
        raise InvalidClipError(
            f"up must be one of {', '.join(UP_AXES)} and handedness of {', '.join(HANDEDNESS)}, "
            f"got {up!r:.40} and {handedness!r:.40}"
        )


def time_to_frame(time: float, header: AnyHeader, times: F64 | None) -> float:
    """Return the fractional frame index at `time` seconds, clamped to the clip."""
    check_number("time, in seconds,", time)
    if times is None:
        at = (time - header.start_time) / header.frame_time
        return float(min(max(at, 0.0), header.frame_count - 1.0))
    return float(np.interp(time, times, np.arange(len(times))))


def slice_header(header: ClipHeader, start: int, stop: int, take_data: TakeData) -> ClipHeader:
    """Return the header of frames `start` to `stop`.

    Times are kept if the clip has a start time, uneven times or tracks; otherwise they start at 0.
    """
    first = header.start_time
    if first or take_data.times is not None or take_data.tracks:
        first = frame_to_time(start, header, take_data.times)
    loop = header.loop and stop - start == header.frame_count
    part = header.with_frame_count(stop - start)
    same = (first, loop) == (header.start_time, header.loop)
    return part if same else replace(part, start_time=first, loop=loop)


def slice_take_data(take_data: TakeData, header: ClipHeader, start: int, stop: int) -> TakeData:
    """Return the take data of frames `start` to `stop`."""
    if not take_data or (start, stop) == (0, header.frame_count):
        return take_data
    ends = (
        frame_to_time(start, header, take_data.times),
        frame_to_time(stop - 1, header, take_data.times),
    )
    return take_data.frames(start, stop, ends, header.frame_time)


def pose_header(header: ClipHeader, at: float, times: F64 | None) -> ClipHeader:
    """Return the header of the single pose at frame index `at`."""
    if not header.start_time and times is None:
        return replace(header, frame_count=1)
    seconds = header.start_time + at * header.frame_time
    if times is not None:
        seconds = float(np.interp(at, np.arange(len(times)), times))
    return replace(header, frame_count=1, start_time=seconds)


def sample_take_data(take_data: TakeData, at: float) -> TakeData:
    """Return the take data of one pose: interpolated scales, valid if both frames are."""
    first = np.array([int(at)])
    t = at - first
    return replace(take_data.between(first, first + (t > 0), t), tracks={})


def concatenate_take_data(
    take_data: Sequence[TakeData], headers: Sequence[ClipHeader], shifts: Sequence[float]
) -> TakeData:
    """Concatenate the take data of clips, each shifted by `shifts` seconds."""
    clocks = [
        np.array([frame_to_time(frame, h, e.times) for frame in range(h.frame_count)])
        for e, h in zip(take_data, headers, strict=True)
    ]
    scales = [e.scales for e in take_data if e.scales is not None]
    times = valid = None
    if any(e.times is not None for e in take_data):
        times = np.concatenate([c + shift for c, shift in zip(clocks, shifts, strict=True)])
    if any(e.valid is not None for e in take_data):
        every = [np.ones((h.frame_count, len(h.skeleton)), np.bool_) for h in headers]
        seen = [e.valid for e in take_data]
        valid = np.concatenate([a if v is None else v for v, a in zip(seen, every, strict=True)])
    tracks: dict[str, list[tuple[Track, float, float, float, float]]] = {}
    for e, h, clock, shift in zip(take_data, headers, clocks, shifts, strict=True):
        for name, track in e.tracks.items():
            part = (track, h.frame_time, float(clock[0]), float(clock[-1]), shift)
            tracks.setdefault(name, []).append(part)
    joined = {name: _join_track(name, parts) for name, parts in tracks.items()}
    return TakeData(np.concatenate(scales) if scales else None, times, valid, joined)


def _join_track(name: str, parts: Sequence[tuple[Track, float, float, float, float]]) -> Track:
    """Concatenate one track of several clips, each cut to its clip.

    Parameters
    ----------
    parts : sequence of (track, frame_time, first, last, shift)
        In seconds: per frame, time of the first and last frame, and shift.
    """
    cut, seconds = [], []
    for track, frame_time, first, last, shift in parts:
        end = last + frame_time - 1e-5 * (track.frame_time or frame_time)
        cut.append(track.between(first, end, frame_time))
        # a label from before its clip starts with the clip
        seconds.append(np.maximum(cut[-1].seconds(frame_time), first) + shift)
    head = cut[0]
    if any((c.kind, c.unit, c.bound) != (head.kind, head.unit, head.bound) for c in cut):
        raise UsageError(f"track {name!r} must have the same kind, unit and bound in all clips")
    times = np.concatenate(seconds)
    if head.kind == "label":
        texts = [text for part in cut for text in part.values]
        new = [k for k, text in enumerate(texts) if k == 0 or text != texts[k - 1]]
        return replace(head, values=[texts[k] for k in new], times=times[new])
    values = np.concatenate([part.values for part in cut])
    step = parts[0][0].frame_time or parts[0][1]
    start = float(times[0]) if len(times) else 0.0
    even = np.abs(times - (start + np.arange(len(times)) * step)).max(initial=0.0) <= 1e-6 * step
    return replace(head, values=values, start=start, times=None if even else times)


def frame_to_time(frame: int, header: AnyHeader, times: F64 | None) -> float:
    if times is not None:
        return float(times[frame])
    return header.start_time + frame * header.frame_time


def joint_indices(
    skeleton: Skeleton, joints: Sequence[str | int], what: str = "joints"
) -> tuple[int, ...]:
    """Return the indices of joints; errors call them `what`."""
    given = check_sequence(what, joints)
    return tuple(
        skeleton.index(j)
        if isinstance(j, str)
        else check_integer(f"each joint of {what}", j, 0, MAX_JOINTS, error=InvalidClipError)
        for j in given
    )


def _check_timing(frame_count: int, frame_time: float) -> None:
    check_integer("frame_count", frame_count, 1, MAX_FRAMES, error=InvalidClipError)
    check_number("frame_time", frame_time, 1e-6, 1e6, error=InvalidClipError)


def _check_metadata(metadata: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return metadata as a read-only mapping; it must be a JSON object."""
    if isinstance(metadata, MappingProxyType):  # another header has validated it
        return metadata
    try:
        values = dict(metadata)
    except (TypeError, ValueError):
        raise InvalidClipError(f"metadata must be a mapping, got {metadata!r:.80}") from None
    pack_object(values, "metadata", MAX_METADATA)
    return MappingProxyType(values)
