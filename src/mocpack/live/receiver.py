"""Packets into frames, in order, whatever a network did to them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice

from mocpack import _core
from mocpack.arrays import F64
from mocpack.live.hello import Hello
from mocpack.live.packet_loss import PacketLoss
from mocpack.live.report import Report

DEFAULT_PATIENCE = 16  # frames
MAX_MISSING = 16  # of one report


class PacketStatus(IntEnum):
    """What a packet was."""

    NEW = 0
    """It brought frames that were not known."""
    REDUNDANT = 1
    """A duplicate, or too late."""
    NEEDS_KEYFRAME = 2
    """It fits nothing known: one that stands by itself is waited for."""
    DAMAGED = 3
    """Its checksum or its form is wrong."""
    OTHER_STREAM = 4
    """It belongs to another hello: another stream, or a sender that was restarted."""

    @property
    def is_good(self) -> bool:
        """Whether the packet is one of the stream, whether it is of use or not."""
        return self in (PacketStatus.NEW, PacketStatus.REDUNDANT)


@dataclass(frozen=True, eq=False)
class Pose:
    """One frame.

    Attributes
    ----------
    frame_number : int
        From 0, of the frames sent.
    time : float
        Seconds on the sender's clock.
    rotations : array, shape (J, 4)
    translations : array, shape (M, 3)
    is_exact : bool
        Whether it was received; else it is a guess, for which no bound holds.
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
    hello : Hello or bytes
    patience : int
        For how many frames one that is missing is waited for, where a later one could stand in.
        0 shows the newest at once; to show all that can be had, take the frames that the player
        is behind.

    Attributes
    ----------
    counts : Counter of Answer
        What the packets were.
    last_status : Answer
        What the last packet was.
    """

    def __init__(self, hello: Hello | bytes, patience: int = DEFAULT_PATIENCE) -> None:
        self.hello = hello if isinstance(hello, Hello) else Hello.from_bytes(hello)
        self.counts: Counter[PacketStatus] = Counter()
        self.last_status = PacketStatus.NEEDS_KEYFRAME
        self._native = _core.LiveReceiver(self.hello.model, patience)
        self._patience = patience
        self._packet_loss = PacketLoss()
        self._last: Pose | None = None

    def receive(self, packet: bytes) -> list[Pose]:
        """Return the frames that this packet makes known, in order; often one, or none."""
        newest = self._native.missing()[1]
        self.last_status = PacketStatus(self._native.receive(packet))
        self.counts[self.last_status] += 1
        if self.last_status is PacketStatus.NEW:
            self._packet_loss.count(newest, self._native.missing()[1])
        poses = []
        while (found := self._native.next()) is not None:
            number, micros, turns, places = found
            poses.append(Pose(number, micros / 1e6, turns, places))
        if poses:
            self._last = poses[-1]
        return poses

    @property
    def waiting(self) -> bool:
        """Whether a frame is missing that nothing received can stand in for."""
        return self._native.waiting()

    @property
    def last(self) -> Pose | None:
        """The newest frame decoded."""
        return self._last

    @property
    def max_error(self) -> float:
        """Metres that the last frame is promised within."""
        return self._native.mode()[0] / 1e6

    @property
    def frame_step(self) -> int:
        """Of how many frames of the source one is sent."""
        return self._native.mode()[1]

    def predict(self, ahead: int = 1) -> Pose | None:
        """Return the pose `ahead` frames after the last, if all goes on as it did."""
        found = self._native.predict(ahead)
        if found is None or self._last is None:
            return None
        time = self._last.time + ahead * self.frame_step * self.hello.header.frame_time
        return Pose(self._last.frame_number + ahead, time, *found, is_exact=False)

    def report(self) -> Report:
        """Return what the sender should know."""
        first, newest = self._native.missing()
        lost = first < 0 and (newest >= 0 or self.counts[PacketStatus.NEEDS_KEYFRAME] > 0)
        after = range(first, newest) if self.waiting and not lost else ()
        missing = tuple(islice((n for n in after if not self._native.has_frame(n)), MAX_MISSING))
        losses = self._packet_loss
        return Report(losses.rate, losses.burst, missing, lost, newest, self._patience)

    def checksum(self) -> int:
        """Return a checksum of the state, equal to the sender's after the same frame."""
        return self._native.checksum()
