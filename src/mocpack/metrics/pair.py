"""Pairs of clips, with values that several metrics share computed once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from mocpack.common.arrays import F64
from mocpack.errors import UnsupportedClipError, UsageError
from mocpack.metrics.position import displacements, distances
from mocpack.metrics.vertices import Sted, sted
from mocpack.model import clip as clips
from mocpack.model import derivations, kinematics, rotations
from mocpack.model.clip import AnyClip, Clip, VertexClip
from mocpack.model.dofs import to_dofs
from mocpack.model.skeleton import Skeleton, rotation_order

FRAME_TIME_TOLERANCE = 1e-3  # relative; smaller differences are rounding


@dataclass(frozen=True, eq=False)
class SkeletonPair:
    """Two motions of one skeleton; offsets and translated joints may differ.

    `end_sites_ignored` is the number of end sites that only one of them has.
    """

    kind: ClassVar[str] = "skeleton"
    original: Clip
    decoded: Clip
    end_sites_ignored: int = 0

    @property
    def skeleton(self) -> Skeleton:
        return self.original.skeleton

    @property
    def frame_rate(self) -> float:
        return self.original.frame_rate

    @property
    def is_scaled(self) -> bool:
        """Whether either clip has scales."""
        return self.original.header.is_scaled or self.decoded.header.is_scaled

    @cached_property
    def worlds(self) -> tuple[tuple[F64, F64], tuple[F64, F64]]:
        """World positions (T, J, 3) and rotations (T, J, 4) of both clips."""
        return self.original.world(), self.decoded.world()

    @property
    def points(self) -> tuple[F64, F64]:
        """Joint positions (T, J, 3) of both clips."""
        return self.worlds[0][0], self.worlds[1][0]

    @cached_property
    def ends(self) -> tuple[F64, F64]:
        """End sites (T, E, 3) of both clips."""
        if self.is_scaled:
            first, second = (scaled_end_positions(clip) for clip in (self.original, self.decoded))
            return first, second
        a, b = self.worlds
        return (
            kinematics.end_positions(self.original.skeleton, *a),
            kinematics.end_positions(self.decoded.skeleton, *b),
        )

    @cached_property
    def distances(self) -> F64:
        """Distance (T, J) of each joint from its original position."""
        return distances(*self.points)

    @cached_property
    def displacements(self) -> F64:
        """Largest displacement (T, J) of each joint, its end sites and shell points."""
        if self.is_scaled:
            return kinematics.scaled_displacements(
                self.skeleton, self.original.world_matrices(), self.decoded.world_matrices()
            )
        (place_a, world_a), (place_b, world_b) = self.worlds
        carriers = self.skeleton.end_site_joints
        return displacements((place_a, world_a), (place_b, world_b), self.ends, carriers)

    @cached_property
    def max_error(self) -> float:
        """Maximum error in meters, by the kernel of the encoders if it applies."""
        same = self.original.skeleton == self.decoded.skeleton
        if same and self.original.translated_joints == self.decoded.translated_joints:
            return clips.measure_error(self.original, self.decoded).max
        return float(self.displacements.max())

    @cached_property
    def dofs(self) -> tuple[F64, F64] | None:
        """Degrees of freedom (T, C) of both clips, decoded angles nearest to the original ones.

        None if the channels of a clip cannot express its motion.
        """
        try:
            original = to_dofs(self.original)
            decoded = to_dofs(_with_channels(self.skeleton, self.decoded))
        except UnsupportedClipError:
            return None
        start = 0
        for channels in self.skeleton.channels:
            order, at = rotation_order(channels)
            columns = [start + k for k in at]
            if order:
                decoded[:, columns] = rotations.align_euler(
                    decoded[:, columns], original[:, columns]
                )
            start += len(channels)
        return original, decoded


@dataclass(frozen=True, eq=False)
class VertexPair:
    """Two animations of one mesh."""

    kind: ClassVar[str] = "vertices"
    end_sites_ignored: ClassVar[int] = 0
    original: VertexClip
    decoded: VertexClip

    @property
    def frame_rate(self) -> float:
        return self.original.frame_rate

    @property
    def points(self) -> tuple[F64, F64]:
        """Vertices (T, V, 3) of both clips."""
        return self.original.vertices, self.decoded.vertices

    @cached_property
    def distances(self) -> F64:
        """Distance (T, V) of each vertex from its original position."""
        return distances(*self.points)

    @property
    def displacements(self) -> F64:
        return self.distances

    @property
    def max_error(self) -> float:
        return float(self.distances.max())

    @cached_property
    def sted(self) -> Sted:
        return sted(*self.points, self.original.faces)


AnyPair = SkeletonPair | VertexPair


def pair_clips(original: AnyClip, decoded: AnyClip) -> AnyPair:
    """Return a pair of clips for metrics; raise `UsageError` if they cannot be compared."""
    for clip in (original, decoded):
        if not isinstance(clip, Clip | VertexClip):
            raise UsageError(f"compare needs two clips, got {clip!r:.80}")
    if original.frame_count != decoded.frame_count:
        raise UsageError(
            f"cannot compare clips of {original.frame_count} and {decoded.frame_count} frames"
        )
    if abs(original.frame_time / decoded.frame_time - 1) > FRAME_TIME_TOLERANCE:
        raise UsageError(
            f"cannot compare clips of {original.frame_rate:.6g} and "
            f"{decoded.frame_rate:.6g} frames per second"
        )
    if isinstance(original, Clip) and isinstance(decoded, Clip):
        decoded = _match_joints(original.skeleton, decoded)
        _check_skeletons(original.skeleton, decoded.skeleton)
        original, decoded, ignored = _match_end_sites(original, decoded)
        if original.header.is_scaled != decoded.header.is_scaled:
            # a format without scales holds the same motion in longer bones
            original, decoded = original.bake_scales(), decoded.bake_scales()
        return SkeletonPair(original, decoded, ignored)
    if isinstance(original, VertexClip) and isinstance(decoded, VertexClip):
        a, b = original.header.vertex_count, decoded.header.vertex_count
        if a != b:
            raise UsageError(f"cannot compare meshes of {a} and {b} vertices")
        return VertexPair(original, decoded)
    raise UsageError("cannot compare the motion of a skeleton with a vertex animation")


def scaled_end_positions(clip: Clip) -> F64:
    """Return world positions (T, E, 3) of the end sites of a clip with scales."""
    positions, matrices = clip.world_matrices()
    carriers = list(clip.skeleton.end_site_joints)
    ends = matrices[:, carriers] @ clip.skeleton.end_sites[..., np.newaxis]
    return np.asarray(positions[:, carriers] + ends[..., 0])


def _check_skeletons(a: Skeleton, b: Skeleton) -> None:
    if len(a) != len(b):
        raise UsageError(f"cannot compare skeletons of {len(a)} and {len(b)} joints")
    for j, (name_a, name_b) in enumerate(zip(a.unique_names, b.unique_names, strict=True)):
        if name_a != name_b:
            raise UsageError(
                f"cannot compare different skeletons: joint {j} is {name_a!r} in one "
                f"and {name_b!r} in the other"
            )
    if a.parents != b.parents:
        j = next(j for j in range(len(a)) if a.parents[j] != b.parents[j])
        raise UsageError(
            f"cannot compare different skeletons: {a.names[j]!r} has different parents"
        )


def _match_joints(skeleton: Skeleton, clip: Clip) -> Clip:
    """Return a clip with the joints in the order of a skeleton that has the same names."""
    own = {name: j for j, name in enumerate(clip.skeleton.unique_names)}
    order = [own.get(name, -1) for name in skeleton.unique_names]
    if sorted(order) != list(range(len(own))) or order == sorted(order):
        return clip
    above = [own[skeleton.unique_names[p]] if p >= 0 else -1 for p in skeleton.parents]
    if above != [clip.skeleton.parents[j] for j in order]:
        return clip  # the caller names the difference
    return derivations.reorder_joints(clip, order)


def _match_end_sites(a: Clip, b: Clip) -> tuple[Clip, Clip, int]:
    """Return both clips without the end sites of one, and their number, if the other has none."""
    counts = [len(clip.skeleton.end_site_joints) for clip in (a, b)]
    if 0 in counts:
        return _drop_end_sites(a), _drop_end_sites(b), max(counts)
    if a.skeleton.end_site_joints != b.skeleton.end_site_joints:
        raise UsageError("cannot compare skeletons whose end sites are at different joints")
    return a, b, 0


def _drop_end_sites(clip: Clip) -> Clip:
    skeleton = replace(clip.skeleton, end_sites=np.zeros((0, 3)), end_site_joints=())
    return replace(clip, header=replace(clip.header, skeleton=skeleton))


def _with_channels(skeleton: Skeleton, clip: Clip) -> Clip:
    """Return `clip` with the channels of another skeleton with the same joints."""
    same = np.array_equal(skeleton.axes, clip.skeleton.axes)
    if same and skeleton.channels == clip.skeleton.channels:
        return clip
    return Clip(replace(clip.header, skeleton=skeleton), clip.rotations, clip.translations)
