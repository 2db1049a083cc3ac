"""The reading options that commands share which read motion files of any format."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from mocpack.cli import options


@dataclass(frozen=True)
class SourceOptions:
    """Options for motion files: the clip, missing data and external files.

    One option per field, named as in `mocpack.read`.
    """

    clip: options.ClipName = None
    unit: options.Unit = None
    up: options.UpAxis = None
    skeleton: options.SkeletonFile = None
    allow_outside: options.AllowOutside = False

    def to_arguments(self, **others: Any) -> dict[str, Any]:
        """Return the options that are set, with those of `others`, as keyword arguments."""
        chosen = asdict(self) | others
        return {k: value for k, value in chosen.items() if value is not None and value is not False}


@dataclass(frozen=True)
class Reading(SourceOptions):
    """All options of `mocpack.read` that the command line has."""

    fps: options.Fps = None
    body_model: options.BodyModel = None
    robot: options.RobotFile = None
    quaternion: options.Quaternion = None
    ignore_limits: options.IgnoreLimits = False
    allow_pickle: options.AllowPickle = False
