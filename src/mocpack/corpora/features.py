"""The features of a window's rows, and the plan from which the native core computes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mocpack import _core, mirroring
from mocpack.clip import ClipHeader
from mocpack.errors import UsageError
from mocpack.metrics.contacts import FOOT_NAME
from mocpack.skeleton import Skeleton

FEATURES = (
    "quaternion",
    "rotation6d",
    "translations",
    "positions",
    "velocities",
    "contacts",
)
"""In the order of the native core's enumeration."""

WORLD_FEATURES = {"positions", "velocities", "contacts"}
STORED_FEATURES = ("quaternion", "translations")
"""The features that a clip stores; a row of the decoded cache consists of them."""


def feature_columns(header: ClipHeader, features: Sequence[str]) -> dict[str, slice]:
    """Return the columns of each feature."""
    joints, moving = len(header.skeleton), len(header.translated_joints)
    widths = dict(zip(FEATURES, (4 * joints, 6 * joints, 3 * moving, 3 * joints), strict=False))
    widths |= {"velocities": 3 * joints, "contacts": len(feet(header.skeleton))}
    found, at = {}, 0
    for name in features:
        found[name] = slice(at, at + widths[name])
        at += widths[name]
    return found


def feet(skeleton: Skeleton) -> list[int]:
    """Return the joints of the feature ``contacts``: those named like feet or toes."""
    return [j for j, name in enumerate(skeleton.names) if FOOT_NAME.search(name)]


def window_plan(
    header: ClipHeader,
    features: Sequence[str],
    *,
    step: float = 1.0,
    rate: float | None = None,
    relative: bool = False,
    mirror: bool = False,
) -> _core.WindowPlan:
    """Return the native core's plan for windows of a skeleton's motion.

    Row `i` of a window is the pose `i * step` frames after its first frame, interpolated by slerp.
    `rate` is rows per second; default: the clip's frame rate.
    """
    skeleton = header.skeleton
    world_matrices = bool(header.scaled_joints) or bool((skeleton.scales != 1).any())
    if world_matrices and WORLD_FEATURES & set(features):
        raise UsageError(
            "features in world space do not support scaled joints; use rotations, translations"
        )
    if "contacts" in features and not feet(skeleton):
        raise UsageError(
            "feature 'contacts' needs a joint named like a foot, toe, ankle or heel; found none"
        )
    partners = before = after = None
    axis = 0
    if mirror:
        found = mirroring.mirror_partners(skeleton, None)
        axis = mirroring.find_side_axis(mirroring.rest_world(skeleton)[0], found)
        before, after = mirroring.mirror_factors(skeleton, found, axis)
        partners = found.astype(np.int32)
    return _core.WindowPlan(
        parents=np.array(skeleton.parents, np.int32),
        offsets=skeleton.offsets,
        translated_joints=np.array(header.translated_joints, np.int32),
        fields=np.array([FEATURES.index(name) for name in features], np.int32),
        feet=np.array(feet(skeleton), np.int32),
        partners=partners,
        before=before,
        after=after,
        axis=axis,
        relative=relative,
        step=step,
        rate=header.frame_rate if rate is None else rate,
    )
