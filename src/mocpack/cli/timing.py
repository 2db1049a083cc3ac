"""The options that cut and retime a motion, which ``compress`` and ``convert`` share."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mocpack.cli import files, options
from mocpack.common.units import format_length, parse_seconds_range
from mocpack.errors import UsageError
from mocpack.model.clip import AnyClip, require_skeleton


@dataclass(frozen=True)
class Timing:
    """Which part of a motion to use, and how fast; applied in this order."""

    frames: options.Frames = None
    seconds: options.Seconds = None
    speed: options.Speed = None
    loop: options.Loop = False

    def __post_init__(self) -> None:
        if self.frames is not None and self.seconds is not None:
            raise UsageError("--frames and --seconds both cut the motion; give only one of them")

    def to_arguments(self) -> dict[str, Any]:
        """Return the options that are set."""
        return {k: v for k, v in asdict(self).items() if v is not None and v is not False}

    def apply(self, clip: AnyClip) -> tuple[AnyClip, list[str]]:
        """Return the clip with these changes, and notes on what moved."""
        notes = []
        if self.frames is not None:
            clip = files.cut_frames(clip, self.frames)
        if self.seconds is not None:
            first, last = parse_seconds_range(self.seconds)
            if last is not None and last > clip.duration:
                notes.append(f"--seconds {self.seconds}: the motion ends at {clip.duration:.3g} s")
            clip = clip.cut(first, last)
        if self.speed is not None:
            clip = require_skeleton(clip, "--speed").change_speed(self.speed)
        if not self.loop:
            return clip, notes
        closed = require_skeleton(clip, "--loop").close_loop()
        moved = np.linalg.norm(closed.positions() - clip.positions(), axis=-1).max()
        return closed, [*notes, f"--loop moved joints by up to {format_length(float(moved))}"]
