"""The bounds of single joints, in tables, JSON and messages."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mocpack.common.units import format_angle, format_length
from mocpack.container import Errors, JointErrors
from mocpack.metrics.angles import joint_angles
from mocpack.metrics.comparison import ANGLE_SLACK_RAD, POSITION_SLACK_M
from mocpack.model.clip import AnyHeader, Clip, ClipHeader, measure_error

ROUNDING = 1.001  # files round measured errors up by at most 0.07 %


def joint_bound_facts(header: AnyHeader, errors: Errors) -> list[dict[str, Any]]:
    """Return bounds and errors of the joints that share bounds; empty if all joints do."""
    if errors.joints is None or not isinstance(header, ClipHeader):
        return []
    return [
        {
            "ok": error <= bound * ROUNDING and (not angle or turned <= angle * ROUNDING),
            "bound_mm": 1000 * bound,
            "max_mm": 1000 * error,
            "angle_bound_deg": math.degrees(angle) if angle else None,
            "max_angle_deg": math.degrees(turned) if angle else None,
            "joints": [header.skeleton.names[joint] for joint in joints],
        }
        for bound, error, angle, turned, joints in errors.joints.groups()
    ]


def describe_joint_bounds(group: dict[str, Any], joint_count: int) -> str:
    """Describe bounds that some joints share, and whether their errors are within them."""
    bounds = [(format_length(group["bound_mm"] / 1000), format_length(group["max_mm"] / 1000))]
    if group["angle_bound_deg"] is not None:
        both = group["angle_bound_deg"], group["max_angle_deg"]
        bound, largest = (format_angle(math.radians(degrees)) for degrees in both)
        bounds.append((bound, largest))
    names, kept = group["joints"], "" if group["ok"] else ", EXCEEDED"
    shown = ", ".join(names) if 2 * len(names) <= joint_count else f"{len(names)} joints"
    return f"{', '.join(f'{b} (maximum {e})' for b, e in bounds)}{kept}: {shown}"


def describe_excess(path: str, kind: str, bound: str, found: str) -> str:
    """Describe an error that exceeds the bound that a file declares."""
    return f"{path} declares a maximum {kind} of {bound}, but the measured error is {found}"


def find_broken_joint(path: str, before: Clip, after: Clip, joints: JointErrors) -> str | None:
    """Describe the joint that exceeds its bound most; None if all are within their bounds."""
    names = before.skeleton.names
    found = measure_error(before, after).joints
    excess = found - joints.declared
    worst = int(excess.argmax())
    if excess[worst] > POSITION_SLACK_M:
        bound = f"{format_length(joints.declared[worst])} for joint {names[worst]!r}"
        return describe_excess(path, "error", bound, format_length(found[worst]))
    limits = np.where(joints.declared_angle > 0, joints.declared_angle, math.inf)
    turned = joint_angles(before, after)
    worst = int((turned - limits).argmax())
    if turned[worst] > limits[worst] * (1 + 1e-6) + ANGLE_SLACK_RAD:
        bound = f"{format_angle(limits[worst])} for joint {names[worst]!r}"
        return describe_excess(path, "angle error", bound, format_angle(turned[worst]))
    return None
