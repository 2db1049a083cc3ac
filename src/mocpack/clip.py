"""The data types that travel through the package: a skeleton in motion, or vertices in motion.

Metres, seconds, radians; right-handed, y up; quaternions (x, y, z, w). Everything is frozen and
validated once, in the constructors; the rest of the package trusts what it is given.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mocpack import _core, derivations, kinematics, rotations, space
from mocpack.arguments import check_array, check_number, check_sequence
from mocpack.arrays import F64, Mask
from mocpack.display import bones, plot_poses, render_html, summarize
from mocpack.errors import HingeWarning, InvalidClipError, UnsupportedClipError, UsageError
from mocpack.frozen import FrozenPickle, build_unchecked, freeze_array, is_frozen, read_only
from mocpack.gaps import fill_gaps
from mocpack.header import AnyHeader as AnyHeader
from mocpack.header import ClipHeader as ClipHeader
from mocpack.header import (
    HasHeader,
    check_space,
    joint_indices,
    parse_selection,
    time_to_frame,
)
from mocpack.header import VertexHeader as VertexHeader
from mocpack.hinge_detection import TOLERANCE_RAD, find_hinges
from mocpack.hinges import HingeAngles, hinge_angles, joint_positions, joint_rotations
from mocpack.rotations import conjugate, from_matrix, multiply
from mocpack.skeleton import Skeleton
from mocpack.space import HANDEDNESS, MAX_COORDINATE_M, MAX_DECODED_COORDINATE_M
from mocpack.take_data import NO_TAKE_DATA, TakeData, Track, check_take_data, split_scales
from mocpack.vertex_clip import VertexClip as VertexClip

UNIT_TOLERANCE = 1e-3  # a quaternion further from unit length than this is a mistake, not rounding
MAX_QUIET_ANGLE_RAD = 1e-4  # radians, and
MAX_QUIET_SLIDE_M = 1e-5  # metres, that a joint may stand off its hinge before `angles` warns


@dataclass(frozen=True, eq=False)
class Clip(HasHeader, FrozenPickle):
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
    take_data : Extras, optional
        What the take holds beside its poses; `scales`, `times`, `valid` and `tracks` read it.
    """

    header: ClipHeader
    rotations: F64
    translations: F64
    channels: F64 | None = None
    take_data: TakeData = field(default_factory=TakeData)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rotations", _normalize_rotations(self.rotations, self.header))
        self._check()

    def _check(self) -> None:
        """Complain about anything but the rotations that does not fit."""
        object.__setattr__(self, "translations", freeze_array(self.translations))
        shape = (self.frame_count, len(self.translated_joints), 3)
        if self.translations.shape != shape:
            raise InvalidClipError(
                f"expected translations of shape {shape}, got {self.translations.shape}"
            )
        # the negation is true for NaN too
        if not np.abs(self.translations).max(initial=0.0) < MAX_DECODED_COORDINATE_M:
            raise InvalidClipError(
                f"translations must be finite and below {MAX_DECODED_COORDINATE_M:.0e} metres"
            )
        if self.channels is not None:
            object.__setattr__(self, "channels", freeze_array(self.channels))
            shape_c = (self.frame_count, self.skeleton.channel_count)
            if self.channels.shape != shape_c or not np.isfinite(self.channels).all():
                raise InvalidClipError(
                    f"expected finite channels of shape {shape_c}, got {self.channels.shape}"
                )
            if self.header.is_scaled:
                raise InvalidClipError("a clip with scales has no channels: they cannot say them")
        header = self.header
        check_take_data(
            self.take_data, self.frame_count, len(self.skeleton), len(header.scaled_joints)
        )
        if self.take_data.times is not None and self.take_data.times[0] != header.start_time:
            raise InvalidClipError(
                f"times begin at {self.take_data.times[0]}, but start_time is {header.start_time}"
            )

    @classmethod
    def from_decoded(cls, header: ClipHeader, rotations: Any, translations: Any) -> Self:
        """Return the clip of arrays that the core has decoded, checked and settled."""
        given = {
            "header": header,
            "rotations": read_only(rotations),
            "translations": read_only(translations),
        }
        clip: Self = build_unchecked(cls, {**given, "channels": None, "take_data": NO_TAKE_DATA})
        return clip

    @classmethod
    def from_owned_arrays(cls, header: ClipHeader, rotations: F64, translations: F64) -> Self:
        """Make a clip of arrays that nobody else holds: settled and frozen where they are."""
        good = rotations.ndim == 3 and rotations.shape[2] == 4
        good = good and _core.normalize_rotations(rotations, UNIT_TOLERANCE) < 0
        rotations.setflags(write=False)
        translations.setflags(write=False)
        if not good or rotations.shape[:2] != (header.frame_count, len(header.skeleton)):
            return cls(header, rotations, translations)  # which says what is wrong
        clip = cls.from_decoded(header, rotations, translations)
        clip._check()
        return clip

    def __repr__(self) -> str:
        """Return three lines: how long, which joints, what moves beside rotations.

        >>> from mocpack.testing import walk
        >>> walk()
        Clip of 120 frames at 60 fps, 2.000 s
          21 joints: Hips, Spine, Chest … RightToe
          translated: Hips
        """
        first, *rest = summarize(self.header, self.take_data)
        return "\n".join([f"Clip of {first}", *(f"  {line}" for line in rest)])

    def _repr_html_(self) -> str:
        """Return the same for notebooks, with a picture of the middle frame."""
        middle = self.bones([self.frame_count // 2])[0]
        return render_html("Clip", summarize(self.header, self.take_data), middle)

    def __getitem__(self, key: Any) -> Clip:
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
        part = part if step == 1 else Clip(*derivations.keep_every(part._samples, step))
        return part if joints is None else part.joints(joints)

    @property
    def _samples(self) -> derivations.Samples:
        return derivations.Samples(
            self.header, self.rotations, self.translations, self.channels, self.take_data
        )

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
        metadata: Mapping[str, Any] | None = None,
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
        """Make a clip from arrays (T, J, 4) and (T, M, 3), or (T, 3) where only the root moves.

        What a take may hold beside them is in `ClipHeader` and `TakeData`. Times that are even, and
        gaps where there are none, are not kept apart. Scales (T, J, 3) of all joints are split into
        those that move and those that do not, without noise below 1e-4; the metadata then says how
        much `scale_noise_dropped` was. Scales (T, S, 3) of named `scaled_joints` stay as they are.
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
            raise InvalidClipError("expected rotations of shape (T, J, 4), got one number")
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
        numbers = None if channels is None else check_array("channels", channels)
        seen = None if valid is None else check_array("valid", valid)
        seen = None if seen is None or np.all(seen) else np.asarray(seen, np.bool_)
        held = None if scales is None else np.asarray(check_array("scales", scales), np.float64)
        return cls(
            header,
            rotations,
            translations,
            numbers,
            TakeData(held, seconds, seen, {} if tracks is None else tracks),
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
        **others: Any,
    ) -> Self:
        """Make a clip of markers from their places (T, P, 3) in metres, NaN where one was not seen.

        Places are of a space with that axis up; `source_points` gives them back in it. Gaps become
        `valid`, and are filled by curves that fit their ends.
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
        """Seconds that the clip lasts, its last frame as long as the others.

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
        """Seconds of the first frame, on the clock that a scene shares."""
        return self.header.start_time

    @property
    def times(self) -> F64:
        """Seconds of each frame, (T,)."""
        return self._samples.times

    @property
    def scales(self) -> F64:
        """Scale (T, J, 3) of every joint along its own axes."""
        every = np.tile(self.skeleton.scales, (self.frame_count, 1, 1))
        if self.take_data.scales is not None:
            every[:, list(self.header.scaled_joints)] = self.take_data.scales
        return every

    @property
    def valid(self) -> Mask:
        """Whether each joint was seen in each frame, (T, J)."""
        if self.take_data.valid is not None:
            return self.take_data.valid
        return np.ones((self.frame_count, len(self.skeleton)), np.bool_)

    @property
    def tracks(self) -> Mapping[str, Track]:
        return self.take_data.tracks

    @property
    def angles(self) -> F64:
        """Angles (T, H) of the skeleton's hinges in radians, of sliders metres, in their order.

        Where a joint has left its hinges, as codecs that do not code by hinge let it, angles are
        those of the nearest turn about its axis, and a `HingeWarning` says how far off it is.
        """
        found = self.hinge_angles()
        slides = self.skeleton.hinges.slides if self.skeleton.hinges else np.zeros(0, np.bool_)
        turned = float(found.off_axis[:, ~slides].max(initial=0.0))
        moved = float(found.off_axis[:, slides].max(initial=0.0))
        if turned > MAX_QUIET_ANGLE_RAD or moved > MAX_QUIET_SLIDE_M:
            warnings.warn(
                f"joints stand up to {turned:.3g} rad and {moved:.3g} m off their hinges; "
                "angles are those of the nearest turns about them",
                HingeWarning,
                stacklevel=2,
            )
        return found.angles

    def hinge_angles(self, *, measure_off_axis: bool = True) -> HingeAngles:
        """Return `angles`, and, if that is to be measured, how far joints stand from them."""
        skeleton = self.skeleton
        if skeleton.hinges is None:
            return HingeAngles(np.zeros((self.frame_count, 0)), np.zeros((self.frame_count, 0)))
        if not measure_off_axis and len(skeleton.roots) == 1:
            native = skeleton.native(self.translated_joints)
            found = _core.hinge_angles(native, self.rotations, self.translations)
            angles = np.empty_like(found)
            angles[:, list(skeleton.hinges.by_joint)] = found
            return HingeAngles(angles, np.zeros_like(angles))
        return hinge_angles(
            skeleton.hinges,
            skeleton.rest,
            skeleton.offsets,
            self.rotations,
            self.translations,
            self.translated_joints,
            skeleton.hinge_frames,
            measure_off_axis=measure_off_axis,
        )

    def with_hinges(self, *, detect: bool = False, tolerance: float = TOLERANCE_RAD) -> Clip:
        """Return this clip with the hinges that it moves on; none of its poses changes.

        They are those of joints with one or two rotation channels; with `detect`, also joints that
        turn about one axis in every frame, to `tolerance` radians. The metadata names what was
        found so, ``hinges_found``, with the radians by which each leaves its axis, and as
        ``hinges_left`` the joints that turn about other axes than those of their channels.
        """
        check_number("tolerance", tolerance, 0, np.pi)
        found = find_hinges(
            self.skeleton,
            self.rotations,
            self.translations,
            self.translated_joints,
            detect=detect,
            tolerance=tolerance,
        )
        if found.skeleton == self.skeleton and not found.left:
            return self
        said = {"hinges_found": dict(found.found), "hinges_left": dict(found.left)}
        metadata = dict(self.metadata) | {name: value for name, value in said.items() if value}
        header = self.with_header(skeleton=found.skeleton, metadata=metadata)
        return Clip(header, self.rotations, self.translations, self.channels, self.take_data)

    def source_root(self) -> tuple[F64, F64]:
        """Return places (T, 3) and rotations (T, 4) of the first joint in the source's world.

        The frames of joints are as they are inside; `from_angles` inverts it.
        """
        if self.header.handedness != HANDEDNESS[0]:
            raise UsageError("a left-handed world has no rotation that takes it inside")
        if 0 in self.translated_joints:
            places = np.asarray(self.translations)[:, self.translated_joints.index(0)]
        else:
            places = np.tile(self.skeleton.offsets[0], (self.frame_count, 1))
        turn = conjugate(_up_axis_rotation(self.header.up))
        turned = multiply(turn, np.asarray(self.rotations)[:, 0])
        return space.from_internal(places, self.header.up), turned

    def positions(self) -> F64:
        """Return world positions of all joints, shape (T, J, 3), in metres.

        >>> from mocpack.testing import walk
        >>> walk().positions().shape
        (120, 21, 3)
        """
        return self.world()[0]

    def points(self) -> F64:
        """Return world positions (T, J, 3) in metres, NaN where a joint was not seen."""
        return np.where(self.valid[..., np.newaxis], self.positions(), np.nan)

    def source_points(self) -> F64:
        """Return `points` in the space of the source, as its `up` and `handedness` say."""
        return space.from_internal(self.points(), self.header.up, self.header.handedness)

    def world(self) -> tuple[F64, F64]:
        """Return world positions (T, J, 3) in metres, and world rotations (T, J, 4) without scales.

        >>> from mocpack.testing import walk
        >>> positions, rotations = walk().world()
        >>> positions.shape, rotations.shape
        ((120, 21, 3), (120, 21, 4))
        """
        positions, turned = kinematics.forward_kinematics(
            self.skeleton, self.rotations, self.translations, self.translated_joints
        )
        return (self.world_matrices()[0] if self.header.is_scaled else positions), turned

    def world_matrices(self) -> tuple[F64, F64]:
        """Return world positions (T, J, 3) and each joint's matrix (T, J, 3, 3), with scales."""
        return kinematics.forward_kinematics_scaled(
            self.skeleton,
            self.rotations,
            self.translations,
            self.translated_joints,
            self.scales,
        )

    def bones(self, frames: Sequence[int]) -> F64:
        """Return both ends (F, B, 2, 3) of every bone in these frames, in the world, in metres."""
        found = []
        for frame in frames:
            pose = self[frame]
            positions, world = pose.world()
            ends = kinematics.end_positions(self.skeleton, positions, world)
            found.append(bones(self.skeleton, positions[0], ends[0]))
        return np.array(found)

    def velocities(self) -> F64:
        """Return world velocities (T, J, 3) of all joints, in metres a second.

        By central differences, one-sided at the ends; 0 in a clip of one frame.

        >>> from mocpack.testing import walk
        >>> walk().velocities().shape
        (120, 21, 3)
        """
        if len(self) == 1:
            return np.zeros((1, len(self.skeleton), 3))
        return np.asarray(np.gradient(self.positions(), self.times, axis=0))

    def angular_velocities(self) -> F64:
        """Return world angular velocities (T, J, 3) of all joints, in radians a second.

        About the world's axes; by central differences, one-sided at the ends.

        >>> from mocpack.testing import walk
        >>> walk().angular_velocities().shape
        (120, 21, 3)
        """
        return rotations.angular_velocities(self.world()[1], self.times)

    def rotations_6d(self) -> F64:
        """Return local rotations (T, J, 6) as the first two columns of their matrices.

        The continuous form of Zhou et al. 2019; `mocpack.rotations.from_6d` turns it back.

        >>> from mocpack.testing import walk
        >>> walk().rotations_6d().shape
        (120, 21, 6)
        """
        return rotations.as_6d(np.asarray(self.rotations))

    def as_euler(self, order: str) -> F64:
        """Return local rotations (T, J, 3) as intrinsic Euler angles in radians.

        Parameters
        ----------
        order : str
            Three different axes, such as "ZYX": about z, then the new y, then the newest x. The
            angles go on from frame to frame without jumps of a whole turn.

        >>> from mocpack.testing import walk
        >>> walk().as_euler("ZYX").shape
        (120, 21, 3)
        """
        if not isinstance(order, str) or sorted(order) != ["X", "Y", "Z"]:
            raise UsageError(f"order must be three different axes such as 'ZYX', got {order!r}")
        return rotations.unwrap_euler(rotations.as_euler(np.asarray(self.rotations), order))

    def frames(self, start: int, stop: int) -> Clip:
        """Return frames `start` to `stop`, half-open; their times are those of `slice_header`."""
        return Clip(*derivations.cut_frames(self._samples, start, stop))

    def joints(self, joints: Sequence[str | int]) -> Clip:
        """Return the motion of these joints, by name or index, and their ancestors.

        >>> from mocpack.testing import walk
        >>> walk().joints(["Chest"]).skeleton.names
        ('Hips', 'Spine', 'Chest')
        """
        return Clip(*derivations.keep_joints(self._samples, joints))

    def sample(self, time: float) -> Clip:
        """Return the pose at `time` seconds as a one-frame clip; slerp between frames, clamped."""
        return self.pose_at(time_to_frame(time, self.header, self.take_data.times))

    def pose_at(self, at: float) -> Clip:
        """Return the pose at frame `at`, which may lie between two, as a one-frame clip."""
        return Clip(*derivations.pose_at(self._samples, at))

    def resample(self, fps: float) -> Clip:
        """Return the motion at another frame rate: slerp between frames, straight lines for places.

        The first frame stays; the last is the last that still lies in the clip. Tracks keep their
        own rates.

        >>> from mocpack.testing import walk
        >>> len(walk().resample(30))
        60
        """
        return Clip(*derivations.resample(self._samples, fps))

    def poses_at(self, at: npt.ArrayLike, *, frame_time: float | None = None) -> Clip:
        """Return the poses at frames `at` (N,), which may lie between two, as a clip of even times.

        >>> from mocpack.testing import walk
        >>> len(walk().poses_at([0.5, 1.5, 3]))
        3
        """
        return Clip(*derivations.poses_at(self._samples, at, frame_time))

    def mirror(
        self,
        *,
        axis: str | None = None,
        pairs: Sequence[tuple[str | int, str | int]] | None = None,
    ) -> Clip:
        """Return the motion as a mirror shows it, left and right exchanged.

        Parameters
        ----------
        axis : {"x", "y", "z"}, optional
            What points from one side to the other; by default that which tells the sides of the
            rest pose (of markers: of the first frame) apart best. The mirror stands at its origin.
        pairs : sequence of (left, right), optional
            Joints that are mirror images, by name or index; by default those whose names are
            (LeftArm and RightArm, arm_l and arm_r). Other joints are their own.

        >>> from mocpack.testing import walk
        >>> clip = walk()
        >>> left = clip.positions()[0, clip.skeleton.index("LeftFoot")]
        >>> right = clip.mirror().positions()[0, clip.skeleton.index("RightFoot")]
        >>> bool(np.allclose(left * (-1, 1, 1), right))
        True
        """
        return Clip(*derivations.mirror(self._samples, axis, pairs))

    def concat(self, *others: Clip) -> Clip:
        """Return this clip with others after it, each beginning a frame after the one before.

        They must have the same skeleton, frame rate and translated joints. Tracks go on where
        both clips have them under one name; what only some have is kept where it is.

        >>> from mocpack.testing import walk
        >>> clip = walk()
        >>> len(clip.concat(clip, clip))
        360
        """
        for k, other in enumerate(others, 2):
            if not isinstance(other, Clip):
                raise UsageError(f"clip {k} of {len(others) + 1} must be a Clip, got {other!r:.80}")
        return Clip(*derivations.concatenate([self._samples, *(c._samples for c in others)]))

    def replace(self, **changes: Any) -> Clip:
        """Return this clip with some of what `build` takes changed.

        The source's own numbers (`channels`) stay only where no pose changes.

        >>> from mocpack.testing import walk
        >>> walk().replace(frame_rate=30, loop=True).fps
        30.0
        """
        header, take_data = self.header, self.take_data
        given: dict[str, Any] = {
            "skeleton": header.skeleton,
            "rotations": self.rotations,
            "translations": self.translations,
            "frame_time": header.frame_time,
            "translated_joints": header.translated_joints,
            "unit": header.unit,
            "metadata": header.metadata,
            "channels": self.channels,
            "scales": take_data.scales,
            "scaled_joints": header.scaled_joints or None,
            "times": take_data.times,
            "start_time": header.start_time,
            "valid": take_data.valid,
            "tracks": take_data.tracks,
            "loop": header.loop,
            "up": header.up,
            "handedness": header.handedness,
            "interpolated": header.interpolated,
        }
        unknown = sorted(set(changes) - set(given) - {"frame_rate"})
        if unknown:
            known = ", ".join([*given, "frame_rate"])
            raise UsageError(f"a clip has no {unknown[0]!r} to replace; it has {known}")
        if {"skeleton", "rotations", "translations", "translated_joints"} & set(changes):
            given["channels"] = None
        if {"frame_rate", "frame_time"} & set(changes):
            given["times"] = given["frame_time"] = None
        if "scales" in changes and "scaled_joints" not in changes:
            given["scaled_joints"] = None
        return Clip.build(**{**given, **changes})

    def plot(self, frames: Sequence[int] | None = None, axes: Any = None) -> Any:
        """Draw the skeleton in some frames and the root's path; return matplotlib's axes.

        Parameters
        ----------
        frames : sequence of int, optional
            By default five, evenly from first to last.
        axes : matplotlib 3-d axes, optional
            New ones by default; ``axes.figure.savefig("walk.png")`` writes them.

        >>> from mocpack.testing import walk
        >>> walk().plot(frames=[0, 60]).name
        '3d'
        """
        if frames is None:
            frames = sorted({round(x) for x in np.linspace(0, len(self) - 1, 5)})
        return plot_poses(list(self.bones(frames)), self.positions()[:, 0], axes)

    def with_header(self, **changes: Any) -> ClipHeader:
        """Return this clip's header with some fields changed."""
        return replace(self.header, **changes)


AnyClip = Clip | VertexClip


def check_coordinates(clip: AnyClip) -> None:
    """Complain about a clip too far from its origin to be read, or packed, within a bound."""
    places = clip.vertices if isinstance(clip, VertexClip) else clip.translations
    farthest = float(np.abs(places).max(initial=0.0))
    if not farthest < MAX_COORDINATE_M:
        raise UnsupportedClipError(
            f"a place lies {farthest:.9g} metres from the origin; it must be below {MAX_COORDINATE_M:.0e}"
        )


def measure_error(original: Clip, decoded: Clip) -> kinematics.MotionError:
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
    """Return the rotation (4,) that takes a right-handed world with that axis up inside."""
    return from_matrix(space.conversion_matrix(up, HANDEDNESS[0]))


def _normalize_rotations(rotations: npt.ArrayLike, header: ClipHeader) -> F64:
    """Return `rotations` frozen, unit and continuous in time; copies unless they are all that."""
    array = np.asanyarray(rotations, np.float64)
    shape = (header.frame_count, len(header.skeleton), 4)
    if array.shape != shape:
        raise InvalidClipError(f"expected rotations of shape {shape}, got {array.shape}")
    if is_frozen(array) and _core.are_rotations_normalized(array):
        return read_only(array)  # type: ignore[no-any-return]
    array = np.array(array, order="C")
    bad = _core.normalize_rotations(array, UNIT_TOLERANCE)
    if bad >= 0:
        frame, joint = divmod(bad, shape[1])
        raise InvalidClipError(
            f"rotation of joint {header.skeleton.names[joint]!r} at frame {frame} "
            f"is not a unit quaternion: {array[frame, joint]}"
        )
    return read_only(array)  # type: ignore[no-any-return]


def _are_even(times: F64, start: float, frame_time: float) -> bool:
    """Whether times say no more than their start and their frame time do."""
    spread = np.abs(times - (start + np.arange(len(times)) * frame_time))
    return bool(spread.max(initial=0.0) <= 1e-9 * frame_time)
