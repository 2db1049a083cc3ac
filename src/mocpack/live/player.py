"""Jitter buffer: decides when to show received poses, and fills gaps."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from operator import attrgetter

import numpy as np

from mocpack.common.arguments import check_number
from mocpack.live.receiver import Pose, Receiver
from mocpack.model import rotations

JITTER_WINDOW_PACKETS = 480
JITTER_QUANTILE = 0.95  # share of packets that arrive in time
MAX_PREDICTION_S = 0.1  # the prediction stops moving after this time
HISTORY_S = 1.0  # poses are kept this long
MAX_POSES = 4096  # a sender can put any time on poses, so HISTORY_S alone does not limit them
TIMESTAMP_TOLERANCE_S = 0.0005  # twice the rounding of time stamps
OVERDUE_FRAMES = 1.5  # without delay, a frame is predicted when it is this late


class Player:
    """Returns the pose to show at any time.

    Parameters
    ----------
    delay : float, optional
        Seconds behind the fastest packet; 0 shows the newest pose. By default the 95th percentile
        of packet delay plus one frame, which interpolation needs, but at most `max_delay`.
    max_delay : float
        Seconds.
    """

    def __init__(
        self, receiver: Receiver, delay: float | None = None, max_delay: float = 0.5
    ) -> None:
        if delay is not None:
            check_number("delay", delay, 0)
        check_number("max_delay", max_delay, 0)
        self._receiver = receiver
        self._fixed_delay = delay
        self._max_delay = max_delay
        # arrival minus time stamp
        self._latencies: deque[float] = deque(maxlen=JITTER_WINDOW_PACKETS)
        self._poses: list[Pose] = []

    def receive(self, packet: bytes, now: float) -> list[Pose]:
        """Decode a packet that arrived at `now`, in seconds of the receiver's clock."""
        check_number("now", now)
        poses = self._receiver.receive(packet)
        self.add_poses(poses, now)
        return poses

    def add_poses(self, poses: Sequence[Pose], now: float) -> None:
        """Add decoded poses of a packet that arrived at `now`."""
        check_number("now", now)
        # The first packet also holds old frames. Their age says nothing about the network.
        self._latencies.extend(
            now - pose.time for pose in (poses if self._latencies else poses[-1:])
        )
        self._poses.extend(poses)
        if poses:
            oldest = poses[-1].time - HISTORY_S - self.delay
            keep = bisect_right(self._poses, oldest, key=attrgetter("time"))
            self._poses = self._poses[max(0, keep - 1, len(self._poses) - MAX_POSES) :]

    @property
    def delay(self) -> float:
        """Seconds behind the fastest packet."""
        if self._fixed_delay is not None:
            return self._fixed_delay
        if not self._latencies:
            return 0.0
        jitter = float(np.quantile(self._latencies, JITTER_QUANTILE)) - min(self._latencies)
        return min(jitter + self._frame_time, self._max_delay)

    def at(self, now: float) -> Pose | None:
        """Return the pose to show at `now`; None before the first pose.

        Between frames the pose is interpolated, after the last frame it is predicted. It is exact
        (`Pose.is_exact`) only if no frame is missing at `now`.
        """
        check_number("now", now)
        if not self._poses:
            return None
        time = now - min(self._latencies) - self.delay
        after = bisect_right(self._poses, time + 1e-6, key=attrgetter("time"))
        if after == 0:
            return self._poses[0]
        if after < len(self._poses):
            return _interpolate(self._poses[after - 1], self._poses[after], time)
        return self._predict_at(time)

    @property
    def _frame_time(self) -> float:
        return self._receiver.frame_step * self._receiver.hello.header.frame_time

    def _predict_at(self, time: float) -> Pose:
        last = self._poses[-1]
        frame_time = self._frame_time
        patience = TIMESTAMP_TOLERANCE_S if self.delay else OVERDUE_FRAMES * frame_time
        if time - last.time <= patience:
            return last
        ahead = min(time - last.time, MAX_PREDICTION_S) / frame_time
        near, far = (self._receiver.predict(int(ahead) + k) for k in (0, 1))
        assert near is not None
        assert far is not None
        part = time - (last.time + int(ahead) * frame_time)
        return _interpolate(near, far, near.time + min(part, frame_time))


def _interpolate(a: Pose, b: Pose, time: float) -> Pose:
    weight = float(np.clip((time - a.time) / max(b.time - a.time, 1e-9), 0, 1))
    if weight < 1e-3:
        return a
    is_exact = a.is_exact and b.is_exact and b.frame_number == a.frame_number + 1
    mixed = rotations.slerp(a.rotations, b.rotations, weight)
    translations = (1 - weight) * a.translations + weight * b.translations
    return Pose(a.frame_number, time, mixed, translations, is_exact)
