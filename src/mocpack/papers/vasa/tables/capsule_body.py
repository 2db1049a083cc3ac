"""A simple body of capsules, skinned to a skeleton, for clips without a surface."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack.common.arrays import F64, I32
from mocpack.model.clip import Clip, VertexClip
from mocpack.model.rotations import rotate
from mocpack.model.skeleton import Skeleton

RINGS, SIDES = 6, 8  # of a capsule, by default
THICKNESS = 0.22  # radius of a bone against its length
THINNEST, THICKEST = 0.02, 0.09  # meters
BLEND = 0.3  # fraction of a bone, at each end, that is also skinned to the neighbor


@dataclass(frozen=True, eq=False)
class Body:
    """Vertices at rest, each held by up to three joints.

    Attributes
    ----------
    faces : array, shape (F, 3)
    holders : array, shape (V, 3)
        Joints: the parent's, the bone's own, the child's.
    shares : array, shape (V, 3)
        Skin weight of each; they sum to 1.
    arms : array, shape (V, 3, 3)
        The vertex in the frame of each holder, in meters.
    """

    faces: I32
    holders: npt.NDArray[np.intp]
    shares: F64
    arms: F64


def capsule_body(skeleton: Skeleton, *, rings: int = RINGS, sides: int = SIDES) -> Body:
    """Return a capsule of `rings` rings of `sides` vertices for each bone that has a length."""
    places = _rest_places(skeleton)
    parts = [_capsule(skeleton, places, rings, sides, *bone) for bone in _bones(skeleton)]
    faces = [_tube_faces(rings, sides) + n * rings * sides for n in range(len(parts))]
    vertices, holders, shares = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    arms = vertices[:, np.newaxis] - places[holders]
    return Body(np.concatenate(faces), holders, shares, arms)


def skin(clip: Clip, body: Body) -> VertexClip:
    """Return the body's surface in motion, by linear blend skinning."""
    positions, world = clip.world()
    vertices = np.zeros((clip.frame_count, len(body.holders), 3))
    for k in range(body.holders.shape[1]):
        joints = body.holders[:, k]
        moved = positions[:, joints] + rotate(world[:, joints], body.arms[:, k])
        vertices += body.shares[:, k, np.newaxis] * moved
    return VertexClip.build(vertices, body.faces, frame_rate=clip.frame_rate)


def _rest_places(skeleton: Skeleton) -> F64:
    places = skeleton.offsets.copy()
    for j, parent in enumerate(skeleton.parents[1:], 1):
        places[j] = places[parent] + skeleton.offsets[j]
    return places


def _bones(skeleton: Skeleton) -> list[tuple[int, int, F64]]:
    """Return (joint that turns it, joint at its end or itself, direction) of each bone."""
    bones = [(p, j, skeleton.offsets[j]) for j, p in enumerate(skeleton.parents) if p >= 0]
    ends = zip(skeleton.end_site_joints, skeleton.end_sites, strict=True)
    bones += [(j, j, site) for j, site in ends]
    return [bone for bone in bones if np.linalg.norm(bone[2]) > 1e-6]


def _capsule(
    skeleton: Skeleton, places: F64, rings: int, sides: int, joint: int, child: int, bone: F64
) -> tuple[F64, npt.NDArray[np.intp], F64]:
    length = float(np.linalg.norm(bone))
    along = bone / length
    side = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
    side /= np.linalg.norm(side)
    radius = np.clip(THICKNESS * length, THINNEST, THICKEST)
    u = np.repeat(np.linspace(0, 1, rings), sides)[:, np.newaxis]
    turn = np.tile(2 * np.pi * np.arange(sides) / sides, rings)[:, np.newaxis]
    round_ends = radius * np.sqrt(np.maximum(1 - (2 * u - 1) ** 8, 0.2))
    ring = np.cos(turn) * side + np.sin(turn) * np.cross(along, side)
    vertices = places[joint] + u * bone + round_ends * ring
    before = 0.5 * np.maximum(0, 1 - u / BLEND)
    after = 0.5 * np.maximum(0, 1 - (1 - u) / BLEND) * (child != joint)
    shares = np.concatenate([before, 1 - before - after, after], axis=1)
    holders = np.tile([max(skeleton.parents[joint], 0), joint, child], (len(vertices), 1))
    return vertices, holders, shares


def _tube_faces(rings: int, sides: int) -> I32:
    corner = np.arange((rings - 1) * sides)
    beside = corner - corner % sides + (corner + 1) % sides
    lower = np.stack([corner, beside, corner + sides], axis=1)
    upper = np.stack([beside, beside + sides, corner + sides], axis=1)
    return np.concatenate([lower, upper]).astype(np.int32)
