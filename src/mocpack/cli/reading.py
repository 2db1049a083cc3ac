"""The reading options, stated once for the commands that read motion files of every format."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from mocpack.cli import options


@dataclass(frozen=True)
class Reading:
    """How motion files are read, an option per field; the names are those of `mocpack.read`."""

    fps: options.Fps = None
    body_model: options.BodyModel = None
    robot: options.RobotFile = None
    quaternion: options.Quaternion = None
    allow_pickle: options.AllowPickle = False
    allow_outside: options.AllowOutside = False
    unit: options.Unit = None
    skeleton: options.SkeletonFile = None

    def given(self, **others: Any) -> dict[str, Any]:
        """Return the options that were given, by name, and those of the others that were."""
        chosen = asdict(self) | others
        return {k: value for k, value in chosen.items() if value is not None and value is not False}
