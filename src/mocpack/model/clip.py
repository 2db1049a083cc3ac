"""Clips: the motion of a skeleton or of a mesh, as every part of the package exchanges it.

Meters, seconds, radians; right-handed, y up; quaternions (x, y, z, w). Clips are immutable.
Constructors validate them, so the rest of the package does not check again.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Self, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.common.arguments import check_array, check_integers, check_number, check_sequence
from mocpack.common.arrays import F64, Mask
from mocpack.common.frozen import FrozenPickle, build_unchecked, freeze_array, is_frozen, read_only
from mocpack.common.json_object import Json
from mocpack.errors import HingeWarning, InvalidClipError, UnsupportedClipError, UsageError
from mocpack.model import derivations, kinematics, rotations, space
from mocpack.model.contacts import find_feet, find_planted
from mocpack.model.display import bones, plot_poses, render_html, summarize
from mocpack.model.gaps import fill_gaps
from mocpack.model.header import AnyHeader as AnyHeader
from mocpack.model.header import (
    BaseClip,
    Selection,
    check_space,
    joint_indices,
    parse_selection,
    time_to_frame,
)
from mocpack.model.header import ClipHeader as ClipHeader
from mocpack.model.header import VertexHeader as VertexHeader
from mocpack.model.hinge_detection import TOLERANCE_RAD, find_hinges
from mocpack.model.hinges import HingeAngles, joint_positions, joint_rotations
from mocpack.model.mirroring import MAX_ASYMMETRY
from mocpack.model.rotations import conjugate, from_matrix, multiply
from mocpack.model.skeleton import Skeleton
from mocpack.model.space import HANDEDNESS, MAX_COORDINATE_M, MAX_DECODED_COORDINATE_M
from mocpack.model.take_data import NO_TAKE_DATA, TakeData, Track, check_take_data, split_scales
from mocpack.model.vertex_clip import VertexClip as VertexClip

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d import Axes3D

UNIT_TOLERANCE = 1e-3  # a quaternion further from unit length is an error, not rounding
MAX_QUIET_ANGLE_RAD = 1e-4  # `angles` warns if a joint is further off its hinge axis
MAX_QUIET_SLIDE_M = 1e-5  # the same for sliders, in meters


class TakeOptions(TypedDict, total=False):
    """Arguments of `Clip.build` that do not describe poses."""

    frame_time: float | None
    metadata: Mapping[str, Json] | None
    channels: npt.ArrayLike | None
    scales: npt.ArrayLike | None
    scaled_joints: Sequence[str | int] | None
    times: npt.ArrayLike | None
    start_time: float
    tracks: Mapping[str, Track] | None
    loop: bool
    interpolated: bool


class BuildOptions(TakeOptions, total=False):
    frame_rate: float | None
    unit: float
    valid: npt.ArrayLike | None
    handedness: str


class ClipChanges(BuildOptions, total=False):
    """Arguments of `Clip.build`, which `Clip.replace` can change."""

    skeleton: Skeleton
    rotations: npt.ArrayLike
    translations: npt.ArrayLike
    translated_joints: Sequence[str | int]
    up: str


@dataclass(frozen=True, eq=False)
class Clip(BaseClip, FrozenPickle):
    """A skeleton in motion.

    `mocpack.read` and `mocpack.decode` return clips. `Clip.build` makes one from a skeleton and
    arrays, `Clip.from_angles` from the angles of a robot, `Clip.from_points` from markers.

    Parameters
    ----------
    header : ClipHeader
    rotations : array, shape (T, J, 4)
        Local unit quaternions (x, y, z, w). They are normalized, and their signs are chosen so that
        each lies in the hemisphere of the frame before.
    translations : array, shape (T, M, 3)
        Positions of the M translated joints in the frame of their parents, in meters.
    channels : array, shape (T, C), optional
        The numbers of the source file (in its units and degrees), in the order of its channels.
    take_data : TakeData, optional
        Data besides poses: animated scales, uneven times, gaps and tracks. The properties `scales`,
        `times`, `valid` and `tracks` read it.
    """

    header: ClipHeader
    rotations: F64
    translations: F64
    channels: F64 | None = None
    take_data: TakeData = field(default_factory=TakeData)

    def __post_init__(self) -> None:
        if not isinstance(self.header, ClipHeader):
            raise InvalidClipError(
                f"header must be a ClipHeader, got {self.header!r:.80}; Clip.build makes a clip "
                "from a skeleton and arrays"
            )
        object.__setattr__(self, "rotations", _normalize_rotations(self.rotations, self.header))
        self._check()

    def _check(self) -> None:
        """Check all fields except the rotations."""
        object.__setattr__(self, "translations", freeze_array(self.translations))
        shape = (self.frame_count, len(self.translated_joints), 3)
        if self.translations.shape != shape:
            raise InvalidClipError(
                f"expected translations of shape {shape}, got {self.translations.shape}"
            )
        # "not <" also catches NaN
        if not np.abs(self.translations).max(initial=0.0) < MAX_DECODED_COORDINATE_M:
            raise InvalidClipError(
                f"translations must be finite and below {MAX_DECODED_COORDINATE_M:.0e} m"
            )
        if self.channels is not None:
            object.__setattr__(self, "channels", freeze_array(self.channels))
            shape_c = (self.frame_count, self.skeleton.channel_count)
            if self.channels.shape != shape_c or not np.isfinite(self.channels).all():
                raise InvalidClipError(
                    f"expected finite channels of shape {shape_c}, got {self.channels.shape}"
                )
            if self.header.is_scaled:
                raise InvalidClipError(
                    "a clip with scales cannot have channels, since channels have no scales"
                )
        header = self.header
        check_take_data(
            self.take_data, self.frame_count, len(self.skeleton), len(header.scaled_joints)
        )
        if self.take_data.times is not None and self.take_data.times[0] != header.start_time:
            raise InvalidClipError(
                f"times begin at {self.take_data.times[0]}, but start_time is {header.start_time}"
            )

    @classmethod
    def from_decoded(cls, header: ClipHeader, rotations: F64, translations: F64) -> Self:
        """Make a clip from arrays that the core has decoded, validated and normalized."""
        given = {
            "header": header,
            "rotations": read_only(rotations),
            "translations": read_only(translations),
        }
        return build_unchecked(cls, {**given, "channels": None, "take_data": NO_TAKE_DATA})

    @classmethod
    def from_owned_arrays(cls, header: ClipHeader, rotations: F64, translations: F64) -> Self:
        """Make a clip from arrays that only the caller holds, without copying them.

        The arrays are normalized in place and become read-only.
        """
        good = rotations.ndim == 3 and rotations.shape[2] == 4
        good = good and _core.normalize_rotations(rotations, UNIT_TOLERANCE) < 0
        rotations.setflags(write=False)
        translations.setflags(write=False)
        if not good or rotations.shape[:2] != (header.frame_count, len(header.skeleton)):
            return cls(header, rotations, translations)  # raises the error
        clip = cls.from_decoded(header, rotations, translations)
        clip._check()
        return clip

    def __repr__(self) -> str:
        """Return three lines: length, joints, and what moves besides rotations.

        >>> from mocpack.testing import walk
        >>> walk()
        Clip of 120 frames at 60 fps, 2.000 s
          21 joints: Hips, Spine, Chest … RightToe
          translated: Hips
        """
        first, *rest = summarize(self.header, self.take_data)
        return "\n".join([f"Clip of {first}", *(f"  {line}" for line in rest)])

    def _repr_html_(self) -> str:
        """Return the summary as HTML for notebooks, with a picture of the middle frame."""
        middle = self.bones([self.frame_count // 2])[0]
        return render_html("Clip", summarize(self.header, self.take_data), middle)

    def __getitem__(self, key: Selection) -> Clip:
        """Return some frames, some joints with their ancestors, or both.

        ``clip[10:200]``, ``clip[::4]``, ``clip[-1]``, ``clip["LeftFoot"]``,
        ``clip[["LeftFoot", "Head"]]``, ``clip[10:200, "LeftFoot"]``.

        >>> from mocpack.testing import walk
        >>> clip = walk()
        >>> len(clip[10:20]), len(clip[-1]), clip[::5].frame_rate == clip.frame_rate / 5
        (10, 1, True)
        """
        start, stop, step, joints = parse_selection(key, self.frame_count)
        part = self.frames(start, stop)
        part = part if step == 1 else derivations.keep_every(part, step)
        return part if joints is None else part.joints(joints)

    @classmethod
    def build(
        cls,
        skeleton: Skeleton,
        rotations: npt.ArrayLike,
        translations: npt.ArrayLike,
        *,
        frame_rate: float | None = None,
        frame_time: float | None = None,
        translated_joints: Sequence[str | int] = (0,),
        unit: float = 1.0,
        metadata: Mapping[str, Json] | None = None,
        channels: npt.ArrayLike | None = None,
        scales: npt.ArrayLike | None = None,
        scaled_joints: Sequence[str | int] | None = None,
        times: npt.ArrayLike | None = None,
        start_time: float = 0.0,
        valid: npt.ArrayLike | None = None,
        tracks: Mapping[str, Track] | None = None,
        loop: bool = False,
        up: str = "y",
        handedness: str = "right",
        interpolated: bool = False,
    ) -> Self:
        """Make a clip from rotations (T, J, 4) and translations (T, M, 3), or (T, 3) of the root.

        `ClipHeader` and `TakeData` describe the other arguments. Evenly spaced times and a `valid`
        array without gaps are dropped. Scales (T, J, 3) of all joints are split into constant and
        animated ones, and differences below 1e-4 are removed as noise; the metadata records the
        largest as `scale_noise_dropped`. Scales (T, S, 3) of given `scaled_joints` are kept as
        they are.
        """
        if not isinstance(skeleton, Skeleton):
            raise InvalidClipError(f"skeleton must be a Skeleton, got {skeleton!r:.80}")
        metadata = {} if metadata is None else metadata
        if scales is not None and scaled_joints is None:
            split = split_scales(check_array("scales", scales))
            skeleton = replace(skeleton, scales=split.constant)
            scales, scaled_joints = split.moving, split.joints
            if split.dropped:
                metadata = {**metadata, "scale_noise_dropped": split.dropped}
        rotations = np.asarray(check_array("rotations", rotations))
        translations = np.asarray(check_array("translations", translations))
        if not rotations.ndim:
            raise InvalidClipError("expected rotations of shape (T, J, 4), got a single number")
        if translations.ndim == 2:
            translations = translations[:, np.newaxis]
        seconds = None if times is None else np.asarray(check_array("times", times), np.float64)
        if seconds is not None and seconds.ndim != 1:
            raise InvalidClipError(f"expected times of shape (T,), got {seconds.shape}")
        if seconds is not None and len(seconds):
            start_time = float(seconds[0])
            if frame_time is None and frame_rate is None and len(seconds) > 1:
                frame_time = (start_time - seconds[-1]) / (1 - len(seconds))
        if frame_time is None:
            rate = 120.0 if frame_rate is None else frame_rate
            frame_time = 1 / check_number("frame_rate", rate, 1e-6, 1e6, error=InvalidClipError)
        check_number("frame_time", frame_time, 1e-6, 1e6, error=InvalidClipError)
        if seconds is not None and _are_even(seconds, start_time, frame_time):
            seconds = None
        header = ClipHeader(
            skeleton,
            len(rotations),
            frame_time,
            joint_indices(skeleton, translated_joints, "translated_joints"),
            unit,
            metadata,
            joint_indices(skeleton, scaled_joints or (), "scaled_joints"),
            start_time,
            loop,
            up,
            handedness,
            interpolated,
        )
        numbers = None if channels is None else np.asarray(check_array("channels", channels), float)
        seen = None if valid is None else check_array("valid", valid)
        seen = None if seen is None or np.all(seen) else np.asarray(seen, np.bool_)
        if scales is not None:
            scales = np.asarray(check_array("scales", scales), np.float64)
        return cls(
            header,
            rotations,
            translations,
            numbers,
            TakeData(scales, seconds, seen, {} if tracks is None else tracks),
        )

    @classmethod
    def from_points(
        cls,
        points: npt.ArrayLike,
        names: Sequence[str],
        *,
        frame_rate: float = 100.0,
        unit: float = 1.0,
        up: str = "y",
        handedness: str = "right",
        **others: Unpack[TakeOptions],
    ) -> Self:
        """Make a clip of markers from positions (T, P, 3) in meters, NaN where one is missing.

        `up` and `handedness` describe the space of the positions; `source_points` returns them in
        that space. Gaps are recorded in `valid` and filled with cubic curves.
        """
        names = check_sequence("names", names)
        places = np.array(check_array("points", points), np.float64)
        if places.ndim != 3 or places.shape[2] != 3 or places.shape[1] != len(names):
            raise InvalidClipError(
                f"expected points of shape (T, {len(names)}, 3), got {places.shape}"
            )
        check_space(up, handedness)
        places = space.to_internal(places, up, handedness)
        valid = np.asarray(np.isfinite(places).all(-1))
        for p in range(places.shape[1]):
            fill_gaps(places[:, p], valid[:, p])
        skeleton = Skeleton.from_point_names(names)
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
        **others: Unpack[BuildOptions],
    ) -> Self:
        """Make a clip from hinge angles (T, H) in radians, or meters for sliders.

        Joints without hinges take their rotation from `local` (T, J, 4), or stay at rest. `up` is
        the up axis of the world of `root_positions` (T, 3), in meters, and `root_rotations` (T, 4);
        `source_root` returns them. Link frames are not changed. `others` are options of `build`.
        """
        hinges = skeleton.hinges
        if hinges is None:
            raise UsageError("the skeleton has no hinges, so angles cannot pose it; use Clip.build")
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
        for joint, pose in joint_rotations(hinges, skeleton.rest, numbers):
            turns[:, joint] = pose
        moving = tuple(sorted({0, *hinges.sliding_joints}))
        places = np.tile(skeleton.offsets[list(moving)], (frames, 1, 1))
        for joint, place in joint_positions(hinges, skeleton.rest, skeleton.offsets, numbers):
            places[:, moving.index(joint)] = place
        if root_positions is not None:
            places[:, 0] = space.to_internal(np.asarray(root_positions, np.float64), up)
        if root_rotations is not None:
            turns[:, 0] = multiply(_up_axis_rotation(up), np.asarray(root_rotations, np.float64))
        return cls.build(skeleton, turns, places, translated_joints=moving, up=up, **others)

    @property
    def skeleton(self) -> Skeleton:
        return self.header.skeleton

    @property
    def duration(self) -> float:
        """Duration in seconds, including the last frame.

        >>> from mocpack.testing import walk
        >>> walk(seconds=2, frame_rate=60).duration
        2.0
        """
        return float(self.times[-1] - self.times[0] + self.frame_time)

    @property
    def translated_joints(self) -> tuple[int, ...]:
        return self.header.translated_joints

    @property
    def unit(self) -> float:
        return self.header.unit

    @property
    def start_time(self) -> float:
        """Time of the first frame in seconds, on the clock of the scene."""
        return self.header.start_time

    @property
    def times(self) -> F64:
        """Time of each frame in seconds, (T,)."""
        if self.take_data.times is not None:
            return self.take_data.times
        return np.asarray(self.start_time + np.arange(self.frame_count) * self.frame_time)

    @property
    def scales(self) -> F64:
        """Scale (T, J, 3) of every joint along its own axes."""
        every = np.tile(self.skeleton.scales, (self.frame_count, 1, 1))
        if self.take_data.scales is not None:
            every[:, list(self.header.scaled_joints)] = self.take_data.scales
        return every

    @property
    def valid(self) -> Mask:
        """Whether each joint was recorded in each frame, (T, J)."""
        if self.take_data.valid is not None:
            return self.take_data.valid
        return np.ones((self.frame_count, len(self.skeleton)), np.bool_)

    @property
    def angles(self) -> F64:
        """Hinge angles (T, H) in radians, or meters for sliders, in the order of `Skeleton.hinges`.

        A codec that does not code hinges can rotate a joint off its axis. Its angle is then that of
        the nearest rotation about the axis, and a `HingeWarning` states the difference.
        """
        hinges = self.hinge_angles()
        slides = self.skeleton.hinges.slides if self.skeleton.hinges else np.zeros(0, np.bool_)
        turned = float(hinges.off_axis[:, ~slides].max(initial=0.0))
        moved = float(hinges.off_axis[:, slides].max(initial=0.0))
        if turned > MAX_QUIET_ANGLE_RAD or moved > MAX_QUIET_SLIDE_M:
            warnings.warn(
                f"joints are up to {turned:.3g} rad and {moved:.3g} m off their hinge axes; "
                "angles are those of the nearest rotations about the axes",
                HingeWarning,
                stacklevel=2,
            )
        return hinges.angles

    def hinge_angles(self, *, measure_off_axis: bool = True) -> HingeAngles:
        """Return `angles`, and how far joints are off their axes if `measure_off_axis`."""
        return self.skeleton.hinge_angles(
            self.rotations,
            self.translations,
            self.translated_joints,
            measure_off_axis=measure_off_axis,
        )

    def with_hinges(self, *, detect: bool = False, tolerance: float = TOLERANCE_RAD) -> Clip:
        """Return this clip with hinges added to its skeleton; poses do not change.

        Joints with one or two rotation channels become hinges. With `detect`, so do joints that
        rotate about one axis in every frame, within `tolerance` radians. The metadata lists them in
        ``hinges_found``, each with its largest deviation in radians. ``hinges_left`` lists joints
        that rotate about other axes than those of their channels.
        """
        check_number("tolerance", tolerance, 0, np.pi)
        detection = find_hinges(
            self.skeleton,
            self.rotations,
            self.translations,
            self.translated_joints,
            detect=detect,
            tolerance=tolerance,
        )
        if detection.skeleton == self.skeleton and not detection.left:
            return self
        notes = {"hinges_found": dict(detection.found), "hinges_left": dict(detection.left)}
        metadata = dict(self.metadata) | {name: value for name, value in notes.items() if value}
        header = replace(self.header, skeleton=detection.skeleton, metadata=metadata)
        return Clip(header, self.rotations, self.translations, self.channels, self.take_data)

    def source_root(self) -> tuple[F64, F64]:
        """Return positions (T, 3) and rotations (T, 4) of the first joint in the source's world.

        `from_angles` takes them as `root_positions` and `root_rotations`.
        """
        if self.header.handedness != HANDEDNESS[0]:
            raise UsageError("source_root needs a right-handed source, got a left-handed one")
        if 0 in self.translated_joints:
            places = np.asarray(self.translations)[:, self.translated_joints.index(0)]
        else:
            places = np.tile(self.skeleton.offsets[0], (self.frame_count, 1))
        turn = conjugate(_up_axis_rotation(self.header.up))
        turned = multiply(turn, np.asarray(self.rotations)[:, 0])
        return space.from_internal(places, self.header.up), turned

    def positions(self) -> F64:
        """Return world positions of all joints, shape (T, J, 3), in meters."""
        return self.world()[0]

    def points(self) -> F64:
        """Return world positions (T, J, 3) in meters, NaN where a joint was not recorded."""
        return np.where(self.valid[..., np.newaxis], self.positions(), np.nan)

    def source_points(self) -> F64:
        """Return `points` in the source's space, given by its `up` and `handedness`."""
        return space.from_internal(self.points(), self.header.up, self.header.handedness)

    def world(self) -> tuple[F64, F64]:
        """Return world positions (T, J, 3) in meters and rotations (T, J, 4), without scales."""
        positions, turned = kinematics.forward_kinematics(
            self.skeleton, self.rotations, self.translations, self.translated_joints
        )
        return (self.world_matrices()[0] if self.header.is_scaled else positions), turned

    def world_matrices(self) -> tuple[F64, F64]:
        """Return world positions (T, J, 3) and world matrices (T, J, 3, 3), with scales."""
        return kinematics.forward_kinematics_scaled(
            self.skeleton,
            self.rotations,
            self.translations,
            self.translated_joints,
            self.scales,
        )

    def bones(self, frames: Sequence[int]) -> F64:
        """Return the ends of every bone in some frames, (F, B, 2, 3), world positions in meters."""
        segments = []
        for frame in check_integers("frames", frames):
            pose = self[frame].bake_scales()
            positions, world = pose.world()
            ends = kinematics.end_positions(pose.skeleton, positions, world)
            segments.append(bones(self.skeleton, positions[0], ends[0]))
        return np.array(segments)

    def velocities(self) -> F64:
        """Return world velocities (T, J, 3) of all joints, in meters per second.

        Central differences, one-sided at the ends; 0 for a clip of one frame.
        """
        if len(self) == 1:
            return np.zeros((1, len(self.skeleton), 3))
        return np.asarray(np.gradient(self.positions(), self.times, axis=0))

    def angular_velocities(self) -> F64:
        """Return world angular velocities (T, J, 3) of all joints, in radians per second.

        About the axes of the world. Central differences, one-sided at the ends.
        """
        return rotations.angular_velocities(self.world()[1], self.times)

    def contacts(self) -> dict[str, Mask]:
        """Return when each foot is planted on the ground, (T,) by the name of its joint.

        A joint is planted while it is within 3 cm of its floor, the 5th percentile of its height,
        and slower than 15 cm/s. Feet are joints named like feet, otherwise the lowest leaf joints.
        """
        positions = self.positions()
        feet = find_feet(self.skeleton, positions)
        planted = find_planted(positions[:, feet], self.frame_rate)
        return {self.skeleton.names[j]: planted[:, k] for k, j in enumerate(feet)}

    def rotations_6d(self) -> F64:
        """Return local rotations (T, J, 6) as the first two columns of their matrices.

        The continuous representation of Zhou et al. 2019; `mocpack.rotations.from_6d` inverts it.
        """
        return rotations.as_6d(np.asarray(self.rotations))

    def as_euler(self, order: str) -> F64:
        """Return local rotations (T, J, 3) as intrinsic Euler angles in radians.

        Parameters
        ----------
        order : str
            Three different axes, such as "ZYX": about z, then the rotated y, then the rotated x.
            Angles are unwrapped over time, so they do not jump by full turns.
        """
        if not isinstance(order, str) or sorted(order) != ["X", "Y", "Z"]:
            raise UsageError(f"order must be three different axes such as 'ZYX', got {order!r}")
        return rotations.unwrap_euler(rotations.as_euler(np.asarray(self.rotations), order))

    def frames(self, start: int, stop: int) -> Self:
        """Return frames `start` to `stop`, half-open."""
        return derivations.cut_frames(self, start, stop)

    def joints(self, joints: Sequence[str | int]) -> Self:
        """Return the motion of some joints, by name or index, and of their ancestors.

        >>> from mocpack.testing import walk
        >>> walk().joints(["Chest"]).skeleton.names
        ('Hips', 'Spine', 'Chest')
        """
        return derivations.keep_joints(self, joints)

    def sample(self, time: float) -> Clip:
        """Return the pose at `time` seconds as a one-frame clip: slerp between frames, clamped."""
        return self.pose_at(time_to_frame(time, self.header, self.take_data.times))

    def pose_at(self, at: float) -> Self:
        """Return the pose at a frame index, which may be fractional, as a one-frame clip."""
        return derivations.pose_at(self, at)

    def resample(self, fps: float) -> Clip:
        """Return the motion at another frame rate: slerp for rotations, linear for positions.

        The first frame keeps its time; no frame lies after the end. Tracks keep their own rates.

        >>> from mocpack.testing import walk
        >>> len(walk().resample(30))
        60
        """
        return derivations.resample(self, fps)

    def change_speed(self, speed: float) -> Clip:
        """Return the motion played at `speed` times its own, at the same frame rate.

        Tracks change with it. ``clip.replace(frame_rate=2 * clip.fps)`` keeps every pose instead,
        and changes the frame rate.

        >>> from mocpack.testing import walk
        >>> walk(seconds=2, frame_rate=60).change_speed(2).duration
        1.0
        """
        return derivations.change_speed(self, speed)

    def close_loop(self) -> Clip:
        """Return the motion as a loop: after its last frame, its first one follows without a jump.

        The difference between the ends is spread evenly over all frames, for each joint on its
        own. A walk therefore ends where it began: it stays on the spot. Tracks do not change.

        >>> from mocpack.testing import walk
        >>> walk()[10:73].close_loop().header.loop
        True
        """
        return derivations.close_loop(self)

    def poses_at(self, at: npt.ArrayLike, *, frame_time: float | None = None) -> Clip:
        """Return the poses at frame indices `at` (N,), which may be fractional, as an even clip.

        >>> from mocpack.testing import walk
        >>> len(walk().poses_at([0.5, 1.5, 3]))
        3
        """
        return derivations.poses_at(self, at, frame_time)

    def mirror(
        self,
        *,
        axis: str | None = None,
        pairs: Sequence[tuple[str | int, str | int]] | None = None,
        tolerance: float = MAX_ASYMMETRY,
    ) -> Clip:
        """Return the mirrored motion, with left and right exchanged.

        Parameters
        ----------
        axis : {"x", "y", "z"}, optional
            Axis from one side of the body to the other. By default the axis that separates the
            sides best, in the rest pose or, for markers, in the first frame. The mirror plane goes
            through the origin.
        pairs : sequence of (left, right), optional
            Joints that are mirror images, by name or index. By default joints are paired by name
            (LeftArm and RightArm, arm_l and arm_r). All other joints map to themselves.
        tolerance : float
            Difference allowed between the bones of a pair at rest, relative to their length.

        >>> from mocpack.testing import walk
        >>> clip = walk()
        >>> left = clip.positions()[0, clip.skeleton.index("LeftFoot")]
        >>> right = clip.mirror().positions()[0, clip.skeleton.index("RightFoot")]
        >>> bool(np.allclose(left * (-1, 1, 1), right))
        True
        """
        return derivations.mirror(self, axis, pairs, tolerance)

    def bake_scales(self) -> Self:
        """Return the motion without scales; joints keep their world positions.

        Constant uniform scales change the lengths of bones. Other scales turn into positions of
        every joint.
        """
        return derivations.bake_scales(self)

    def concat(self, *others: Clip) -> Clip:
        """Return this clip followed by others, each one frame after the end of the one before.

        All must have the same skeleton, frame rate and translated joints. Tracks of the same name
        are concatenated; a track of only some clips keeps its time.

        >>> from mocpack.testing import walk
        >>> clip = walk()
        >>> len(clip.concat(clip, clip))
        360
        """
        for k, other in enumerate(others, 2):
            if not isinstance(other, Clip):
                raise UsageError(f"clip {k} of {len(others) + 1} must be a Clip, got {other!r:.80}")
        return derivations.concatenate([self, *others])

    def replace(self, **changes: Unpack[ClipChanges]) -> Clip:
        """Return this clip with some arguments of `build` changed.

        `channels`, the numbers of the source, are dropped if a pose changes.

        >>> from mocpack.testing import walk
        >>> walk().replace(frame_rate=30, loop=True).fps
        30.0
        """
        parts = (self, self.header, self.take_data)
        given = {f.name: getattr(part, f.name) for part in parts for f in fields(part)}
        for name in ("header", "take_data", "frame_count"):
            del given[name]
        given["scaled_joints"] = self.header.scaled_joints or None
        unknown = sorted(set(changes) - set(given) - {"frame_rate"})
        if unknown:
            known = ", ".join([*given, "frame_rate"])
            raise UsageError(f"unknown field {unknown[0]!r}; a clip has: {known}")
        if {"skeleton", "rotations", "translations", "translated_joints"} & set(changes):
            given["channels"] = None
        if {"frame_rate", "frame_time"} & set(changes):
            given["times"] = given["frame_time"] = None
        if "scales" in changes and "scaled_joints" not in changes:
            given["scaled_joints"] = None
        return Clip.build(**{**given, **changes})

    def plot(self, frames: Sequence[int] | None = None, axes: Axes3D | None = None) -> Axes3D:
        """Draw the skeleton in some frames and the path of the root; return the matplotlib axes.

        Parameters
        ----------
        frames : sequence of int, optional
            By default five evenly spaced frames.
        axes : matplotlib 3-d axes, optional
            New axes by default; ``axes.figure.savefig("walk.png")`` saves the plot.

        >>> from mocpack.testing import walk
        >>> walk().plot(frames=[0, 60]).name
        '3d'
        """
        if frames is None:
            frames = sorted({round(x) for x in np.linspace(0, len(self) - 1, 5)})
        return plot_poses(list(self.bones(frames)), self.positions()[:, 0], axes)


AnyClip = Clip | VertexClip


def require_skeleton(clip: object, what: str) -> Clip:
    """Return a clip of a skeleton; for a mesh, raise `UsageError`: `what` needs a skeleton."""
    if not isinstance(clip, Clip):
        raise UsageError(f"{what} needs a skeleton, got a vertex animation")
    return clip


def check_coordinates(clip: AnyClip) -> None:
    """Raise `UnsupportedClipError` if a coordinate is too large to be encoded within a bound."""
    places = clip.translations if isinstance(clip, Clip) else clip.positions()
    farthest = float(np.abs(places).max(initial=0.0))
    if not farthest < MAX_COORDINATE_M:
        raise UnsupportedClipError(
            f"coordinates must be below {MAX_COORDINATE_M:.0e} m, got {farthest:.9g} m"
        )


def measure_error(original: AnyClip, decoded: AnyClip) -> kinematics.MotionError:
    """Measure the error of `decoded`; both clips need the same skeleton or mesh, and length."""
    if isinstance(original, VertexClip) or isinstance(decoded, VertexClip):
        moved = np.linalg.norm(original.positions() - decoded.positions(), axis=-1)
        return kinematics.summarize_errors(moved, moved)
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
        return kinematics.measure_scaled_error(
            original.skeleton, original.world_matrices(), decoded.world_matrices()
        )
    return kinematics.measure_error(
        original.skeleton,
        (original.rotations, original.translations),
        (decoded.rotations, decoded.translations),
        original.translated_joints,
    )


@cache
def _up_axis_rotation(up: str) -> F64:
    """Return the rotation (4,) from a right-handed world with that up axis to y up."""
    return from_matrix(space.conversion_matrix(up, HANDEDNESS[0]))


def _normalize_rotations(rotations: npt.ArrayLike, header: ClipHeader) -> F64:
    """Return read-only rotations of unit length without sign flips; copy only if needed."""
    array = np.asanyarray(rotations, np.float64)
    shape = (header.frame_count, len(header.skeleton), 4)
    if array.shape != shape:
        raise InvalidClipError(f"expected rotations of shape {shape}, got {array.shape}")
    if is_frozen(array) and _core.are_rotations_normalized(array):
        return array
    array = np.array(array, order="C")
    bad = _core.normalize_rotations(array, UNIT_TOLERANCE)
    if bad >= 0:
        frame, joint = divmod(bad, shape[1])
        raise InvalidClipError(
            f"rotation of joint {header.skeleton.names[joint]!r} at frame {frame} "
            f"is not a unit quaternion: {array[frame, joint]}"
        )
    return read_only(array)


def _are_even(times: F64, start: float, frame_time: float) -> bool:
    """Return whether times are evenly spaced from `start`."""
    spread = np.abs(times - (start + np.arange(len(times)) * frame_time))
    return bool(spread.max(initial=0.0) <= 1e-9 * frame_time)
