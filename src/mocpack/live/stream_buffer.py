"""Buffer of a stream in a relay: the last keyframe and all frames since.

The relay does not decode. It checks packets, splits them into rows and combines rows into new
packets.
"""

from __future__ import annotations

from itertools import islice

from mocpack import _core
from mocpack.live.hello import Hello
from mocpack.live.packet_loss import PacketLoss
from mocpack.live.receiver import PacketStatus
from mocpack.live.report import MAX_REPORTED, Report

MAX_FRAMES = 480  # limits memory if a sender sends no keyframes
MAX_BYTES = 1 << 20

Row = tuple[int, bool, bytes]
"""Frame number, whether it is a keyframe, bytes."""


class StreamBuffer:
    """Checks the packets of a stream and keeps what a new receiver needs.

    Attributes
    ----------
    newest : int
        Number of the newest frame; -1 before the first.
    new_frames : tuple of int
        Frames that the last packet added.
    """

    def __init__(self, hello: Hello) -> None:
        self.hello = hello
        self.newest = -1
        self.new_frames: tuple[int, ...] = ()
        self._time = 0
        self._rows: dict[int, Row] = {}
        self._bytes = 0
        self._packet_loss = PacketLoss()
        # the last keyframe, and the last frame that follows it without a gap
        self._keyframe = self._last_decodable = -1

    def add(self, packet: bytes) -> PacketStatus:
        """Add the frames of a packet."""
        near = (self.newest, self._time) if self.newest >= 0 else None
        answer, number, time, _, rows = _core.live_unpack(self.hello.checksum, packet, near)
        if answer != PacketStatus.NEW:
            return PacketStatus(answer)
        self._packet_loss.count(self.newest, number)
        if number > self.newest:
            self.newest, self._time = number, time
        oldest_first = [
            (number - o, is_keyframe, data) for o, is_keyframe, data in sorted(rows, reverse=True)
        ]
        added = [row[0] for row in oldest_first if self._add_row(*row)]
        self.new_frames = tuple(added)
        return PacketStatus.NEW if added else PacketStatus.REDUNDANT

    @property
    def is_ready(self) -> bool:
        """Whether a new receiver could decode the newest frame."""
        return self._keyframe >= 0 and self._last_decodable == self.newest

    def report(self) -> Report:
        """Return a report for the sender. A relay forwards frames without waiting."""
        lost = self.newest >= 0 and self._keyframe < 0
        # A performer can skip any number of frames, so only the first missing ones are listed.
        after = (n for n in range(self._last_decodable + 1, self.newest) if n not in self._rows)
        missing = () if lost else tuple(islice(after, MAX_REPORTED))
        losses = self._packet_loss
        return Report(losses.rate, losses.burst, missing, lost, self.newest, patience=1)

    def snapshot(self) -> bytes | None:
        """Return a packet with all rows that a new receiver needs to decode the newest frame."""
        if self._keyframe not in self._rows:
            return None
        rows = [self._rows[n] for n in range(self._keyframe, self._last_decodable + 1)]
        newest = rows[-1][0]
        since = round(1e6 * self.hello.header.frame_time * max(0, self.newest - newest))
        time = max(0, self._time - since)
        parts = [(newest - number, is_keyframe, data) for number, is_keyframe, data in rows]
        return _core.live_pack(self.hello.checksum, newest, time, True, parts)

    def packet(self, offsets: tuple[int, ...]) -> bytes | None:
        """Return a packet of the newest frame and the frames at `offsets` before it."""
        rows = [(o, *self._rows[self.newest - o][1:]) for o in (0, *offsets) if self._has_row(o)]
        if not rows or rows[0][0]:
            return None
        return _core.live_pack(self.hello.checksum, self.newest, self._time, rows[0][1], rows)

    def _has_row(self, offset: int) -> bool:
        # after a jump in frame numbers, older rows are too far back for the packet format
        return offset <= MAX_FRAMES and self.newest - offset in self._rows

    def _add_row(self, number: int, is_keyframe: bool, data: bytes) -> bool:
        if number in self._rows or number < self.newest - MAX_FRAMES or number < 0:
            return False
        if is_keyframe and number == self.newest:
            # older rows are only needed to recognize late copies of the last frames
            self._rows = {n: row for n, row in self._rows.items() if n > number - 64}
            self._bytes = sum(len(row[2]) for row in self._rows.values())
        self._rows[number] = (number, is_keyframe, data)
        self._bytes += len(data)
        if is_keyframe and number > self._keyframe:
            self._keyframe = self._last_decodable = number
        while self._keyframe >= 0 and self._last_decodable + 1 in self._rows:
            self._last_decodable += 1
        while self._bytes > MAX_BYTES or len(self._rows) > MAX_FRAMES:
            oldest = min(self._rows)
            self._bytes -= len(self._rows.pop(oldest)[2])
            if oldest == self._keyframe:  # no receiver can join until the next keyframe
                self._keyframe = self._last_decodable = -1
        return True
