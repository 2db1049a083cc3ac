"""The bounds of single joints, in tables, JSON and messages."""

from __future__ import annotations

import math
from typing import TypedDict

import numpy as np

from mocpack.common.units import format_angle, format_length
from mocpack.container import Errors, JointErrors
from mocpack.metrics.angles import joint_angles
from mocpack.metrics.comparison import ANGLE_SLACK_RAD, POSITION_SLACK_M
from mocpack.model.clip import AnyClip, AnyHeader, measure_error, require_skeleton

ROUNDING = 1.001  # files round measured errors up by at most 0.07 %


class JointBound(TypedDict):
    """A bound and the largest error of the joints that share it, as in ``--json``."""

    ok: bool
    bound_mm: float
    max_mm: float
    angle_bound_deg: float | None
    max_angle_deg: float | None
    joints: list[str]


def joint_bound_facts(header: AnyHeader, errors: Errors) -> list[JointBound]:
    """Return bounds and errors of the joints that share bounds; empty if all joints do."""
    if errors.joints is None:
        return []
    return [
        {
            "ok": error <= bound * ROUNDING and (not angle or turned <= angle * ROUNDING),
            "bound_mm": 1000 * bound,
            "max_mm": 1000 * error,
            "angle_bound_deg": math.degrees(angle) if angle else None,
            "max_angle_deg": math.degrees(turned) if angle else None,
            "joints": [header.point_names[joint] for joint in joints],
        }
        for bound, error, angle, turned, joints in errors.joints.groups()
    ]


def describe_joint_bounds(group: JointBound, joint_count: int) -> str:
    """Describe bounds that some joints share, and whether their errors are within them."""
    bounds = [(format_length(group["bound_mm"] / 1000), format_length(group["max_mm"] / 1000))]
    angle, turned = group["angle_bound_deg"], group["max_angle_deg"]
    if angle is not None and turned is not None:
        bounds.append((format_angle(math.radians(angle)), format_angle(math.radians(turned))))
    names, kept = group["joints"], "" if group["ok"] else ", EXCEEDED"
    shown = ", ".join(names) if 2 * len(names) <= joint_count else f"{len(names)} joints"
    return f"{', '.join(f'{b} (maximum {e})' for b, e in bounds)}{kept}: {shown}"


def describe_excess(path: str, kind: str, bound: str, measured: str) -> str:
    """Describe an error that exceeds the bound that a file declares."""
    return f"{path} declares a maximum {kind} of {bound}, but the measured error is {measured}"


def find_broken_joint(
    path: str, original: AnyClip, decoded: AnyClip, joints: JointErrors
) -> str | None:
    """Describe the joint that exceeds its bound most; None if all are within their bounds."""
    before, after = (require_skeleton(clip, path) for clip in (original, decoded))
    names = before.skeleton.names
    errors = measure_error(before, after).joints
    excess = errors - joints.declared
    worst = int(excess.argmax())
    if excess[worst] > POSITION_SLACK_M:
        bound = f"{format_length(joints.declared[worst])} for joint {names[worst]!r}"
        return describe_excess(path, "error", bound, format_length(errors[worst]))
    limits = np.where(joints.declared_angle > 0, joints.declared_angle, math.inf)
    turned = joint_angles(before, after)
    worst = int((turned - limits).argmax())
    if turned[worst] > limits[worst] * (1 + 1e-6) + ANGLE_SLACK_RAD:
        bound = f"{format_angle(limits[worst])} for joint {names[worst]!r}"
        return describe_excess(path, "angle error", bound, format_angle(turned[worst]))
    return None
