"""The reading options that commands share which read motion files of any format."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Unpack, cast

from mocpack.cli import options
from mocpack.io.motion_file import ReadOptions


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

    def to_arguments(self, **others: Unpack[ReadOptions]) -> ReadOptions:
        """Return the options that are set, with those of `others`, as keyword arguments."""
        chosen = {**asdict(self), **others}
        given = {k: v for k, v in chosen.items() if v is not None and v is not False}
        return cast(ReadOptions, given)


@dataclass(frozen=True)
class Reading(SourceOptions):
    """All options of `mocpack.read` that the command line has."""

    fps: options.Fps = None
    body_model: options.BodyModel = None
    robot: options.RobotFile = None
    quaternion: options.Quaternion = None
    ignore_limits: options.IgnoreLimits = False
    allow_pickle: options.AllowPickle = False
