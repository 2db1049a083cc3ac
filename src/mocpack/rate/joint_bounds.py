"""Bounds of single joints, given by patterns of names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from mocpack.common.arguments import did_you_mean
from mocpack.common.arrays import F64
from mocpack.common.units import Angle, Length, parse_length_or_angle
from mocpack.errors import UsageError
from mocpack.model.skeleton import Skeleton

JointErrors = Mapping[str, str | Length | Angle] | Sequence[tuple[str, str | Length | Angle]]
"""A bound by pattern; pairs can give one pattern a length and an angle."""
MAX_NAMES = 60  # in an error
Patterns = tuple[tuple[str, Length | Angle], ...]


@dataclass(frozen=True, eq=False)
class JointBounds:
    """The own bounds of each joint, shape (J,): meters and radians, 0 for joints without one."""

    errors: F64
    angles: F64
    default_error: float = 0.0  # meters, of joints without a bound of their own

    def with_defaults(self, max_error: float, max_angle: float | None) -> JointBounds:
        """Return the bounds of all joints; an angle of 0 means that it has no bound."""
        return JointBounds(
            np.where(self.errors > 0, self.errors, max_error),
            np.where(self.angles > 0, self.angles, max_angle or 0.0),
            max_error,
        )

    @property
    def is_uniform(self) -> bool:
        """Whether all joints have the same bounds."""
        return not (np.ptp(self.errors) or np.ptp(self.angles))


def list_pairs(given: JointErrors | None) -> Iterable[tuple[str, str | Length | Angle]]:
    """Return patterns with their bounds, as they were given."""
    return given.items() if isinstance(given, Mapping) else given or ()


def parse_joint_errors(given: JointErrors) -> Patterns:
    """Return patterns with their bounds; an invalid one is a `UsageError`."""
    found = []
    for pair in [given] if isinstance(given, str) else list_pairs(given):
        if isinstance(pair, str) or len(pair) != 2 or not isinstance(pair[0], str):
            raise UsageError(
                "joint_errors must map patterns of joint names to bounds, as in "
                f"{{'*Finger*': '5mm'}}; got {pair!r:.80}"
            )
        found.append((pair[0], parse_length_or_angle(f"joint_errors[{pair[0]!r}]", pair[1])))
    return tuple(found)


def match_joints(patterns: Patterns, skeleton: Skeleton) -> JointBounds:
    """Return the bounds of the joints that match; later patterns replace earlier ones.

    A pattern matches the name of a joint, or of a hinge of the joint, as `fnmatch.fnmatchcase`
    does. One that matches none is a `UsageError`.
    """
    names = [(name, joint) for joint, name in enumerate(skeleton.names)]
    if skeleton.hinges is not None:
        names += zip(skeleton.hinges.names, skeleton.hinges.joints, strict=True)
    bounds = JointBounds(np.zeros(len(skeleton)), np.zeros(len(skeleton)))
    for pattern, bound in patterns:
        joints = [joint for name, joint in names if fnmatchcase(name, pattern)]
        if not joints:
            known = [name for name, _ in names]
            words = re.findall("[A-Z]?[a-z]+", " ".join(known))  # LeftHand is Left and Hand
            parts = [f"*{word}*" for word in words]
            hint = did_you_mean(pattern.strip("*"), known + parts) or ";"
            raise UsageError(
                f"joint_errors: no joint or hinge matches {pattern!r}{hint} "
                f"the clip has {', '.join(known[:MAX_NAMES])}"
            )
        (bounds.angles if isinstance(bound, Angle) else bounds.errors)[joints] = bound
    return bounds
