"""Coding mode of a stream, which can change at every keyframe."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mode:
    """Coding mode from one keyframe to the next.

    Attributes
    ----------
    max_error : float
        Meters.
    twist : bool
        Whether twist that moves only the skin is sent. Without it, the bound holds for joints and
        end sites only.
    frame_step : int
        Source frames per sent frame: 2 sends every second frame.
    """

    max_error: float
    twist: bool = True
    frame_step: int = 1
