"""Poses as rows of numbers for principal component analysis: tangent vectors at a mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.common.arrays import F64
from mocpack.model.clip import AnyClip, Clip, require_skeleton
from mocpack.model.kinematics import SHELL_RADIUS_M
from mocpack.papers.mukai.codec import geodesic


@dataclass(frozen=True)
class VertexForm:
    """Vertices as rows: their coordinates, in meters."""

    vertex_count: int

    def rows(self, clip: AnyClip) -> F64:
        return clip.positions().reshape(clip.frame_count, -1)

    @property
    def width(self) -> int:
        return 3 * self.vertex_count


@dataclass(frozen=True, eq=False)
class SkeletonForm:
    """Poses as rows: each joint's rotation as a vector about its mean, then translations.

    Attributes
    ----------
    kinds : tuple of int, length J
        `geodesic.CONSTANT`, `TANGENT` or `QUATERNION`.
    means : array, shape (J, 4)
    levers : array, shape (J,)
        Meters per radian.
    moving : tuple of bool, length M
        Which translated joints move.
    places : array, shape (M, 3)
        Positions of those that do not move.
    """

    kinds: tuple[int, ...]
    means: F64
    levers: F64
    moving: tuple[bool, ...]
    places: F64

    @classmethod
    def of(cls, clip: Clip, weights: str) -> SkeletonForm:
        joints = range(len(clip.skeleton))
        means = np.array([geodesic.intrinsic_mean(clip.rotations[:, j]) for j in joints])
        kinds = tuple(geodesic.kind_of_motion(clip.rotations[:, j], means[j]) for j in joints)
        still = np.array([kind == geodesic.CONSTANT for kind in kinds])
        # rounded as in the file, so that encoder and decoder use the same tangent spaces
        means[~still] = means[~still].astype("<f4").astype(np.float64)
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        means[still] = clip.rotations[0, still]
        arms = np.ones(len(clip.skeleton))
        if weights == "kinematic":
            arms = geodesic.levers(clip.positions(), clip.skeleton.parents, SHELL_RADIUS_M)
            arms = np.maximum(arms.astype("<f4").astype(np.float64), 1e-6)
        spread = np.ptp(clip.translations, axis=0)
        moving = tuple(bool(m) for m in (spread > 0).any(axis=1))
        return cls(kinds, means, arms, moving, clip.translations[0].copy())

    def rows(self, clip: AnyClip) -> F64:
        moving = require_skeleton(clip, "a row of rotations")
        parts = [
            self._scale(j) * geodesic.to_vectors(moving.rotations[:, j], self.means[j], kind)
            for j, kind in enumerate(self.kinds)
        ]
        parts += [moving.translations[:, m] for m, moves in enumerate(self.moving) if moves]
        return np.concatenate(parts, axis=1) if parts else np.zeros((clip.frame_count, 0))

    def pose(self, rows: F64) -> tuple[F64, F64]:
        """Return rotations (N, J, 4) and translations (N, M, 3) of rows."""
        kinds, scales = self._native
        turned = np.asarray(_core.row_rotations(rows, kinds, self.means, scales))
        at = self.width - 3 * sum(self.moving)
        places = np.repeat(self.places[np.newaxis], len(rows), axis=0)
        for m, moves in enumerate(self.moving):
            if moves:
                places[:, m] = rows[:, at : at + 3]
                at += 3
        return turned, places

    @cached_property
    def width(self) -> int:
        return sum(geodesic.WIDTH[k] for k in self.kinds) + 3 * sum(self.moving)

    @cached_property
    def scales(self) -> F64:
        """Return the factor of each number of a row (M,): meters per radian, 1 for meters."""
        turned = [np.full(geodesic.WIDTH[k], self._scale(j)) for j, k in enumerate(self.kinds)]
        return np.concatenate([*turned, np.ones(3 * sum(self.moving))])

    @cached_property
    def _native(self) -> tuple[npt.NDArray[np.int32], F64]:
        scales = [self._scale(j) for j in range(len(self.kinds))]
        return np.array(self.kinds, np.int32), np.array(scales, np.float64)

    def _scale(self, joint: int) -> float:
        # a quaternion moves half as fast as its angle
        turned = 2.0 if self.kinds[joint] == geodesic.QUATERNION else 1.0
        return turned * float(self.levers[joint])


Form = VertexForm | SkeletonForm


def form_of(clip: AnyClip, weights: str) -> Form:
    """Return the form of a clip's poses as rows."""
    if isinstance(clip, Clip):
        return SkeletonForm.of(clip, weights)
    return VertexForm(clip.header.vertex_count)
