"""The data types that travel through the package: a skeleton in motion, or vertices in motion.

Metres, seconds, radians; right-handed, y up; quaternions (x, y, z, w). Everything is frozen and
validated once, in the constructors; the rest of the package trusts what it is given.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from mocpack import _core, kinematics, space
from mocpack.arrays import F64, I32, Mask
from mocpack.errors import HingeWarning, InvalidClipError, UnsupportedClipError, UsageError
from mocpack.hinges import HingeAngles, hinge_angles, places_of, turns_of
from mocpack.rotations import conjugate, from_matrix, multiply, slerp
from mocpack.skeleton import FrozenPickle, Skeleton, frozen_array, is_frozen
from mocpack.space import HANDS as HANDS
from mocpack.space import UP_AXES as UP_AXES
from mocpack.take import Extras, Track, check_extras, split_scales

UNIT_TOLERANCE = 1e-3  # a quaternion further from unit length than this is a mistake, not rounding
FARTHEST = 1e7  # metres; beyond it float64 cannot keep a micrometre apart from rounding
# metres; what is decoded lies an error beyond its source, and is a clip all the same
FARTHEST_DECODED = 2 * FARTHEST
LATEST = 1e9  # seconds
OFF_HINGE = 1e-4  # radians, and
OFF_SLIDER = 1e-5  # metres, that a joint may stand off its hinge before `angles` warns


@dataclass(frozen=True, eq=False)
class ClipHeader(FrozenPickle):
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
    scaled_joints : tuple of int
        Joints whose scale is given for each frame, increasing.
    start_time : float
        Seconds of the first frame on the clock that a scene shares.
    loop : bool
        Whether the motion is meant to go round.
    up, handedness : str
        Of the source's space, "x", "y" or "z" and "right" or "left"; inside it is always y up and
        right-handed, and `space.py` turns it back.
    """

    kind: ClassVar[str] = "skeleton"

    skeleton: Skeleton
    frame_count: int
    frame_time: float = 1 / 120
    translated_joints: tuple[int, ...] = (0,)
    unit: float = 1.0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    scaled_joints: tuple[int, ...] = ()
    start_time: float = 0.0
    loop: bool = False
    up: str = "y"
    handedness: str = "right"

    def __post_init__(self) -> None:
        object.__setattr__(self, "translated_joints", tuple(map(int, self.translated_joints)))
        object.__setattr__(self, "scaled_joints", tuple(map(int, self.scaled_joints)))
        object.__setattr__(self, "loop", bool(self.loop))
        object.__setattr__(self, "metadata", MappingProxyType(dict(self.metadata)))
        _check_timing(self.frame_count, self.frame_time)
        if not (np.isfinite(self.unit) and 1e-9 <= self.unit <= 1e9):
            raise InvalidClipError(f"unit must be a length in metres, got {self.unit}")
        for name in ("translated_joints", "scaled_joints"):
            joints = list(getattr(self, name))
            inside = all(0 <= j < len(self.skeleton) for j in joints)
            if joints != sorted(set(joints)) or not inside:
                raise InvalidClipError(f"{name} must be joint indices in increasing order")
        sliding = self.skeleton.hinges.sliding_joints if self.skeleton.hinges else ()
        for joint in set(sliding) - set(self.translated_joints):
            name = self.skeleton.names[joint]
            raise InvalidClipError(f"joint {name!r} slides, but is not of the translated_joints")
        if not abs(self.start_time) < LATEST:
            raise InvalidClipError(
                f"start_time must be within {LATEST:.0e} seconds, got {self.start_time}"
            )
        if self.up not in UP_AXES or self.handedness not in HANDS:
            raise InvalidClipError(
                f"up must be one of {', '.join(UP_AXES)} and handedness of {', '.join(HANDS)}, "
                f"got {self.up!r} and {self.handedness!r}"
            )

    @property
    def is_scaled(self) -> bool:
        """Whether any joint has a scale."""
        return bool(self.scaled_joints) or self.skeleton.is_scaled

    @property
    def frame_rate(self) -> float:
        """Frames a second."""
        return 1.0 / self.frame_time

    def joints(self, joints: Sequence[int]) -> ClipHeader:
        """Return the header of the motion of these joints and their ancestors."""
        kept = {old: new for new, old in enumerate(self.skeleton.with_ancestors(joints))}
        moving = tuple(kept[j] for j in self.translated_joints if j in kept)
        return replace(
            self,
            skeleton=self.skeleton.subset(list(kept)),
            translated_joints=moving,
            scaled_joints=tuple(kept[j] for j in self.scaled_joints if j in kept),
        )

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
            and self.scaled_joints == other.scaled_joints
            and self.start_time == other.start_time
            and self.loop == other.loop
            and (self.up, self.handedness) == (other.up, other.handedness)
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Clip(FrozenPickle):
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
    extras : Extras, optional
        What the take holds beside its poses; `scales`, `times`, `valid` and `tracks` read it.
    """

    header: ClipHeader
    rotations: F64
    translations: F64
    channels: F64 | None = None
    extras: Extras = field(default_factory=Extras)

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
            if self.header.is_scaled:
                raise InvalidClipError("a clip with scales has no channels: they cannot say them")
        header = self.header
        check_extras(self.extras, self.frame_count, len(self.skeleton), len(header.scaled_joints))
        if self.extras.times is not None and self.extras.times[0] != header.start_time:
            raise InvalidClipError(
                f"times begin at {self.extras.times[0]}, but start_time is {header.start_time}"
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
        scales: npt.ArrayLike | None = None,
        scaled_joints: Sequence[int] | None = None,
        times: npt.ArrayLike | None = None,
        start_time: float = 0.0,
        valid: npt.ArrayLike | None = None,
        tracks: Mapping[str, Track] | None = None,
        loop: bool = False,
        up: str = "y",
        handedness: str = "right",
    ) -> Self:
        """Make a clip from arrays (T, J, 4) and (T, M, 3), or (T, 3) where only the root moves.

        What a take may hold beside them is in `ClipHeader` and `Extras`. Times that are even, and
        gaps where there are none, are not kept apart. Scales (T, J, 3) of all joints are split into
        those that move and those that do not, without noise below 1e-4; the metadata then says how
        much `scale_noise_dropped` was. Scales (T, S, 3) of named `scaled_joints` stay as they are.
        """
        metadata = dict(metadata or {})
        if scales is not None and scaled_joints is None:
            split = split_scales(scales)
            skeleton = replace(skeleton, scales=split.constant)
            scales, scaled_joints = split.moving, split.joints
            if split.dropped:
                metadata["scale_noise_dropped"] = split.dropped
        rotations, translations = np.asarray(rotations), np.asarray(translations)
        if translations.ndim == 2:
            translations = translations[:, np.newaxis]
        seconds = None if times is None else np.asarray(times, np.float64)
        if seconds is not None and len(seconds):
            start_time = float(seconds[0])
            if frame_time is None and frame_rate is None and len(seconds) > 1:
                frame_time = (start_time - seconds[-1]) / (1 - len(seconds))
        if frame_time is None:
            frame_time = 1 / (120.0 if frame_rate is None else frame_rate)
        if seconds is not None and _even(seconds, start_time, frame_time):
            seconds = None
        header = ClipHeader(
            skeleton,
            len(rotations),
            frame_time,
            tuple(translated_joints),
            unit,
            metadata,
            tuple(scaled_joints or ()),
            start_time,
            loop,
            up,
            handedness,
        )
        numbers = None if channels is None else np.asarray(channels, np.float64)
        seen = None if valid is None or np.all(valid) else np.asarray(valid, np.bool_)
        held = None if scales is None else np.asarray(scales, np.float64)
        return cls(
            header, rotations, translations, numbers, Extras(held, seconds, seen, tracks or {})
        )

    @classmethod
    def of_points(
        cls,
        points: npt.ArrayLike,
        names: Sequence[str],
        *,
        frame_rate: float = 100.0,
        unit: float = 1.0,
        up: str = "y",
        handedness: str = "right",
        **others: Any,
    ) -> Self:
        """Make a clip of markers from their places (T, P, 3) in metres, NaN where one was not seen.

        Places are of a space with that axis up; `source_points` gives them back in it. Gaps become
        `valid`, and are filled by curves that fit their ends.
        """
        places = space.inside(np.array(points, np.float64), up, handedness)
        if places.ndim != 3 or places.shape[2] != 3 or places.shape[1] != len(names):
            raise InvalidClipError(
                f"expected points of shape (T, {len(names)}, 3), got {places.shape}"
            )
        valid = np.asarray(np.isfinite(places).all(-1))
        for p in range(places.shape[1]):
            _fill_gaps(places[:, p], valid[:, p])
        skeleton = Skeleton.points(names)
        turns = np.tile([0.0, 0.0, 0.0, 1.0], (*places.shape[:2], 1))
        return cls.build(
            skeleton,
            turns,
            places,
            frame_rate=frame_rate,
            translated_joints=range(len(names)),
            unit=unit,
            valid=valid,
            up=up,
            handedness=handedness,
            **others,
        )

    @classmethod
    def from_angles(
        cls,
        skeleton: Skeleton,
        angles: npt.ArrayLike,
        root_positions: npt.ArrayLike | None = None,
        root_rotations: npt.ArrayLike | None = None,
        *,
        local: npt.ArrayLike | None = None,
        up: str = "y",
        **others: Any,
    ) -> Self:
        """Make a clip from the angles (T, H) of a skeleton's hinges, in radians or metres.

        Joints without hinges stand as `local` (T, J, 4) says, or rest. Places (T, 3) in metres and
        rotations (T, 4) of the root are of a world with that axis up; frames of the links stay as
        they are, only the world is turned. `source_root` gives both back; others as of `build`.
        """
        hinges = skeleton.hinges
        if hinges is None:
            raise UsageError("this skeleton has no hinges, so that angles say nothing of it")
        numbers = np.asarray(angles, np.float64)
        if numbers.ndim != 2 or numbers.shape[1] != len(hinges) or not np.isfinite(numbers).all():
            raise InvalidClipError(
                f"expected finite angles of shape (T, {len(hinges)}), got {numbers.shape}"
            )
        frames = len(numbers)
        turns = np.tile(skeleton.rest, (frames, 1, 1)) if local is None else np.array(local, float)
        if turns.shape != (frames, len(skeleton), 4):
            raise InvalidClipError(
                f"expected local of shape {(frames, len(skeleton), 4)}, got {turns.shape}"
            )
        for joint, pose in turns_of(hinges, skeleton.rest, numbers):
            turns[:, joint] = pose
        moving = tuple(sorted({0, *hinges.sliding_joints}))
        places = np.tile(skeleton.offsets[list(moving)], (frames, 1, 1))
        for joint, place in places_of(hinges, skeleton.rest, skeleton.offsets, numbers):
            places[:, moving.index(joint)] = place
        if root_positions is not None:
            places[:, 0] = space.inside(np.asarray(root_positions, np.float64), up)
        if root_rotations is not None:
            turns[:, 0] = multiply(_world_turn(up), np.asarray(root_rotations, np.float64))
        return cls.build(skeleton, turns, places, translated_joints=moving, up=up, **others)

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

    @property
    def start_time(self) -> float:
        """Seconds of the first frame, on the clock that a scene shares."""
        return self.header.start_time

    @property
    def times(self) -> F64:
        """Seconds of each frame, (T,)."""
        if self.extras.times is not None:
            return self.extras.times
        return np.asarray(self.start_time + np.arange(self.frame_count) * self.frame_time)

    @property
    def scales(self) -> F64:
        """Scale (T, J, 3) of every joint along its own axes."""
        every = np.tile(self.skeleton.scales, (self.frame_count, 1, 1))
        if self.extras.scales is not None:
            every[:, list(self.header.scaled_joints)] = self.extras.scales
        return every

    @property
    def valid(self) -> Mask:
        """Whether each joint was seen in each frame, (T, J)."""
        if self.extras.valid is not None:
            return self.extras.valid
        return np.ones((self.frame_count, len(self.skeleton)), np.bool_)

    @property
    def tracks(self) -> Mapping[str, Track]:
        return self.extras.tracks

    @property
    def angles(self) -> F64:
        """Angles (T, H) of the skeleton's hinges in radians, of sliders metres, in their order.

        Where a joint has left its hinges, as codecs that do not code by hinge let it, angles are
        those of the nearest turn about its axis, and a `HingeWarning` says how far off it is.
        """
        found = self.hinge_angles()
        slides = self.skeleton.hinges.slides if self.skeleton.hinges else np.zeros(0, np.bool_)
        turned = float(found.off[:, ~slides].max(initial=0.0))
        moved = float(found.off[:, slides].max(initial=0.0))
        if turned > OFF_HINGE or moved > OFF_SLIDER:
            warnings.warn(
                f"joints stand up to {turned:.3g} rad and {moved:.3g} m off their hinges; "
                "angles are those of the nearest turns about them",
                HingeWarning,
                stacklevel=2,
            )
        return found.angles

    def hinge_angles(self) -> HingeAngles:
        """Return `angles`, and how far each hinged joint stands from what they say."""
        skeleton = self.skeleton
        if skeleton.hinges is None:
            return HingeAngles(np.zeros((self.frame_count, 0)), np.zeros((self.frame_count, 0)))
        return hinge_angles(
            skeleton.hinges,
            skeleton.rest,
            skeleton.offsets,
            self.rotations,
            self.translations,
            self.translated_joints,
        )

    def source_root(self) -> tuple[F64, F64]:
        """Return places (T, 3) and rotations (T, 4) of the first joint in the source's world.

        The frames of joints are as they are inside; `from_angles` inverts it.
        """
        if self.header.handedness != HANDS[0]:
            raise UsageError("a left-handed world has no rotation that takes it inside")
        places = np.tile(self.skeleton.offsets[0], (self.frame_count, 1))
        if 0 in self.translated_joints:
            places = self.translations[:, self.translated_joints.index(0)]
        turn = conjugate(_world_turn(self.header.up))
        return space.outside(places, self.header.up), multiply(turn, self.rotations[:, 0])

    def positions(self) -> F64:
        """Return world positions of all joints, shape (T, J, 3), in metres."""
        return self.world()[0]

    def points(self) -> F64:
        """Return world positions (T, J, 3) in metres, NaN where a joint was not seen."""
        return np.where(self.valid[..., np.newaxis], self.positions(), np.nan)

    def source_points(self) -> F64:
        """Return `points` in the space of the source, as its `up` and `handedness` say."""
        return space.outside(self.points(), self.header.up, self.header.handedness)

    def world(self) -> tuple[F64, F64]:
        """Return world positions (T, J, 3) and world rotations (T, J, 4), these without scales."""
        positions, turned = kinematics.forward_kinematics(
            self.skeleton, self.rotations, self.translations, self.translated_joints
        )
        return (self.stretched()[0] if self.header.is_scaled else positions), turned

    def stretched(self) -> tuple[F64, F64]:
        """Return world positions (T, J, 3) and each joint's matrix (T, J, 3, 3), with scales."""
        return kinematics.scaled_kinematics(
            self.skeleton,
            self.rotations,
            self.translations,
            self.translated_joints,
            self.scales,
        )

    def frames(self, start: int, stop: int) -> Clip:
        """Return frames `start` to `stop`, half-open; their times are those of `frames_header`."""
        if not 0 <= start < stop <= self.frame_count:
            raise UsageError(
                f"frames {start}:{stop} do not lie in a clip of {self.frame_count} frames"
            )
        channels = None if self.channels is None else self.channels[start:stop]
        header = frames_header(self.header, start, stop, self.extras)
        return Clip(
            header,
            self.rotations[start:stop],
            self.translations[start:stop],
            channels,
            frames_extras(self.extras, self.header, start, stop),
        )

    def joints(self, joints: Sequence[int]) -> Clip:
        """Return the motion of these joints and their ancestors."""
        kept = self.skeleton.with_ancestors(joints)
        among = set(kept)
        moving = [m for m, j in enumerate(self.translated_joints) if j in among]
        scaled = [s for s, j in enumerate(self.header.scaled_joints) if j in among]
        return Clip(
            self.header.joints(joints),
            self.rotations[:, kept],
            self.translations[:, moving],
            None,
            self.extras.joints(kept, scaled) if self.extras else self.extras,
        )

    def sample(self, time: float) -> Clip:
        """Return the pose at `time` seconds as a one-frame clip; slerp between frames, clamped."""
        return self.pose_at(frame_at(time, self.header, self.extras.times))

    def pose_at(self, at: float) -> Clip:
        """Return the pose at frame `at`, which may lie between two, as a one-frame clip."""
        first = min(int(at), self.frame_count - 1)
        last = min(first + 1, self.frame_count - 1)
        t = at - first
        return Clip(
            pose_header(self.header, at, self.extras.times),
            slerp(self.rotations[first], self.rotations[last], t)[np.newaxis],
            ((1 - t) * self.translations[first] + t * self.translations[last])[np.newaxis],
            None,
            pose_extras(self.extras, at),
        )

    def with_header(self, **changes: Any) -> ClipHeader:
        """Return this clip's header with some fields changed."""
        return replace(self.header, **changes)


@dataclass(frozen=True, eq=False)
class VertexHeader(FrozenPickle):
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
class VertexClip(FrozenPickle):
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


def frame_at(time: float, header: ClipHeader, times: F64 | None) -> float:
    """Return the frame, with its fraction, at `time` seconds of a clip, clamped."""
    if times is None:
        at = (time - header.start_time) / header.frame_time
        return float(min(max(at, 0.0), header.frame_count - 1.0))
    return float(np.interp(time, times, np.arange(len(times))))


def frames_header(header: ClipHeader, start: int, stop: int, extras: Extras) -> ClipHeader:
    """Return the header of frames `start` to `stop`.

    They keep their times on a clock that something else shares (a start, tracks); those of a clip
    by itself begin at 0 again.
    """
    first = header.start_time
    if first or extras.times is not None or extras.tracks:
        first = _time_of(start, header, extras.times)
    loop = header.loop and stop - start == header.frame_count
    return replace(header, frame_count=stop - start, start_time=first, loop=loop)


def frames_extras(extras: Extras, header: ClipHeader, start: int, stop: int) -> Extras:
    """Return the extras of frames `start` to `stop` of a clip of this header."""
    if not extras or (start, stop) == (0, header.frame_count):
        return extras
    ends = _time_of(start, header, extras.times), _time_of(stop - 1, header, extras.times)
    return extras.frames(start, stop, ends, header.frame_time)


def pose_header(header: ClipHeader, at: float, times: F64 | None) -> ClipHeader:
    """Return the header of the one pose at frame `at`."""
    if not header.start_time and times is None:
        return replace(header, frame_count=1)
    seconds = header.start_time + at * header.frame_time
    if times is not None:
        seconds = float(np.interp(at, np.arange(len(times)), times))
    return replace(header, frame_count=1, start_time=seconds)


def pose_extras(extras: Extras, at: float) -> Extras:
    """Return what the one pose at frame `at` has: scales between, seen where both frames were."""
    if extras.scales is None and extras.valid is None:
        return Extras()
    first = int(at)
    t = at - first
    pair = [first, first + 1] if t else [first, first]
    scales = None
    if extras.scales is not None:
        scales = ((1 - t) * extras.scales[pair[0]] + t * extras.scales[pair[1]])[np.newaxis]
    seen = None if extras.valid is None else np.asarray(extras.valid[pair].all(0))[np.newaxis]
    return Extras(scales, None, seen)


def _world_turn(up: str) -> F64:
    """Return the rotation (4,) that takes a right-handed world with that axis up inside."""
    return from_matrix(space.basis(up, HANDS[0]))


def _time_of(frame: int, header: ClipHeader, times: F64 | None) -> float:
    if times is not None:
        return float(times[frame])
    return header.start_time + frame * header.frame_time


def _even(times: F64, start: float, frame_time: float) -> bool:
    """Whether times say no more than their start and their frame time do."""
    spread = np.abs(times - (start + np.arange(len(times)) * frame_time))
    return bool(spread.max(initial=0.0) <= 1e-9 * frame_time)


def _fill_gaps(places: F64, valid: Mask) -> None:
    """Fill places (T, 3) where they are not valid: cubics between what is around, level outside."""
    known = np.flatnonzero(valid)
    if not len(known):
        places[:] = 0.0
        return
    places[: known[0]], places[known[-1] :] = places[known[0]], places[known[-1]]
    for before, after in pairwise(known.tolist()):
        if after == before + 1:
            continue
        length = after - before
        into = places[before] - places[before - 1] if before and valid[before - 1] else 0.0
        last = after + 1 < len(places) and valid[after + 1]
        out = places[after + 1] - places[after] if last else 0.0
        t = (np.arange(1, length) / length)[:, np.newaxis]
        places[before + 1 : after] = (
            (2 * t**3 - 3 * t**2 + 1) * places[before]
            + (t**3 - 2 * t**2 + t) * length * into
            + (3 * t**2 - 2 * t**3) * places[after]
            + (t**3 - t**2) * length * out
        )


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
    if original.header.is_scaled or decoded.header.is_scaled:
        return kinematics.scaled_error(original.skeleton, original.stretched(), decoded.stretched())
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
