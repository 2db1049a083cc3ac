"""A sender, a network and a receiver on one clock: the displayed pose of every frame."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from live_network import Network
from mocpack.common.arrays import F64, Mask
from mocpack.live import Hello, Pose, Receiver, Report, Sender
from mocpack.live.rate_control import RateControl
from mocpack.model import rotations
from mocpack.model.clip import Clip
from mocpack.model.kinematics import measure_error

HEADERS = 28  # bytes of IP and UDP before each packet


@dataclass(frozen=True)
class LiveRun:
    """The displayed frames of a clip.

    Attributes
    ----------
    errors : array, shape (T,)
        Meters that the shown pose of each frame was off by; infinite before the first pose.
    is_exact : array, shape (T,)
        Whether it was received, and no guess.
    bound : float
        Meters promised.
    kbits : float
        A second, IP and UDP headers included.
    lost : float
        Share of packets that the network lost.
    """

    errors: F64
    is_exact: Mask
    bound: float
    kbits: float
    lost: float

    @property
    def within(self) -> float:
        """Share of frames that were shown within the bound, received or well guessed."""
        return float((self.errors <= self.bound * (1 + 1e-9)).mean())

    @property
    def received(self) -> float:
        """Share of frames that were received in time."""
        return float(self.is_exact.mean())

    @property
    def false(self) -> int:
        """Frames that were shown for certain and were beyond the bound."""
        return int((self.is_exact & (self.errors > self.bound * (1 + 1e-9))).sum())


def run_live(
    clip: Clip,
    network: Network,
    *,
    max_error: float = 0.005,
    repeat: Sequence[int] = (),
    keyframe_interval: int = 120,
    behind: int = 0,
    report_every: int = 0,
    report_late: int = 2,
    rate_control: RateControl | None = None,
) -> LiveRun:
    """Send a clip through a network and show it.

    Parameters
    ----------
    behind : int
        Frames that the receiver shows late, beside the network's own delay.
    report_every : int
        Every how many frames the receiver reports, and always where something is missing; 0: never.
    report_late : int
        Frames until a report is applied.
    """
    sender = Sender(
        Hello(clip.header, max_error, 1),
        repeat=repeat,
        keyframe_interval=keyframe_interval,
        rate_control=rate_control,
    )
    receiver = Receiver(sender.hello.to_bytes(), patience=max(behind, 1))
    tick = clip.header.frame_time
    known: dict[int, Pose] = {}
    shown: list[Pose | None] = []
    reports: deque[tuple[int, Report]] = deque()
    for t in range(clip.frame_count + behind):
        if t < clip.frame_count:
            sent = sender.send(clip.rotations[t], clip.translations[t])
            if sent is not None:
                network.send(sent, t * tick)
        for _, packet in network.arrivals(t * tick + network.delay):
            known |= {round(pose.time / tick): pose for pose in receiver.receive(packet)}
        if report_every and (t % report_every == 0 or receiver.waiting):
            reports.append((t + report_late, receiver.report()))
        while reports and reports[0][0] <= t:
            sender.apply_report(reports.popleft()[1])
        if t >= behind:
            shown.append(_shown(known, receiver, t - behind))
    return _measured(clip, shown, network, max_error)


def _shown(known: dict[int, Pose], receiver: Receiver, frame: int) -> Pose | None:
    if frame in known:
        return known[frame]
    before = max((k for k in known if k < frame), default=None)
    after = min((k for k in known if k > frame), default=None)
    for old in [k for k in known if before is not None and k < before - 64]:
        del known[old]
    if before is None:
        return None
    if after is None:
        return receiver.predict(max(1, round((frame - before) / receiver.frame_step)))
    a, b, share = known[before], known[after], (frame - before) / (after - before)
    turns = rotations.slerp(a.rotations, b.rotations, share)
    places = (1 - share) * a.translations + share * b.translations
    return Pose(frame, 0.0, turns, places, is_exact=False)


def _measured(
    clip: Clip,
    shown: list[Pose | None],
    network: Network,
    max_error: float,
) -> LiveRun:
    errors = np.full(clip.frame_count, np.inf)
    at = [t for t, pose in enumerate(shown) if pose is not None]
    if at:
        poses = [pose for pose in shown if pose is not None]
        found = measure_error(
            clip.skeleton,
            (np.ascontiguousarray(clip.rotations[at]), np.ascontiguousarray(clip.translations[at])),
            (np.array([p.rotations for p in poses]), np.array([p.translations for p in poses])),
            clip.header.translated_joints,
        )
        errors[at] = found.frames
    is_exact = np.array([pose is not None and pose.is_exact for pose in shown])
    seconds = clip.frame_count * clip.header.frame_time
    kbits = 8 * (network.sent_bytes + HEADERS * network.sent) / seconds / 1000
    lost = network.lost / max(1, network.sent)
    return LiveRun(errors, is_exact, max_error, kbits, lost)
