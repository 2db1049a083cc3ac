"""What a file must reach: an error, a ratio or a size."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

from mocpack.common.arguments import check_number, is_finite
from mocpack.common.units import (
    Angle,
    Length,
    parse_angle_argument,
    parse_length_argument,
    parse_size,
)
from mocpack.container import Errors
from mocpack.errors import UsageError
from mocpack.model.clip import AnyClip, require_skeleton
from mocpack.rate.joint_bounds import (
    JointBounds,
    JointErrors,
    Patterns,
    match_joints,
    parse_joint_errors,
)
from mocpack.rate.presets import check_preset, preset_bound


@dataclass(frozen=True)
class Target:
    """The target of a file: at most one of these, except that `max_angle` and `max_error` combine.

    Attributes
    ----------
    max_error, mean_error : float, meters
        Maximum error; maximum of the mean over frames and joints.
    max_angle : float, radians
        Maximum error of every hinge angle, and of the local rotation of other joints.
    ratio : float
        Size of float32 of the moving channels, divided by the file size.
    size : int, bytes
        Maximum size of the whole file.
    joint_errors : tuple of (pattern, Length or Angle)
        Bounds of the joints whose names match, in place of `max_error` and `max_angle`; later ones
        replace earlier ones. With `ratio` or `size`, the search bounds the other joints.
    preset : str
        Name of the preset that gives `max_error`, which depends on the clip.
    """

    max_error: float | None = None
    mean_error: float | None = None
    ratio: float | None = None
    size: int | None = None
    max_angle: float | None = None
    joint_errors: Patterns = ()
    preset: str | None = None

    def __post_init__(self) -> None:
        if self.ratio is not None and (not is_finite(self.ratio) or self.ratio <= 0):
            raise UsageError(f"ratio must be positive and finite, got {_format_value(self.ratio)}")
        if self.ratio is not None:
            check_number("ratio", self.ratio, 1e-6, 1e12)
        given = [n for n in ("max_error", "mean_error", "ratio", "size") if getattr(self, n)]
        if self.preset is not None:
            check_preset(self.preset)
            if given:
                raise UsageError(f"preset {self.preset!r} cannot be combined with another target")
        if len(given) > 1:
            raise UsageError(f"give one target, got {' and '.join(given)}")
        if self.max_angle and given and given != ["max_error"]:
            raise UsageError(f"max_angle can be combined with max_error only, got {given[0]}")
        if self.joint_errors and self.mean_error:
            raise UsageError("joint_errors bound the largest error: give max_error, not mean_error")

    def __bool__(self) -> bool:
        return any(vars(self).values())

    def for_clip(self, clip: AnyClip) -> Target:
        """Return the target with the error that its preset means for a clip."""
        if self.preset is None:
            return self
        return replace(self, preset=None, max_error=preset_bound(self.preset, clip))

    def bounds(self, clip: AnyClip) -> Bounds:
        """Return the error bounds of a file with this target; `max_error` must be set."""
        if not self.joint_errors:
            return Bounds(self.max_error, self.max_angle, mean_error=self.mean_error)
        assert self.max_error is not None
        own = match_joints(self.joint_errors, require_skeleton(clip, "joint_errors").skeleton)
        joints = own.with_defaults(self.max_error, self.max_angle)
        angle = float(joints.angles.max()) if joints.angles.all() else None
        return Bounds(float(joints.errors.max()), angle, None if joints.is_uniform else joints)


@dataclass(frozen=True)
class Bounds:
    """The error bounds of a file.

    Attributes
    ----------
    max_error : float or None
        In meters, of all joints.
    max_angle : float or None
        In radians, of all joints; None if a joint has none.
    joints : JointBounds or None
        The bounds of each joint, if they differ.
    mean_error : float or None
        In meters, of the mean of all joints, in place of `max_error`.
    """

    max_error: float | None = None
    max_angle: float | None = None
    joints: JointBounds | None = None
    mean_error: float | None = None

    @property
    def error(self) -> float:
        """The bound that `error_of` must keep, in meters."""
        return self.max_error or self.mean_error or math.inf

    def error_of(self, errors: Errors) -> float:
        """Return the error of a file that is bounded, in meters.

        If joints have bounds, it is as large as the share that a joint uses of its own.
        """
        if errors.joints is not None:
            return self.error * float((errors.joints.max / errors.joints.declared).max())
        found = errors.mean if self.mean_error else errors.max
        assert found is not None
        return found


NO_BOUNDS = Bounds()


class TargetOptions(TypedDict, total=False):
    """The target options of `mocpack.encode`."""

    max_error: str | Length | None
    mean_error: str | Length | None
    ratio: float | None
    size: str | int | None
    preset: str | None
    max_angle: str | Angle | None
    joint_errors: JointErrors | None


def parse_target(**options: Unpack[TargetOptions]) -> Target:
    """Parse the target options of `mocpack.encode`; an invalid one is a `UsageError`."""
    max_error, mean_error = options.get("max_error"), options.get("mean_error")
    size, max_angle = options.get("size"), options.get("max_angle")
    joint_errors = options.get("joint_errors")
    return Target(
        None if max_error is None else parse_length_argument("max_error", max_error),
        None if mean_error is None else parse_length_argument("mean_error", mean_error),
        options.get("ratio"),
        None if size is None else parse_size(size),
        None if max_angle is None else parse_angle_argument("max_angle", max_angle),
        () if joint_errors is None else parse_joint_errors(joint_errors),
        options.get("preset"),
    )


def _format_value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else f"{value!r:.80}"
