"""When to show what was received: behind the sender by as much as arrivals spread."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence

import numpy as np

from mocpack import rotations
from mocpack.errors import UsageError
from mocpack.live.receiver import Pose, Receiver

JITTER_WINDOW_PACKETS = 480  # arrivals
JITTER_QUANTILE = 0.95  # of arrivals that come in time
MAX_PREDICTION_S = 0.1  # seconds; then the last guess stays
HISTORY_S = 1.0  # seconds of poses
MAX_POSES = 4096  # kept at most, since a sender may stamp any time on them
TIMESTAMP_TOLERANCE_S = 0.0005  # seconds: twice what time stamps are rounded to
OVERDUE_FRAMES = 1.5  # frames after which one that should be shown at once is guessed


class Player:
    """Gives the pose to show at any moment.

    Parameters
    ----------
    receiver : Receiver
    delay : float, optional
        Seconds behind the quickest packet; 0 shows the newest. By default what 95 of 100 packets
        need, and one frame, so that there is something to slerp to; never more than `max_delay`.
    max_delay : float
        Seconds.
    """

    def __init__(
        self, receiver: Receiver, delay: float | None = None, max_delay: float = 0.5
    ) -> None:
        if delay is not None and delay < 0:
            raise UsageError(f"delay must be at least 0 seconds, got {delay}")
        self._receiver = receiver
        self._fixed_delay = delay
        self._max_delay = max_delay
        self._latencies: deque[float] = deque(
            maxlen=JITTER_WINDOW_PACKETS
        )  # arrival minus time stamp
        self._poses: list[Pose] = []

    def receive(self, packet: bytes, now: float) -> list[Pose]:
        """Take a packet that came at `now`, in seconds of the receiver's clock."""
        poses = self._receiver.receive(packet)
        self.add_poses(poses, now)
        return poses

    def add_poses(self, poses: Sequence[Pose], now: float) -> None:
        """Take poses that the receiver has decoded, of a packet that came at `now`."""
        # who has just joined gets old frames, which says nothing of the network
        self._latencies.extend(
            now - pose.time for pose in (poses if self._latencies else poses[-1:])
        )
        self._poses.extend(poses)
        if poses:
            oldest = poses[-1].time - HISTORY_S - self.delay
            keep = bisect_right(self._poses, oldest, key=_get_time)
            self._poses = self._poses[max(0, keep - 1, len(self._poses) - MAX_POSES) :]

    @property
    def delay(self) -> float:
        """Seconds behind the quickest packet."""
        if self._fixed_delay is not None:
            return self._fixed_delay
        if not self._latencies:
            return 0.0
        spread = float(np.quantile(self._latencies, JITTER_QUANTILE)) - min(self._latencies)
        return min(spread + self._frame_time, self._max_delay)

    def at(self, now: float) -> Pose | None:
        """Return the pose to show at `now`; None before the first.

        Between two frames that follow one another it is slerped. After the last it is a guess, and
        says so; so is what stands between two frames with others missing.
        """
        if not self._poses:
            return None
        time = now - min(self._latencies) - self.delay
        after = bisect_right(self._poses, time + 1e-6, key=_get_time)
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


def _get_time(pose: Pose) -> float:
    return pose.time


def _interpolate(a: Pose, b: Pose, time: float) -> Pose:
    share = float(np.clip((time - a.time) / max(b.time - a.time, 1e-9), 0, 1))
    if share < 1e-3:
        return a
    is_exact = a.is_exact and b.is_exact and b.frame_number == a.frame_number + 1
    turns = rotations.slerp(a.rotations, b.rotations, share)
    places = (1 - share) * a.translations + share * b.translations
    return Pose(a.frame_number, time, turns, places, is_exact)
