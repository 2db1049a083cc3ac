"""Decode packets into frames, in order, despite loss, reordering and damage."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice

from mocpack import _core
from mocpack.common.arguments import check_integer
from mocpack.common.arrays import F64
from mocpack.live.hello import Hello
from mocpack.live.packet_loss import PacketLoss
from mocpack.live.report import MAX_REPORTED, Report

DEFAULT_PATIENCE = 16  # frames
MAX_FRAMES = 1 << 30  # to wait for or to predict; the core waits and predicts for fewer


class PacketStatus(IntEnum):
    """Result of receiving a packet."""

    NEW = 0
    """The packet holds new frames."""
    REDUNDANT = 1
    """The packet is a duplicate, or too late."""
    NEEDS_KEYFRAME = 2
    """The packet cannot be decoded before a keyframe arrives."""
    DAMAGED = 3
    """The packet fails its checksum or cannot be parsed."""
    OTHER_STREAM = 4
    """The packet belongs to another hello: another stream, or a restarted sender."""

    @property
    def is_good(self) -> bool:
        """Whether the packet is an intact packet of this stream."""
        return self in (PacketStatus.NEW, PacketStatus.REDUNDANT)


@dataclass(frozen=True, eq=False)
class Pose:
    """The pose of one frame.

    Attributes
    ----------
    frame_number : int
        Number of the sent frame, from 0.
    time : float
        Seconds on the sender's clock.
    rotations : array, shape (J, 4)
    translations : array, shape (M, 3)
    is_exact : bool
        Whether the pose was received. If not, it is predicted or interpolated across missing
        frames, and the error bound does not apply.
    """

    frame_number: int
    time: float
    rotations: F64
    translations: F64
    is_exact: bool = True


class Receiver:
    """Decodes the packets of one stream.

    Parameters
    ----------
    patience : int
        Frames to wait for a missing one before skipping to a later keyframe. 0 always shows the
        newest frame. To show as many frames as possible, use the player's delay in frames.

    Attributes
    ----------
    counts : Counter of PacketStatus
        Number of packets with each status.
    last_status : PacketStatus
        Status of the last packet.
    """

    def __init__(self, hello: Hello | bytes, patience: int = DEFAULT_PATIENCE) -> None:
        self.hello = hello if isinstance(hello, Hello) else Hello.from_bytes(hello)
        self.counts: Counter[PacketStatus] = Counter()
        self.last_status = PacketStatus.NEEDS_KEYFRAME
        check_integer("patience", patience, 0, MAX_FRAMES)
        self._native = _core.LiveReceiver(self.hello.model, patience)
        self._patience = patience
        self._packet_loss = PacketLoss()
        self._last: Pose | None = None

    def receive(self, packet: bytes) -> list[Pose]:
        """Return the frames that this packet completes, in order: none, one or several."""
        newest = self._native.missing()[1]
        self.last_status = PacketStatus(self._native.receive(packet))
        self.counts[self.last_status] += 1
        if self.last_status is PacketStatus.NEW:
            self._packet_loss.count(newest, self._native.missing()[1])
        poses = []
        while (frame := self._native.next()) is not None:
            number, micros, rotations, translations = frame
            poses.append(Pose(number, micros / 1e6, rotations, translations))
        if poses:
            self._last = poses[-1]
        return poses

    @property
    def waiting(self) -> bool:
        """Whether decoding waits for a missing frame."""
        return self._native.waiting()

    @property
    def last(self) -> Pose | None:
        """Pose of the newest decoded frame."""
        return self._last

    @property
    def max_error(self) -> float:
        """Error bound of the last frame, in meters."""
        return self._native.mode()[0] / 1e6

    @property
    def frame_step(self) -> int:
        """Source frames per sent frame."""
        return self._native.mode()[1]

    def predict(self, ahead: int = 1) -> Pose | None:
        """Extrapolate the pose `ahead` frames after the last one; None before the first."""
        check_integer("ahead", ahead, 0, MAX_FRAMES)
        arrays = self._native.predict(ahead)
        if arrays is None or self._last is None:
            return None
        time = self._last.time + ahead * self.frame_step * self.hello.header.frame_time
        return Pose(self._last.frame_number + ahead, time, *arrays, is_exact=False)

    def report(self) -> Report:
        """Return a report for the sender."""
        first, newest = self._native.missing()
        lost = first < 0 and (newest >= 0 or self.counts[PacketStatus.NEEDS_KEYFRAME] > 0)
        after = range(first, newest) if self.waiting and not lost else ()
        missing = tuple(islice((n for n in after if not self._native.has_frame(n)), MAX_REPORTED))
        losses = self._packet_loss
        return Report(losses.rate, losses.burst, missing, lost, newest, self._patience)

    def checksum(self) -> int:
        """Return a checksum of the decoder state, equal to the sender's after the same frame."""
        return self._native.checksum()
