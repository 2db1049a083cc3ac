"""How a stream is coded, which may change wherever a frame stands by itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mode:
    """How frames are coded from an intra frame to the next.

    Attributes
    ----------
    max_error : float
        Metres.
    twist : bool
        Whether twist is sent that moves nothing but the skin; without it, the bound holds for
        joints and end sites.
    frame_step : int
        Of how many frames one is sent.
    """

    max_error: float
    twist: bool = True
    frame_step: int = 1
