"""What a relay keeps of a stream: the last frame that stands by itself, and all since.

Nothing is decoded; packets are checked, taken apart and put together anew.
"""

from __future__ import annotations

from itertools import islice

from mocpack import _core
from mocpack.live.hello import Hello
from mocpack.live.losses import Losses
from mocpack.live.receiver import Answer
from mocpack.live.report import Report

MOST_FRAMES = 480  # kept, so that a sender without intra frames fills no memory
MOST_BYTES = 1 << 20
MOST_MISSING = 16  # of one report

Row = tuple[int, bool, bytes]
"""Number of the frame, whether it stands by itself, its bytes."""


class Store:
    """Checks packets of a stream and keeps what a late joiner needs.

    Attributes
    ----------
    number : int
        Of the newest frame; -1 before the first.
    news : tuple of int
        Frames that the last packet made known.
    """

    def __init__(self, hello: Hello) -> None:
        self.hello = hello
        self.number = -1
        self.news: tuple[int, ...] = ()
        self._time = 0
        self._rows: dict[int, Row] = {}
        self._bytes = 0
        self._losses = Losses()
        self._start = self._tip = -1  # the frames that stand on the last intra one, without a gap

    def take(self, packet: bytes) -> Answer:
        """Keep what a packet holds."""
        near = (self.number, self._time) if self.number >= 0 else None
        answer, number, time, _, rows = _core.live_unpack(self.hello.check, packet, near)
        if answer != Answer.NEWS:
            return Answer(answer)
        self._losses.count(self.number, number)
        if number > self.number:
            self.number, self._time = number, time
        oldest_first = [(number - o, intra, data) for o, intra, data in sorted(rows, reverse=True)]
        kept = [row[0] for row in oldest_first if self._keep(*row)]
        self.news = tuple(kept)
        return Answer.NEWS if kept else Answer.KNOWN

    @property
    def ready(self) -> bool:
        """Whether a late joiner could have the newest frame."""
        return self._start >= 0 and self._tip == self.number

    def report(self) -> Report:
        """Return what the sender should know: who passes frames on waits for none."""
        lost = self.number >= 0 and self._start < 0
        # numbers leap as far as a performer likes: only the first few that are missing are listed
        after = (n for n in range(self._tip + 1, self.number) if n not in self._rows)
        missing = () if lost else tuple(islice(after, MOST_MISSING))
        losses = self._losses
        return Report(losses.share, losses.burst, missing, lost, self.number, patience=1)

    def whole(self) -> bytes | None:
        """Return a packet with all that a receiver needs to have the newest frame at once."""
        rows = self._chain()
        if not rows:
            return None
        newest = rows[-1][0]
        since = round(1e6 * self.hello.header.frame_time * max(0, self.number - newest))
        time = max(0, self._time - since)
        told = [(newest - number, intra, data) for number, intra, data in rows]
        return _core.live_pack(self.hello.check, newest, time, True, told)

    def packet(self, offsets: tuple[int, ...]) -> bytes | None:
        """Return a packet of the newest frame, with those of so many frames before it."""
        rows = [(o, *self._rows[self.number - o][1:]) for o in (0, *offsets) if self._has(o)]
        if not rows or rows[0][0]:
            return None
        return _core.live_pack(self.hello.check, self.number, self._time, rows[0][1], rows)

    def _has(self, offset: int) -> bool:
        # rows from before a leap in numbers are further back than a packet can say
        return offset <= MOST_FRAMES and self.number - offset in self._rows

    def _keep(self, number: int, intra: bool, data: bytes) -> bool:
        if number in self._rows or number < self.number - MOST_FRAMES or number < 0:
            return False
        if intra and number == self.number:
            # what stood before it is no longer needed, but for late copies of the last frames
            self._rows = {n: row for n, row in self._rows.items() if n > number - 64}
            self._bytes = sum(len(row[2]) for row in self._rows.values())
        self._rows[number] = (number, intra, data)
        self._bytes += len(data)
        if intra and number > self._start:
            self._start = self._tip = number
        while self._start >= 0 and self._tip + 1 in self._rows:
            self._tip += 1
        while self._bytes > MOST_BYTES or len(self._rows) > MOST_FRAMES:
            oldest = min(self._rows)
            self._bytes -= len(self._rows.pop(oldest)[2])
            if oldest == self._start:  # too long ago: nobody can join until the next
                self._start = self._tip = -1
        return True

    def _chain(self) -> list[Row]:
        """Return the frames from the last that stands by itself, as far as none is missing."""
        if self._start not in self._rows:
            return []
        return [self._rows[number] for number in range(self._start, self._tip + 1)]
