"""Constraints: regions of higher precision, and joints with limited range."""

from __future__ import annotations

import re

import numpy as np

from mocpack.common.arrays import F64, Mask
from mocpack.errors import UsageError
from mocpack.model import rotations
from mocpack.model.skeleton import Skeleton
from mocpack.papers.li.codec.bodies import Bodies

HINGE = re.compile(
    r"forearm|elbow|lower_?arm|radius|knee|shin|calf|lower_?leg|tibia"
    r"|(?<!up)(?<!upper)(?<!upper_)leg$",
    re.IGNORECASE,
)
EFFECTOR = re.compile(r"hand|wrist|palm|foot|toe|ankle|heel|paw|hoof", re.IGNORECASE)


def effectors(skeleton: Skeleton) -> list[int]:
    """Return the end effectors: hands and feet by name, else the leaves of the tree."""
    named = [j for j, name in enumerate(skeleton.names) if EFFECTOR.search(name)]
    parents = set(skeleton.parents)
    return named or [j for j in range(len(skeleton)) if j not in parents]


def ranged_joints(text: str, skeleton: Skeleton) -> list[int]:
    """Return the joints with a limited range: named ones, or elbows and knees for "auto"."""
    if text != "auto":
        return sorted({skeleton.index(name.strip()) for name in filter(None, text.split(";"))})
    found = [j for j, name in enumerate(skeleton.names) if HINGE.search(name)]
    if not found:
        raise UsageError("no joint is named like an elbow or a knee; name them: ranges=Knee1;Knee2")
    return found


def joint_ranges(local: F64) -> F64:
    """Return the least and the largest rotation vector, by component, of rotations (T, R, 4).

    Shape (R, 2, 3), in radians, rounded outwards to float32.
    """
    vectors = rotations.as_rotvec(local)
    ends = np.stack([vectors.min(axis=0), vectors.max(axis=0)], axis=1)
    away = np.array([-np.inf, np.inf], np.float32)[:, np.newaxis]
    return np.nextafter(ends.astype(np.float32), away).astype(np.float64)


def within_ranges(local: F64, ranges: F64) -> F64:
    """Return rotations (T, R, 4) clamped to their ranges."""
    vectors = rotations.as_rotvec(local)
    inside = np.clip(vectors, ranges[:, 0], ranges[:, 1])
    back = rotations.from_rotvec(inside)
    outside = (inside != vectors).any(axis=-1, keepdims=True)
    return np.where(outside, back, local)


def given_frames(text: str, frame_count: int) -> Mask:
    """Return which frames (T,) a text such as ``100:160;300:320`` names, half-open."""
    mask = np.zeros(frame_count, bool)
    for item in text.split(";"):
        start, colon, stop = item.partition(":")
        try:
            first, last = int(start or 0), int(stop or frame_count)
        except ValueError:
            colon = ""
        if not colon or not 0 <= first < last:
            raise UsageError(f"write frames as first:stop;first:stop, got {item!r}")
        mask[first:last] = True
    return mask


def on_the_way(joint_frames: Mask, joints: list[int], skeleton: Skeleton, bodies: Bodies) -> Mask:
    """Return the frames (T, B) in which a body moves a joint of the region.

    `joint_frames` (T, len(joints)) says in which frames each of `joints` belongs to the region. All
    bodies between a joint and the root move it.
    """
    mask = np.zeros((len(joint_frames), len(bodies)), bool)
    for column, joint in enumerate(joints):
        parent = skeleton.parents[joint]
        carriers = skeleton.with_ancestors([parent]) if parent >= 0 else [0]
        for b in set(bodies.owners[carriers].tolist()):
            mask[:, b] |= joint_frames[:, column]
    return mask
