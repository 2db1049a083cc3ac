"""What a file must reach: an error, a ratio or a size."""

from __future__ import annotations

from dataclasses import dataclass

from mocpack.common.arguments import check_number, is_finite
from mocpack.errors import UsageError
from mocpack.model.clip import AnyClip, Clip
from mocpack.rate.joint_bounds import JointBounds, Patterns, match_joints


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
    """

    max_error: float | None = None
    mean_error: float | None = None
    ratio: float | None = None
    size: int | None = None
    max_angle: float | None = None
    joint_errors: Patterns = ()

    def __post_init__(self) -> None:
        if self.ratio is not None and (not is_finite(self.ratio) or self.ratio <= 0):
            raise UsageError(f"ratio must be positive and finite, got {_format_value(self.ratio)}")
        if self.ratio is not None:
            check_number("ratio", self.ratio, 1e-6, 1e12)
        given = [n for n in ("max_error", "mean_error", "ratio", "size") if getattr(self, n)]
        if len(given) > 1:
            raise UsageError(f"give one target, got {' and '.join(given)}")
        if self.max_angle and given and given != ["max_error"]:
            raise UsageError(f"max_angle can be combined with max_error only, got {given[0]}")
        if self.joint_errors and self.mean_error:
            raise UsageError("joint_errors bound the largest error: give max_error, not mean_error")

    def __bool__(self) -> bool:
        return any(vars(self).values())

    def bounds(self, clip: AnyClip) -> Bounds:
        """Return the error bounds of a file with this target; `max_error` must be set."""
        if not self.joint_errors:
            return Bounds(self.max_error, self.max_angle)
        assert isinstance(clip, Clip)
        assert self.max_error is not None
        own = match_joints(self.joint_errors, clip.skeleton)
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
    """

    max_error: float | None = None
    max_angle: float | None = None
    joints: JointBounds | None = None


NO_BOUNDS = Bounds()


def _format_value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else f"{value!r:.80}"
