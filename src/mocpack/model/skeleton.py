"""Skeletons: names, parents, rest pose, end sites, and the channels of the source."""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.common.arguments import check_array, check_integer, check_sequence
from mocpack.common.arrays import F64, I32, U8, Mask
from mocpack.common.frozen import FrozenValue, freeze_array
from mocpack.common.texts import check_text
from mocpack.errors import InvalidClipError, UnsupportedClipError, UsageError
from mocpack.model import rotations
from mocpack.model.hinges import HingeAngles, Hinges, joint_positions, joint_rotations

MAX_JOINTS = 65_535
MAX_END_SITES = 65_535
MAX_NAME = 255  # bytes of UTF-8

POSITION_CHANNELS = ("Xposition", "Yposition", "Zposition", "tx", "ty", "tz")
ROTATION_CHANNELS = ("Xrotation", "Yrotation", "Zrotation", "rx", "ry", "rz")
BVH_CHANNELS = frozenset(POSITION_CHANNELS[:3] + ROTATION_CHANNELS[:3])
ASF_CHANNELS = frozenset(POSITION_CHANNELS[3:] + ROTATION_CHANNELS[3:])
DEFAULT_ROOT = ("Xposition", "Yposition", "Zposition", "Zrotation", "Yrotation", "Xrotation")
DEFAULT_JOINT = ("Zrotation", "Yrotation", "Xrotation")


def default_channels(count: int, translated: Collection[int]) -> tuple[tuple[str, ...], ...]:
    """Return the usual channels of BVH files; only translated joints have positions."""
    return tuple(DEFAULT_ROOT if j in translated else DEFAULT_JOINT for j in range(count))


class Columns(NamedTuple):
    """Properties of the channels of all joints, arrays of shape (C,).

    Attributes
    ----------
    joints : array of int
        The joint of each channel, increasing.
    axes : array of int
        0, 1, 2 for x, y, z.
    is_angle : array of bool
        Whether the channel is an angle; otherwise it is a length.
    is_asf : array of bool
        Whether it is an ASF channel: angles about fixed axes, lengths from the rest position.
    """

    joints: npt.NDArray[np.intp]
    axes: npt.NDArray[np.intp]
    is_angle: Mask
    is_asf: Mask


def parse_channels(channels: Sequence[Sequence[str]]) -> Columns:
    """Parse the channel names of all joints."""
    names = list(chain.from_iterable(channels))
    at = np.array([*map((POSITION_CHANNELS + ROTATION_CHANNELS).index, names)], np.intp)
    joints = np.repeat(np.arange(len(channels)), [*map(len, channels)])
    return Columns(joints, at % 3, at >= len(POSITION_CHANNELS), at % 6 >= 3)


@dataclass(frozen=True, eq=False)
class Skeleton(FrozenValue):
    """Joints, parents before children: one tree or several.

    Parameters
    ----------
    names : sequence of str, length J
        Names in the source; they may be empty or repeated.
    parents : sequence of int, length J
        Index of each joint's parent; -1 for a root. The first joint is a root.
    offsets : array, shape (J, 3)
        Rest position of each joint in its parent's frame, in meters.
    end_sites : array, shape (E, 3), optional
        Ends of the outermost bones, in the frame of the joint that carries them, in meters.
    end_site_joints : sequence of int, length E, optional
        The joint of each end site, in increasing order.
    channels : sequence of sequence of str, length J, optional
        Channels of each joint in the source, in order: ``"Xposition"``, ``"Zrotation"`` of BVH
        (intrinsic rotations, outermost first) or ``"tx"``, ``"rx"`` of ASF (about fixed axes,
        innermost first). A joint without channels keeps its rest pose. The default is the most
        common order of BVH files.
    axes : array, shape (J, 4), optional
        Frame of each joint's rotation channels (ASF's ``axis``), as a rotation from the rest
        frame; a joint's rotation is ``axis * channels * axis⁻¹``. The default is the identity.
    rest : array, shape (J, 4), optional
        Local rotation of each joint at rest, as in glTF, FBX and USD, rounded to the 1e-9 radians
        that files store. Rotations of a clip already include it. The default is the identity.
    scales : array, shape (J, 3), optional
        Constant scale of each joint along its own axes; it applies to the whole subtree
        (`docs/conventions.md`). The default is 1.
    hinges : Hinges, optional
        Joints that rotate about one or two axes, or slide. `Clip.angles` returns their angles.
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    offsets: F64
    end_sites: F64 = field(default_factory=partial(np.zeros, (0, 3)))
    end_site_joints: tuple[int, ...] = ()
    channels: tuple[tuple[str, ...], ...] = ()
    axes: F64 = field(default_factory=partial(np.zeros, (0, 4)))
    rest: F64 = field(default_factory=partial(np.zeros, (0, 4)))
    scales: F64 = field(default_factory=partial(np.zeros, (0, 3)))
    hinges: Hinges | None = None

    def __post_init__(self) -> None:
        freeze = object.__setattr__
        freeze(self, "names", tuple(map(str, check_sequence("names", self.names))))
        for name in ("parents", "end_site_joints"):
            joints = tuple(
                check_integer(f"each of {name}", j, -MAX_JOINTS, MAX_JOINTS, error=InvalidClipError)
                for j in check_sequence(name, getattr(self, name))
            )
            freeze(self, name, joints)
        freeze(self, "offsets", freeze_array(self.offsets))
        freeze(self, "end_sites", freeze_array(self.end_sites))
        for name, neutral in (
            ("axes", rotations.IDENTITY),
            ("rest", rotations.IDENTITY),
            ("scales", np.ones(3)),
        ):
            given = check_array(name, getattr(self, name))
            whole = given if given.size else np.tile(neutral, (len(self.names), 1))
            freeze(self, name, freeze_array(whole))
        channels = self.channels or default_channels(len(self.parents), self.roots)
        freeze(self, "channels", tuple(tuple(map(str, c)) for c in channels))
        _check_joints(self)
        _check_arrays(self)
        if self.has_rest:
            freeze(self, "rest", freeze_array(rotations.from_grid(*rotations.to_grid(self.rest))))

    @classmethod
    def from_point_names(cls, names: Sequence[str]) -> Skeleton:
        """Return a skeleton of points that move freely and do not rotate, such as markers."""
        count = len(names)
        channels = (POSITION_CHANNELS[:3],) * count
        return cls(tuple(names), (-1,) * count, np.zeros((count, 3)), channels=channels)

    def __repr__(self) -> str:
        names = ", ".join(self.unique_names[:4])
        more = f" … {self.unique_names[-1]}" if len(self) > 4 else ""
        return f"Skeleton of {len(self)} joints: {names}{more}"

    def __len__(self) -> int:
        return len(self.parents)

    @cached_property
    def translated_joints(self) -> tuple[int, ...]:
        """Joints with a position channel; their translation replaces the offset."""
        return tuple(np.unique(self.columns.joints[~self.columns.is_angle]).tolist())

    @cached_property
    def columns(self) -> Columns:
        """Properties of the channels of all joints."""
        return parse_channels(self.channels)

    @cached_property
    def euler_columns(self) -> tuple[npt.NDArray[np.int8], I32]:
        """Rotation axes (J, 3) of each joint, outermost first, -1 for none; their columns."""
        joints, axes, is_angle, is_asf = self.columns
        turning = np.flatnonzero(is_angle)
        # ASF: about fixed axes, so the last channel is outermost
        listed = np.where(is_asf[turning], -turning, turning)
        turning = turning[np.lexsort((listed, joints[turning]))]
        rank = np.arange(len(turning)) - np.searchsorted(joints[turning], joints[turning])
        angle_axes, columns = (
            np.full((len(self), 3), -1, np.int8),
            np.zeros((len(self), 3), np.int32),
        )
        angle_axes[joints[turning], rank] = axes[turning]
        columns[joints[turning], rank] = turning
        return angle_axes, columns

    @property
    def channel_count(self) -> int:
        return sum(map(len, self.channels))

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """Joints without a parent."""
        return tuple(np.flatnonzero(np.array(self.parents) < 0).tolist())

    @cached_property
    def is_points(self) -> bool:
        """Whether all joints are points that move freely and do not rotate (markers)."""
        return len(self.roots) == len(self) and not self.columns.is_angle.any()

    @cached_property
    def is_scaled(self) -> bool:
        """Whether a joint has a constant scale other than 1."""
        return bool((self.scales != 1).any())

    @cached_property
    def has_uniform_scales(self) -> bool:
        """Whether every constant scale is positive and the same along all axes."""
        return bool(self.scales.min(initial=1.0) > 0 and not np.ptp(self.scales, axis=1).any())

    @cached_property
    def has_rest(self) -> bool:
        """Whether a joint has a rest rotation."""
        return bool((self.rest != rotations.IDENTITY).any())

    @cached_property
    def unique_names(self) -> tuple[str, ...]:
        """The names, with numbers added to empty and repeated ones."""
        given, seen, names = set(self.names), set[str](), []
        for j, name in enumerate(self.names):
            if not name or name in seen:
                stem, number = (f"{name}_" if name else "joint"), j
                while (name := f"{stem}{number}") in given or name in seen:
                    number += 1
            seen.add(name)
            names.append(name)
        return tuple(names)

    def index(self, name: str) -> int:
        """Return the index of a joint by its name, or by its unique name.

        >>> Skeleton(["", ""], [-1, 0], np.zeros((2, 3))).index("joint1")
        1
        """
        matches = [j for j, own in enumerate(self.names) if own == name]
        if not matches and name not in self.unique_names:
            known = ", ".join(self.unique_names)
            raise UsageError(f"unknown joint {name!r}; the skeleton has: {known}")
        if not matches:
            return self.unique_names.index(name)
        if len(matches) > 1:
            numbers = ", ".join(map(str, matches))
            raise UsageError(f"{len(matches)} joints are named {name!r}; use an index: {numbers}")
        return matches[0]

    def indices(self, joints: Sequence[str | int]) -> list[int]:
        """Return the indices of joints given by name or index.

        >>> Skeleton(["Hips", "Spine"], [-1, 0], np.zeros((2, 3))).indices(["Spine", 0, -1])
        [1, 0, 1]
        """
        if isinstance(joints, str):
            joints = [joints]
        indices = []
        for joint in check_sequence("joints", joints, error=UsageError):
            if isinstance(joint, str):
                indices.append(self.index(joint))
            else:
                last = len(self) - 1
                indices.append(check_integer("each joint of joints", joint, -last - 1, last))
        return [j % len(self) for j in indices]

    def children(self, joint: str | int) -> list[int]:
        """Return the children of a joint."""
        (above,) = self.indices([joint])
        return [j for j, parent in enumerate(self.parents) if parent == above]

    def with_ancestors(self, joints: Sequence[str | int]) -> list[int]:
        """Return some joints and all their ancestors, in the order of the skeleton."""
        wanted: set[int] = set()
        for joint in self.indices(joints):
            while joint >= 0 and joint not in wanted:
                wanted.add(joint)
                joint = self.parents[joint]
        return sorted(wanted)

    def subset(self, joints: Sequence[int]) -> Skeleton:
        """Return the skeleton of some joints in this order; each parent must be among them."""
        kept = {old: new for new, old in enumerate(joints)}
        ends = [e for e, j in enumerate(self.end_site_joints) if j in kept]
        ends.sort(key=lambda e: kept[self.end_site_joints[e]])
        return Skeleton(
            tuple(self.names[j] for j in joints),
            tuple(kept[self.parents[j]] if self.parents[j] >= 0 else -1 for j in joints),
            self.offsets[list(joints)],
            self.end_sites[ends],
            tuple(kept[self.end_site_joints[e]] for e in ends),
            tuple(self.channels[j] for j in joints),
            self.axes[list(joints)],
            self.rest[list(joints)],
            self.scales[list(joints)],
            self.hinges and self.hinges.remap_joints(kept),
        )

    def resize(self, sizes: F64) -> Skeleton:
        """Return this skeleton without scales; `sizes` (J,) multiply lengths in joint frames."""
        above = np.array([sizes[parent] if parent >= 0 else 1.0 for parent in self.parents])
        hinges = self.hinges
        if hinges is not None and hinges.slides.any():
            lengths = np.where(hinges.slides, above[list(hinges.joints)], 1.0)
            hinges = replace(hinges, limits=hinges.limits * lengths[:, np.newaxis])
        return replace(
            self,
            offsets=self.offsets * above[:, np.newaxis],
            end_sites=self.end_sites * sizes[list(self.end_site_joints), np.newaxis],
            scales=np.zeros((0, 3)),
            hinges=hinges,
        )

    @cached_property
    def as_single_tree(self) -> Skeleton:
        """This skeleton with a single root.

        A skeleton with several roots gets a new first joint at the origin, and unique names.
        """
        if len(self.roots) == 1:
            return self
        origin = "origin"
        while origin in self.unique_names:
            origin += "_"
        return Skeleton(
            (origin, *self.unique_names),
            (-1, *(parent + 1 for parent in self.parents)),
            np.concatenate([np.zeros((1, 3)), self.offsets]),
            self.end_sites,
            tuple(j + 1 for j in self.end_site_joints),
            ((), *self.channels),
            np.concatenate([[rotations.IDENTITY], self.axes]),
            np.concatenate([[rotations.IDENTITY], self.rest]),
            np.concatenate([np.ones((1, 3)), self.scales]),
            self.hinges and self.hinges.remap_joints({j: j + 1 for j in range(len(self))}),
        )

    def hinge_angles(
        self,
        local: F64,
        translations: F64,
        translated_joints: Sequence[int],
        *,
        measure_off_axis: bool = True,
    ) -> HingeAngles:
        """Return the hinge angles of a motion and, if wanted, how far joints are off their axes.

        For a joint off its axis, the angle is that of the nearest rotation about it; with two axes,
        of the rotation that aligns the second axis. An angle whose limits are less than a full turn
        apart is the one nearest to their middle. Any other starts in [-π, π] and is unwrapped over
        time.

        Parameters
        ----------
        local : array, shape (T, J, 4)
        translations : array, shape (T, M, 3)
        """
        if len(self.roots) > 1:
            origin = np.tile(rotations.IDENTITY, (len(local), 1, 1))
            return self.as_single_tree.hinge_angles(
                np.concatenate([origin, local], axis=1),
                translations,
                [j + 1 for j in translated_joints],
                measure_off_axis=measure_off_axis,
            )
        angles = np.zeros((len(local), 0 if self.hinges is None else len(self.hinges)))
        if self.hinges is None:
            return HingeAngles(angles, angles)
        values = _core.hinge_angles(self.to_core(translated_joints), local, translations)
        angles[:, list(self.hinges.by_joint)] = values
        off_axis = np.zeros_like(angles)
        if measure_off_axis:
            turns, slides = ~self.hinges.slides, self.hinges.slides
            for joint, pose in joint_rotations(self.hinges, self.rest, angles):
                rows = turns & (np.array(self.hinges.joints) == joint)
                off_axis[:, rows] = rotations.angle_between(pose, local[:, joint])[:, np.newaxis]
            for joint, place in joint_positions(self.hinges, self.rest, self.offsets, angles):
                rows = slides & (np.array(self.hinges.joints) == joint)
                away = translations[:, list(translated_joints).index(joint)] - place
                off_axis[:, rows] = np.linalg.norm(away, axis=1)[:, np.newaxis]
        return HingeAngles(angles, off_axis)

    def to_core(self, translated_joints: Sequence[int]) -> _core.Skeleton:
        """Return the skeleton object of the native core; cached per `translated_joints`."""
        if len(self.roots) > 1:
            raise UnsupportedClipError(
                f"codecs need a skeleton with one root, got {len(self.roots)} roots; "
                "mocpack.encode adds an origin joint"
            )
        joints = tuple(translated_joints)
        if joints not in self._natives:
            self._natives[joints] = _core.Skeleton(
                np.array(self.parents, np.int32),
                self.offsets,
                np.array(self.end_site_joints, np.int32),
                self.end_sites,
                np.array(joints, np.int32),
                self.rest,
                *self._native_hinges(),
            )
        return self._natives[joints]

    def _native_hinges(self) -> tuple[I32, U8, F64, F64]:
        """Return joints (H,), slider flags (H,), axes (H, 3) and limits (H, 2), sorted by joint."""
        hinges = self.hinges
        if hinges is None:
            return np.zeros(0, np.int32), np.zeros(0, np.uint8), np.zeros((0, 3)), np.zeros((0, 2))
        rows = list(hinges.by_joint)
        joints = np.array(hinges.joints, np.int32)[rows]
        slides = hinges.slides[rows].astype(np.uint8)
        return joints, slides, hinges.axes[rows], hinges.limits[rows]

    @cached_property
    def _natives(self) -> dict[tuple[int, ...], _core.Skeleton]:
        """Native skeletons by translated joints; not a field, so it is not pickled."""
        return {}


def longest_bone_path(
    parents: Sequence[int],
    offsets: F64,
    end_joints: Sequence[int],
    end_sites: F64,
    moved_joints: Container[int],
) -> float:
    """Return the length of the longest path through the bones of a tree.

    About 2.1 m for a person, from toe to fingertip. It depends neither on the up axis nor on joint
    names.

    Parameters
    ----------
    parents : sequence of int, length J
    offsets : array, shape (J, 3)
        Position of each joint in the frame of its parent.
    end_joints, end_sites : length E, shape (E, 3)
        Joint and position of each bone that ends in an end site.
    moved_joints : container of int
        Joints whose positions change.
    """
    lengths = np.linalg.norm(offsets, axis=1)
    # the position in the world is not a bone, whether the root or its only child has it
    lengths[: 2 if parents.count(0) == 1 and 1 in moved_joints else 1] = 0.0
    end_lengths = np.linalg.norm(end_sites, axis=1)
    depth = np.zeros(len(parents))
    for joint, length in zip(end_joints, end_lengths, strict=True):
        depth[joint] = max(depth[joint], float(length))
    best = float(depth.max(initial=0.0))
    for j in range(len(depth) - 1, 0, -1):
        parent, through = parents[j], depth[j] + lengths[j]
        best = max(best, depth[parent] + through)
        depth[parent] = max(depth[parent], through)
    return best


def rotation_order(channels: Sequence[str]) -> tuple[str, list[int]]:
    """Return the intrinsic Euler order of a joint's channels, and the position of each angle.

    >>> rotation_order(("Xposition", "Zrotation", "Yrotation"))
    ('ZY', [1, 2])
    >>> rotation_order(("rx", "ry", "rz"))  # about fixed axes, so the last listed is outermost
    ('ZYX', [2, 1, 0])
    """
    at = [k for k, name in enumerate(channels) if name in ROTATION_CHANNELS]
    if any(channels[k].startswith("r") for k in at):
        at.reverse()
        return "".join(channels[k][1].upper() for k in at), at
    return "".join(channels[k][0] for k in at), at


def position_axes(channels: Sequence[str]) -> list[tuple[int, int]]:
    """Return (axis, position in the list) of each position channel of a joint.

    >>> position_axes(("Xposition", "Zposition", "Zrotation"))
    [(0, 0), (2, 1)]
    """
    return [
        ("XYZ".index(name[1].upper() if name.startswith("t") else name[0]), k)
        for k, name in enumerate(channels)
        if name in POSITION_CHANNELS
    ]


def channel_hinges(skeleton: Skeleton) -> Hinges | None:
    """Return hinges for all joints with one or two rotation channels; None without such joints.

    Their axes are those of the channels, outermost first; their names are ``joint.channel``.
    """
    axes, columns = skeleton.euler_columns
    few = (axes[:, 0] >= 0) & (axes[:, 2] < 0)
    joints, rank = np.nonzero((axes >= 0) & few[:, np.newaxis])
    if not len(joints):
        return None
    directions = rotations.rotate(skeleton.axes[joints], np.eye(3)[axes[joints, rank]])
    channels = list(chain.from_iterable(skeleton.channels))
    rows = zip(joints, columns[joints, rank], strict=True)
    names = tuple(f"{skeleton.names[j]}.{channels[k]}" for j, k in rows)
    return Hinges(tuple(joints), directions, names=names)


def _check_joints(skeleton: Skeleton) -> None:
    joints = len(skeleton.names)
    if not 1 <= joints <= MAX_JOINTS:
        raise InvalidClipError(f"a skeleton must have 1 to {MAX_JOINTS} joints, got {joints}")
    if len(skeleton.parents) != joints:
        raise InvalidClipError(f"expected {joints} parents, got {len(skeleton.parents)}")
    if skeleton.parents[0] != -1:
        raise InvalidClipError(
            f"the first joint must be a root (parent -1), got parent {skeleton.parents[0]}"
        )
    if len(skeleton.channels) != joints:
        raise InvalidClipError(
            f"expected channels of {joints} joints, got {len(skeleton.channels)}"
        )
    rows = zip(skeleton.names, skeleton.parents, skeleton.channels, strict=True)
    for j, (name, parent, channels) in enumerate(rows):
        if not -1 <= parent < j:
            raise InvalidClipError(
                f"parents must come before their children: joint {j} ({name!r}) has parent {parent}"
            )
        check_text(name, MAX_NAME, "a joint name")
        given = set(channels)
        if len(given & (BVH_CHANNELS | ASF_CHANNELS)) != len(channels):
            raise InvalidClipError(
                f"joint {name!r} has unknown or repeated channels: {' '.join(channels)}"
            )
        if given & BVH_CHANNELS and given & ASF_CHANNELS:
            raise InvalidClipError(
                f"joint {name!r} mixes BVH and ASF channels: {' '.join(channels)}"
            )


def _check_arrays(skeleton: Skeleton) -> None:
    joints, ends = len(skeleton), len(skeleton.end_site_joints)
    if ends > MAX_END_SITES:
        raise InvalidClipError(f"a skeleton can have at most {MAX_END_SITES} end sites, got {ends}")
    for what, array, shape in (
        ("offsets", skeleton.offsets, (joints, 3)),
        ("end_sites", skeleton.end_sites, (ends, 3)),
        ("axes", skeleton.axes, (joints, 4)),
        ("rest", skeleton.rest, (joints, 4)),
        ("scales", skeleton.scales, (joints, 3)),
    ):
        if array.shape != shape:
            raise InvalidClipError(f"expected {what} of shape {shape}, got {array.shape}")
        if not np.isfinite(array).all() or (np.abs(array) > 1e6).any():
            unit = " meters" if what in ("offsets", "end_sites") else ""
            raise InvalidClipError(f"{what} must be finite and below 1e6{unit}")
    for what, turns in (("axes", skeleton.axes), ("rest", skeleton.rest)):
        if not np.allclose(np.linalg.norm(turns, axis=1), 1, atol=1e-6):
            raise InvalidClipError(f"{what} must be unit quaternions")
    carriers = (0, *skeleton.end_site_joints, joints - 1)
    if list(carriers) != sorted(carriers):
        raise InvalidClipError("end_site_joints must be joint indices in increasing order")
    hinged = skeleton.hinges.joints if skeleton.hinges else ()
    for joint in hinged:
        if not 0 <= joint < joints:
            raise InvalidClipError(f"hinge joints must be 0 to {joints - 1}, got {joint}")
