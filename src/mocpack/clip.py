"""The data types that travel through the package: a skeleton in motion, or vertices in motion.

Metres, seconds, radians; right-handed, y up; quaternions (x, y, z, w). Everything is frozen and
validated once, in the constructors; the rest of the package trusts what it is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from mocpack import _core, kinematics
from mocpack.errors import InvalidClipError, UnsupportedClipError, UsageError
from mocpack.rotations import slerp
from mocpack.skeleton import SentWhole, Skeleton, frozen_array, is_frozen

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]

UNIT_TOLERANCE = 1e-3  # a quaternion further from unit length than this is a mistake, not rounding
FARTHEST = 1e7  # metres; beyond it float64 cannot keep a micrometre apart from rounding
# metres; what is decoded lies an error beyond its source, and is a clip all the same
FARTHEST_DECODED = 2 * FARTHEST


@dataclass(frozen=True, eq=False)
class ClipHeader(SentWhole):
    """Everything about a clip but its samples; the container stores it, codecs receive it.

    Parameters
    ----------
    skeleton : Skeleton
    frame_count : int
    frame_time : float
        Seconds from frame to frame, as in the source.
    translated_joints : tuple of int
        Joints whose translation is given for each frame, increasing.
    unit : float
        Metres of one unit of length in the source; files are written back in it.
    metadata : mapping
        JSON-compatible values that travel along, untouched.
    """

    kind: ClassVar[str] = "skeleton"

    skeleton: Skeleton
    frame_count: int
    frame_time: float = 1 / 120
    translated_joints: tuple[int, ...] = (0,)
    unit: float = 1.0
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "translated_joints", tuple(map(int, self.translated_joints)))
        object.__setattr__(self, "metadata", MappingProxyType(dict(self.metadata)))
        _check_timing(self.frame_count, self.frame_time)
        if not (np.isfinite(self.unit) and 1e-9 <= self.unit <= 1e9):
            raise InvalidClipError(f"unit must be a length in metres, got {self.unit}")
        joints = list(self.translated_joints)
        if joints != sorted(set(joints)) or any(not 0 <= j < len(self.skeleton) for j in joints):
            raise InvalidClipError("translated_joints must be joint indices in increasing order")

    @property
    def frame_rate(self) -> float:
        """Frames a second."""
        return 1.0 / self.frame_time

    def joints(self, joints: Sequence[int]) -> ClipHeader:
        """Return the header of the motion of these joints and their ancestors."""
        kept = {old: new for new, old in enumerate(self.skeleton.with_ancestors(joints))}
        moving = tuple(kept[j] for j in self.translated_joints if j in kept)
        return replace(self, skeleton=self.skeleton.subset(list(kept)), translated_joints=moving)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClipHeader):
            return NotImplemented
        return (
            self.skeleton == other.skeleton
            and self.frame_count == other.frame_count
            and self.frame_time == other.frame_time
            and self.translated_joints == other.translated_joints
            and self.unit == other.unit
            and dict(self.metadata) == dict(other.metadata)
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Clip(SentWhole):
    """A skeleton in motion.

    Parameters
    ----------
    header : ClipHeader
    rotations : array, shape (T, J, 4)
        Local unit quaternions (x, y, z, w). Stored unit to rounding, each in the hemisphere of
        the frame before.
    translations : array, shape (T, M, 3)
        Positions in the parent's frame, in metres, of the M translated joints.
    channels : array, shape (T, C), optional
        The source's own numbers (its units, degrees), in the order of its channels.
    """

    header: ClipHeader
    rotations: F64
    translations: F64
    channels: F64 | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rotations", _settled(self.rotations, self.header))
        object.__setattr__(self, "translations", frozen_array(self.translations))
        shape = (self.frame_count, len(self.translated_joints), 3)
        if self.translations.shape != shape:
            raise InvalidClipError(
                f"expected translations of shape {shape}, got {self.translations.shape}"
            )
        # the negation is true for NaN too
        if not np.abs(self.translations).max(initial=0.0) < FARTHEST_DECODED:
            raise InvalidClipError(
                f"translations must be finite and below {FARTHEST_DECODED:.0e} metres"
            )
        if self.channels is not None:
            object.__setattr__(self, "channels", frozen_array(self.channels))
            shape_c = (self.frame_count, self.skeleton.channel_count)
            if self.channels.shape != shape_c or not np.isfinite(self.channels).all():
                raise InvalidClipError(
                    f"expected finite channels of shape {shape_c}, got {self.channels.shape}"
                )

    @classmethod
    def adopt(cls, header: ClipHeader, rotations: F64, translations: F64) -> Self:
        """Make a clip of arrays that nobody else holds: settled and frozen where they are."""
        if rotations.ndim == 3 and rotations.shape[2] == 4:
            _core.settle_rotations(rotations, UNIT_TOLERANCE)  # what is wrong shows in the clip
        rotations.setflags(write=False)
        translations.setflags(write=False)
        return cls(header, rotations, translations)

    @classmethod
    def build(
        cls,
        skeleton: Skeleton,
        rotations: npt.ArrayLike,
        translations: npt.ArrayLike,
        *,
        frame_rate: float | None = None,
        frame_time: float | None = None,
        translated_joints: Sequence[int] = (0,),
        unit: float = 1.0,
        metadata: Mapping[str, Any] | None = None,
        channels: npt.ArrayLike | None = None,
    ) -> Self:
        """Make a clip from arrays (T, J, 4) and (T, M, 3), or (T, 3) where only the root moves."""
        rotations, translations = np.asarray(rotations), np.asarray(translations)
        if translations.ndim == 2:
            translations = translations[:, np.newaxis]
        if frame_time is None:
            frame_time = 1 / (120.0 if frame_rate is None else frame_rate)
        header = ClipHeader(
            skeleton,
            len(rotations),
            frame_time,
            tuple(translated_joints),
            unit,
            metadata or {},
        )
        numbers = None if channels is None else np.asarray(channels, np.float64)
        return cls(header, rotations, translations, numbers)

    @property
    def skeleton(self) -> Skeleton:
        return self.header.skeleton

    @property
    def frame_count(self) -> int:
        return self.header.frame_count

    @property
    def frame_time(self) -> float:
        """Seconds from frame to frame, as in the source."""
        return self.header.frame_time

    @property
    def frame_rate(self) -> float:
        """Frames a second."""
        return self.header.frame_rate

    @property
    def translated_joints(self) -> tuple[int, ...]:
        return self.header.translated_joints

    @property
    def unit(self) -> float:
        return self.header.unit

    @property
    def metadata(self) -> Mapping[str, Any]:
        return self.header.metadata

    def positions(self) -> F64:
        """Return world positions of all joints, shape (T, J, 3), in metres."""
        return self.world()[0]

    def world(self) -> tuple[F64, F64]:
        """Return world positions (T, J, 3) and world rotations (T, J, 4)."""
        return kinematics.forward_kinematics(
            self.skeleton, self.rotations, self.translations, self.translated_joints
        )

    def frames(self, start: int, stop: int) -> Clip:
        """Return frames `start` to `stop`, half-open."""
        if not 0 <= start < stop <= self.frame_count:
            raise UsageError(
                f"frames {start}:{stop} do not lie in a clip of {self.frame_count} frames"
            )
        channels = None if self.channels is None else self.channels[start:stop]
        return Clip(
            self.with_header(frame_count=stop - start),
            self.rotations[start:stop],
            self.translations[start:stop],
            channels,
        )

    def joints(self, joints: Sequence[int]) -> Clip:
        """Return the motion of these joints and their ancestors."""
        kept = self.skeleton.with_ancestors(joints)
        among = set(kept)
        moving = [m for m, j in enumerate(self.translated_joints) if j in among]
        return Clip(
            self.header.joints(joints), self.rotations[:, kept], self.translations[:, moving]
        )

    def sample(self, time: float) -> Clip:
        """Return the pose at `time` seconds as a one-frame clip; slerp between frames, clamped."""
        at = min(max(time / self.frame_time, 0.0), self.frame_count - 1.0)
        first = min(int(at), self.frame_count - 1)
        last = min(first + 1, self.frame_count - 1)
        t = at - first
        return Clip(
            self.with_header(frame_count=1),
            slerp(self.rotations[first], self.rotations[last], t)[np.newaxis],
            ((1 - t) * self.translations[first] + t * self.translations[last])[np.newaxis],
        )

    def with_header(self, **changes: Any) -> ClipHeader:
        """Return this clip's header with some fields changed."""
        return replace(self.header, **changes)


@dataclass(frozen=True, eq=False)
class VertexHeader(SentWhole):
    """Everything about a vertex animation but its samples."""

    kind: ClassVar[str] = "vertices"

    vertex_count: int
    faces: I32
    frame_count: int
    frame_time: float = 1 / 30
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        faces = np.ascontiguousarray(self.faces, np.int32)
        if faces.size == 0:
            faces = faces.reshape(0, 3)
        if faces.ndim != 2 or faces.shape[1] != 3:
            raise InvalidClipError(f"expected faces of shape (F, 3), got {faces.shape}")
        if faces.size and not 0 <= faces.min() <= faces.max() < self.vertex_count:
            raise InvalidClipError(f"faces name vertices outside 0..{self.vertex_count - 1}")
        faces.setflags(write=False)
        object.__setattr__(self, "faces", faces)
        object.__setattr__(self, "metadata", MappingProxyType(dict(self.metadata)))
        _check_timing(self.frame_count, self.frame_time)
        if not 1 <= self.vertex_count <= 2**24:
            raise InvalidClipError(f"vertex_count must be 1 to 2^24, got {self.vertex_count}")

    @property
    def frame_rate(self) -> float:
        return 1.0 / self.frame_time


@dataclass(frozen=True, eq=False)
class VertexClip(SentWhole):
    """A mesh in motion.

    Parameters
    ----------
    header : VertexHeader
    vertices : array, shape (T, V, 3)
    """

    header: VertexHeader
    vertices: F64

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", frozen_array(self.vertices))
        shape = (self.header.frame_count, self.header.vertex_count, 3)
        if self.vertices.shape != shape:
            raise InvalidClipError(f"expected vertices of shape {shape}, got {self.vertices.shape}")
        if not np.abs(self.vertices).max(initial=0.0) < FARTHEST_DECODED:
            raise InvalidClipError(f"vertices must be finite and below {FARTHEST_DECODED:.0e}")

    @classmethod
    def build(
        cls,
        vertices: npt.ArrayLike,
        faces: npt.ArrayLike | None = None,
        *,
        frame_rate: float = 30.0,
        metadata: Mapping[str, Any] | None = None,
    ) -> Self:
        """Make a vertex animation from arrays (T, V, 3) and (F, 3)."""
        vertices = np.asarray(vertices, np.float64)
        if vertices.ndim != 3:
            raise InvalidClipError(f"expected vertices of shape (T, V, 3), got {vertices.shape}")
        indices = np.zeros((0, 3), np.int32) if faces is None else np.asarray(faces)
        header = VertexHeader(
            vertices.shape[1], indices, len(vertices), 1 / frame_rate, metadata or {}
        )
        return cls(header, vertices)

    @property
    def faces(self) -> I32:
        return self.header.faces

    @property
    def frame_count(self) -> int:
        return self.header.frame_count

    @property
    def frame_time(self) -> float:
        return self.header.frame_time

    @property
    def frame_rate(self) -> float:
        return self.header.frame_rate

    @property
    def metadata(self) -> Mapping[str, Any]:
        return self.header.metadata

    def frames(self, start: int, stop: int) -> VertexClip:
        """Return frames `start` to `stop`, half-open."""
        if not 0 <= start < stop <= self.frame_count:
            raise UsageError(
                f"frames {start}:{stop} do not lie in a clip of {self.frame_count} frames"
            )
        return VertexClip(replace(self.header, frame_count=stop - start), self.vertices[start:stop])

    def sample(self, time: float) -> VertexClip:
        """Return the shape at `time` seconds as a one-frame clip, linear between, clamped."""
        at = min(max(time / self.frame_time, 0.0), self.frame_count - 1.0)
        first = min(int(at), self.frame_count - 1)
        last = min(first + 1, self.frame_count - 1)
        mixed = (1 - at + first) * self.vertices[first] + (at - first) * self.vertices[last]
        return VertexClip(replace(self.header, frame_count=1), mixed[np.newaxis])


AnyClip = Clip | VertexClip
AnyHeader = ClipHeader | VertexHeader


def check_reach(clip: AnyClip) -> None:
    """Complain about a clip too far from its origin to be read, or packed, within a bound."""
    places = clip.vertices if isinstance(clip, VertexClip) else clip.translations
    farthest = float(np.abs(places).max(initial=0.0))
    if not farthest < FARTHEST:
        raise UnsupportedClipError(
            f"a place lies {farthest:.9g} metres from the origin; it must be below {FARTHEST:.0e}"
        )


def promised_error(original: Clip, decoded: Clip) -> kinematics.PromisedError:
    """Measure `decoded` against `original`, both of the same skeleton and length."""
    if len(original.skeleton) != len(decoded.skeleton):
        raise UsageError(
            f"cannot compare skeletons of {len(original.skeleton)} and "
            f"{len(decoded.skeleton)} joints"
        )
    if original.frame_count != decoded.frame_count:
        raise UsageError(
            f"cannot compare clips of {original.frame_count} and {decoded.frame_count} frames"
        )
    if original.translated_joints != decoded.translated_joints:
        raise UsageError("cannot compare clips whose translated joints differ")
    return kinematics.promised_error(
        original.skeleton,
        (original.rotations, original.translations),
        (decoded.rotations, decoded.translations),
        original.translated_joints,
    )


def _settled(rotations: npt.ArrayLike, header: ClipHeader) -> F64:
    """Return `rotations` frozen, unit and continuous in time; copies unless they are all that."""
    array = np.asarray(rotations, np.float64)
    shape = (header.frame_count, len(header.skeleton), 4)
    if array.shape != shape:
        raise InvalidClipError(f"expected rotations of shape {shape}, got {array.shape}")
    if is_frozen(array) and _core.rotations_settled(array):
        return array
    array = np.array(array, order="C")
    bad = _core.settle_rotations(array, UNIT_TOLERANCE)
    if bad >= 0:
        frame, joint = divmod(bad, shape[1])
        raise InvalidClipError(
            f"rotation of joint {header.skeleton.names[joint]!r} at frame {frame} "
            f"is not a unit quaternion: {array[frame, joint]}"
        )
    array.setflags(write=False)
    return array


def _check_timing(frame_count: int, frame_time: float) -> None:
    if frame_count < 1:
        raise InvalidClipError(f"a clip has at least one frame, got {frame_count}")
    if not (np.isfinite(frame_time) and 1e-6 <= frame_time <= 1e6):
        raise InvalidClipError(f"frame_time must be in 1e-6..1e6 seconds, got {frame_time}")
