"""The features of a window's rows, and the plan from which the native core computes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mocpack import _core
from mocpack.common.arrays import F64, I32
from mocpack.errors import UsageError
from mocpack.model import mirroring, rotations, space
from mocpack.model.clip import ClipHeader
from mocpack.model.contacts import FOOT_NAME
from mocpack.model.hinges import Hinges
from mocpack.model.skeleton import Skeleton

FEATURES = (
    "quaternion",
    "rotation6d",
    "translations",
    "positions",
    "velocities",
    "contacts",
    "angles",
    "angle_velocities",
    "root",
)
"""In the order of the native core's enumeration."""

WORLD_FEATURES = {"positions", "velocities", "contacts"}
HINGE_FEATURES = {"angles", "angle_velocities"}
ROOT_WIDTH = 7  # position and quaternion
STORED_FEATURES = ("quaternion", "translations")
"""The features that a clip stores; a row of the decoded cache consists of them."""


def feature_columns(header: ClipHeader, features: Sequence[str]) -> dict[str, slice]:
    """Return the columns of each feature."""
    joints, moving = len(header.skeleton), len(header.translated_joints)
    hinges = 0 if header.skeleton.hinges is None else len(header.skeleton.hinges)
    own = (4 * joints, 6 * joints, 3 * moving, 3 * joints, 3 * joints, len(feet(header.skeleton)))
    widths = dict(zip(FEATURES, (*own, hinges, hinges, ROOT_WIDTH), strict=True))
    columns, at = {}, 0
    for name in features:
        columns[name] = slice(at, at + widths[name])
        at += widths[name]
    return columns


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
    tolerance: float = mirroring.MAX_ASYMMETRY,
) -> _core.WindowPlan:
    """Return the native core's plan for windows of a skeleton's motion.

    Row `i` of a window is the pose `i * step` frames after its first frame, interpolated by slerp.
    `rate` is rows per second; default: the clip's frame rate. `tolerance` is that of `Clip.mirror`.
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
    hinged = _check_robot(header, features)
    partners, before, after, axis = _mirror_arrays(header, tolerance if mirror else None)
    return _core.WindowPlan(
        parents=np.array(skeleton.parents, np.int32),
        offsets=skeleton.offsets,
        translated_joints=np.array(header.translated_joints, np.int32),
        fields=np.array([FEATURES.index(name) for name in features], np.int32),
        feet=np.array(feet(skeleton), np.int32),
        relative=relative,
        root_rest=skeleton.rest[0],
        to_source=rotations.conjugate(
            rotations.from_matrix(space.conversion_matrix(header.up, "right"))
        ),
        hinged=skeleton.to_core(header.translated_joints) if hinged else None,
        hinge_columns=np.array(hinged.by_joint if hinged else (), np.int32),
        step=step,
        rate=header.frame_rate if rate is None else rate,
        partners=partners,
        before=before,
        after=after,
        axis=axis,
    )


def _check_robot(header: ClipHeader, features: Sequence[str]) -> Hinges | None:
    """Return the hinges that the features need; raise if the clip does not have them."""
    if "root" in features and header.handedness != "right":
        raise UsageError("feature 'root' needs a right-handed source, got a left-handed one")
    wanted = [name for name in features if name in HINGE_FEATURES]
    if not wanted:
        return None
    if header.skeleton.hinges is None or len(header.skeleton.roots) > 1:
        raise UsageError(
            f"feature {wanted[0]!r} needs a skeleton with hinges and one root, such as a robot's; "
            f"this one has {'no hinges' if header.skeleton.hinges is None else 'several roots'}"
        )
    return header.skeleton.hinges


def _mirror_arrays(
    header: ClipHeader, tolerance: float | None
) -> tuple[I32 | None, F64 | None, F64 | None, int]:
    """Return partners, factors before and after, and axis of the mirror; None does not mirror."""
    if tolerance is None:
        return None, None, None, 0
    skeleton = header.skeleton
    partners = mirroring.mirror_partners(skeleton, None)
    mirroring.check_translated(skeleton, header.translated_joints, partners)
    axis = mirroring.find_side_axis(mirroring.rest_world(skeleton)[0], partners)
    before, after = mirroring.mirror_factors(skeleton, partners, axis, tolerance)
    return partners.astype(np.int32), before, after, axis
