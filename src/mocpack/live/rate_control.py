"""Rate control: raise the error, then drop twist, then frames, to stay below a bit rate."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from mocpack.common.arguments import check_integer, check_number

WINDOW_S = 1.0  # the bit rate is the mean over this time
MIN_COARSEN_INTERVAL_S = 0.8  # a new mode starts with a large keyframe
REFINE_AFTER_S = 3.0  # of low bit rate, before quality is raised
LOW_RATE_RATIO = 0.6  # of the limit: a bit rate below is low
ERROR_FACTORS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
FRAME_STEPS = (2, 4)
MIN_ERROR_M, MAX_ERROR_M = 1e-6, 1.0


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

    def __post_init__(self) -> None:
        check_number("max_error, in meters,", self.max_error, MIN_ERROR_M, MAX_ERROR_M)
        check_integer("frame_step", self.frame_step, 1, 255)


class RateControl:
    """Chooses the coding mode from the sizes of sent packets.

    Parameters
    ----------
    bitrate : float
        Limit in bits per second, network headers included.
    coarsest : float
        Largest error in meters that rate control may choose.
    overhead : int
        Bytes of network headers per packet: 28 for IP and UDP.
    """

    def __init__(self, bitrate: float, coarsest: float = 0.02, overhead: int = 28) -> None:
        check_number("bitrate", bitrate, 1)
        check_number("coarsest, in meters,", coarsest, MIN_ERROR_M, MAX_ERROR_M)
        check_integer("overhead", overhead, 0)
        self.bitrate = bitrate
        self.coarsest = coarsest
        self.overhead = overhead
        self.level = 0
        self._sent: deque[tuple[float, int]] = deque()
        self._since = self._high = 0.0

    def update(self, size: int, time: float, max_error: float) -> Mode:
        """Return the mode of the next frames after a packet of `size` bytes at `time` seconds."""
        check_integer("size", size, 0)
        check_number("time", time)
        check_number("max_error, in meters,", max_error, MIN_ERROR_M, MAX_ERROR_M)
        self._sent.append((time, size + self.overhead))
        while self._sent[0][0] < time - WINDOW_S:
            self._sent.popleft()
        steps = mode_ladder(max_error, max(self.coarsest, max_error))
        rate = self.rate(time)
        if rate > LOW_RATE_RATIO * self.bitrate:
            self._high = time
        if (
            time - self._since >= MIN_COARSEN_INTERVAL_S
            and rate > self.bitrate
            and self.level + 1 < len(steps)
        ):
            self._change(self.level + 1, time)
        elif time - max(self._since, self._high) >= REFINE_AFTER_S and self.level:
            self._change(self.level - 1, time)
        return steps[self.level]

    def rate(self, time: float) -> float:
        """Return bits per second over the last second, or since the last mode change."""
        check_number("time", time)
        first = self._sent[0][0] if self._sent else time
        spent = min(WINDOW_S, max(time - first, MIN_COARSEN_INTERVAL_S))
        return 8 * sum(size for _, size in self._sent) / spent

    def _change(self, level: int, time: float) -> None:
        self.level, self._since, self._high = level, time, time
        self._sent.clear()


def mode_ladder(max_error: float, coarsest: float) -> list[Mode]:
    """Return the modes from best quality to lowest bit rate.

    >>> [(1000 * m.max_error, m.twist, m.frame_step) for m in mode_ladder(0.005, 0.006)]
    [(5.0, True, 1), (6.0, True, 1), (6.0, False, 1), (6.0, False, 2), (6.0, False, 4)]
    """
    errors = [max_error * f for f in ERROR_FACTORS if max_error * f < coarsest] + [coarsest]
    steps = [Mode(error) for error in errors]
    return [
        *steps,
        Mode(coarsest, False),
        *(Mode(coarsest, False, frame_step) for frame_step in FRAME_STEPS),
    ]
