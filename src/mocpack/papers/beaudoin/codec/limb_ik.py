"""Move the ends of limbs by given shifts: inverse kinematics that starts from the current pose.

Either cyclic coordinate descent over all limbs at once, or the closed form for limbs of two bones.
Joints rotate only about the axes of their channels; the root does not move.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mocpack import _core
from mocpack.common.arrays import F64
from mocpack.errors import UnsupportedClipError
from mocpack.model import rotations
from mocpack.model.clip import Clip
from mocpack.model.skeleton import Skeleton, rotation_order

Solver = Literal["ccd", "analytic"]
SOLVERS: tuple[Solver, ...] = ("ccd", "analytic")

ANKLE = re.compile(r"foot|ankle", re.IGNORECASE)
BALL, BEFORE, AFTER = 0, 1, 2  # kinds of rotation, numbered as in the native core


@dataclass(frozen=True)
class Limb:
    """An end effector and the joints that move it, nearest to the end first."""

    end: int
    joints: tuple[int, ...]


def find_feet(skeleton: Skeleton) -> list[int]:
    """Return the joints named foot or ankle that have no such joint above them."""
    named = [j for j, name in enumerate(skeleton.names) if ANKLE.search(name)]
    return [j for j in named if not any(a in named for a in _above(skeleton, j))]


def limb_of(skeleton: Skeleton, end: int, count: int) -> Limb:
    """Return the limb of `count` rotating joints above `end`, without the root."""
    joints = [
        j
        for j in _above(skeleton, end)
        if j > 0 and rotation_order(skeleton.channels[j])[0] and _reaches(skeleton, j, end)
    ]
    if len(joints) < count:
        raise UnsupportedClipError(
            f"{skeleton.names[end]!r} has {len(joints)} rotating joints between itself and the "
            f"root, a leg needs {count}"
        )
    return Limb(end, tuple(joints[:count]))


def move_ends(clip: Clip, limbs: list[Limb], shifts: F64, *, solver: Solver) -> Clip:
    """Return the clip with each limb's end moved by `shifts` (T, limbs, 3) in the world, in meters.

    An end whose target is out of reach goes as near as it can.
    """
    skeleton = clip.skeleton
    native = skeleton.to_core(clip.translated_joints)
    shifts = np.ascontiguousarray(shifts)
    if solver == "analytic":
        table = np.array([[*reversed(limb.joints), limb.end] for limb in limbs], np.int32)
        axes = np.array([_hinge(skeleton, limb.joints[0]) for limb in limbs])
        local = _core.ik_two_bone(native, table, axes, shifts, clip.rotations, clip.translations)
    else:
        turns = [t for j in turning_order(limbs) for t in _turns(skeleton, j)]
        table = np.array([[joint, kind] for joint, kind, _ in turns], np.int32)
        axes = np.array([axis for _, _, axis in turns])
        ends = np.array([limb.end for limb in limbs], np.int32)
        local = _core.ik_ccd(native, table, axes, ends, shifts, clip.rotations, clip.translations)
    return Clip(clip.header, local, clip.translations)


def turning_order(limbs: Sequence[Limb]) -> list[int]:
    """Return the rotating joints in the order of a sweep.

    From the hip down: fewer sweeps than from the knee up, and nearer to the first pose. Limbs that
    share joints are one: what moves several ends turns before what moves one of them, and all turn
    twice, since each turn that serves one end moves the others.
    """
    groups: list[tuple[int, set[int]]] = []  # number of limbs, and their joints
    for limb in limbs:
        own = set(limb.joints)
        shared = [group for group in groups if group[1] & own]
        merged = 1 + sum(count for count, _ in shared), own.union(*(g[1] for g in shared))
        at = groups.index(shared[0]) if shared else len(groups)
        groups = [group for group in groups if group not in shared]
        groups.insert(at, merged)
    return [j for count, joints in groups for j in sorted(joints) * (2 if count > 1 else 1)]


def check_apart(skeleton: Skeleton, limbs: Sequence[Limb]) -> None:
    """Raise an error for limbs that the closed form cannot solve one by one."""
    owner: dict[int, Limb] = {}
    for limb in limbs:
        for joint in limb.joints:
            if joint in owner:
                a, b = (skeleton.names[one.end] for one in (owner[joint], limb))
                raise UnsupportedClipError(
                    f"the analytic solver moves limbs one by one, and {a!r} and {b!r} share the "
                    f"joint {skeleton.names[joint]!r}; use ik=ccd"
                )
            owner[joint] = limb


def check_two_bone(skeleton: Skeleton, limb: Limb) -> None:
    """Raise an error for a limb that the closed form cannot solve."""
    names = [skeleton.names[j] for j in limb.joints]
    if len(limb.joints) != 2:
        raise UnsupportedClipError(f"the analytic solver moves limbs of two joints, got {names}")
    middle, start = (len(rotation_order(skeleton.channels[j])[0]) for j in limb.joints)
    if start != 3 or middle == 2:
        raise UnsupportedClipError(
            f"the analytic solver needs a hip of three axes and a knee of one or three, "
            f"but {names[1]!r} has {start} and {names[0]!r} has {middle}"
        )


def _above(skeleton: Skeleton, joint: int) -> list[int]:
    above = []
    while skeleton.parents[joint] >= 0:
        joint = skeleton.parents[joint]
        above.append(joint)
    return above


def _reaches(skeleton: Skeleton, joint: int, end: int) -> bool:
    """Return whether rotating `joint` can move `end`: the bone between them has a length."""
    below = end
    while skeleton.parents[below] != joint:
        below = skeleton.parents[below]
    return bool(np.linalg.norm(skeleton.offsets[below]) > 0)


def _turns(skeleton: Skeleton, joint: int) -> list[tuple[int, int, F64]]:
    """Return (joint, kind, axis) of each rotation that a joint allows."""
    order, _ = rotation_order(skeleton.channels[joint])
    if len(order) == 3:
        return [(joint, BALL, np.zeros(3))]
    kinds = (BEFORE, AFTER)[: len(order)]
    return [(joint, k, _axis(skeleton, joint, a)) for k, a in zip(kinds, order, strict=True)]


def _hinge(skeleton: Skeleton, joint: int) -> F64:
    """Return the axis of a joint with one axis, else zero."""
    order, _ = rotation_order(skeleton.channels[joint])
    return _axis(skeleton, joint, order) if len(order) == 1 else np.zeros(3)


def _axis(skeleton: Skeleton, joint: int, letter: str) -> F64:
    return rotations.rotate(skeleton.axes[joint], np.eye(3)["XYZ".index(letter)])
