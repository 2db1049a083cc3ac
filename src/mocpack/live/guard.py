"""For receivers that show every frame at once: what helps where a packet is lost and none can wait.

What is lost is guessed there from the frames before. Finer frames make more guesses good; frames go
out twice that nobody could guess and, where packets are lost in runs, all: a run then takes half as
many frames, and leaves fewer to guess. Both as far as a bit rate allows, which is measured here.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from mocpack.errors import UsageError
from mocpack.live.report import Report

SHARES, SHARES_IN_RUNS = (0.6, 0.8), (0.4, 0.6, 0.8)  # of the bound, the best first
GROWTH = 0.4  # rows that are finer by a factor are larger by this power of it
GUESSABLE = 1.8  # bounds that guesses may be off by, on average, for finer frames to mend them
MOST_ERROR = 4.0  # bounds: what is off by more counts as this
FOLLOWED = 1 / 60  # of the means, a frame
FEW_LOST = 0.001
HELD = 10.0  # seconds after the last loss; what goes out twice is lost seldom
SOON = 0.5  # seconds after the last report of one who has not lost anything yet
SHORTEST = 0.001  # seconds between two frames
SAVED, OWED = 0.25, 0.15  # seconds of the rate that may be saved up, or owed
LONGEST_RUN = 16  # packets
AS_LONG = 0.75  # of the frames that a run took before: if it still takes more, copies are no help
FEW_RUNS = 3  # of which two losses in a row say nothing
HOPELESS = 120.0  # seconds until it is tried again
ENVELOPE = 11  # bytes of a packet around its row, and one more for each further row


class Guard:
    """Follows reports, guesses and the bit rate, and says how much more to give.

    Parameters
    ----------
    bits : float
        A second, up to which packets are sent twice and frames are finer, headers of the network
        included.
    bits_in_runs : float
        The same where packets are lost in runs.
    overhead : int
        Bytes that the network adds to a packet: 28 of IP and UDP.
    """

    def __init__(
        self, bits: float = 92_000, bits_in_runs: float = 152_000, overhead: int = 28
    ) -> None:
        if not bits > 0 or not bits_in_runs > 0:
            raise UsageError(f"bits must be above 0, got {bits} and {bits_in_runs} in runs")
        self.bits = bits
        self.bits_in_runs = bits_in_runs
        self.overhead = overhead
        self._run = 0  # packets that are lost in a row
        self._until = self._runs_until = self._time = 0.0
        self._doubled_from: int | None = None  # frame
        self._hopeless_until = 0.0
        self._share = 1.0
        self._off = 0.0  # bounds that guesses are off by
        self._row = 0.0  # bytes
        self._period = 0.0  # seconds between two frames
        self._saved = 0.0  # bits

    @property
    def on(self) -> bool:
        """Whether a receiver shows at once and loses packets."""
        return self._time < self._until

    @property
    def run(self) -> int:
        """How many packets may be lost in a row."""
        return self._run if self.on else 0

    @property
    def doubles(self) -> bool:
        """Whether all frames go out twice, so that a run of losses takes half as many."""
        return self.on and self._doubled_from is not None

    @property
    def budget(self) -> float:
        """Bits a second that all may take."""
        return self.bits if self._run <= 1 else self.bits_in_runs

    def share(self) -> float:
        """Return of the bound what the frames from now on should keep."""
        self._share = self._best_share() if self.on and self._off <= GUESSABLE else 1.0
        return self._share

    def heed(self, report: Report, number: int, expected: int = 0) -> None:
        """Follow a receiver's report, before frame `number` is sent.

        `expected` is how many packets are lost in a row, until some are.
        """
        if report.patience > 1 or not (expected or report.loss >= FEW_LOST):
            return
        burst = typical_run(report) or expected
        self._until = self._time + (HELD if report.loss >= FEW_LOST else SOON)
        if burst > 1:
            self._runs_until = self._until
        if self._doubled_from is not None:
            self._judge([n for first, n in report.gaps if first >= self._doubled_from])
        elif burst > 1:
            self._run = min(burst, LONGEST_RUN)
            if self._time >= self._hopeless_until:
                self._doubled_from = number
        elif self._time >= self._runs_until:
            self._run = 1

    def twice(self, size: int, off: float) -> bool:
        """Whether to send a frame twice, by a packet of `size` bytes more.

        `off` is how many bounds a receiver would be off by that lost it.
        """
        self._off += FOLLOWED * (min(off, MOST_ERROR) - self._off)
        # with all frames twice fewer need be repeated: no more bits than without
        affordable = self._saved >= 8 * (size + self.overhead)
        return self.doubles or (self.on and self._run == 1 and off > 1 and affordable)

    def sent(self, sizes: Sequence[int], row: int, time: float) -> None:
        """Count the packets of a frame, with a row of `row` bytes, at `time` seconds."""
        passed = max(0.0, time - self._time)
        saved = min(SAVED * self.budget, self._saved + self.budget * passed)
        saved -= 8 * (sum(sizes) + self.overhead * len(sizes))
        self._saved = max(-OWED * self.budget, saved)
        self._row += FOLLOWED * (row - self._row) if self._row else row
        self._period += FOLLOWED * (passed - self._period) if self._period else passed
        self._time = time

    def _best_share(self) -> float:
        shares = SHARES if self._run <= 1 else SHARES_IN_RUNS
        return next((share for share in shares if self._rate(share) <= self.budget), 1.0)

    def _rate(self, share: float) -> float:
        """Return the bits a second that frames of this share take, sent as they must be."""
        packets = 2 if self.doubles else 1
        rows = packets + max(1, self._run // packets)
        row = self._row * math.pow(self._share / share, GROWTH)
        size = packets * (self.overhead + ENVELOPE - 1) + rows * (1 + row)
        return 8 * size / max(self._period, SHORTEST)

    def _judge(self, gaps: Sequence[int]) -> None:
        """Follow the runs of losses, in frames, since all go out twice.

        A network that loses so many packets loses fewer frames by it; one that is gone for some
        time does not: there copies are in vain.
        """
        if gaps and statistics.median(gaps) > AS_LONG * self._run:
            self._doubled_from = None
            self._hopeless_until = self._time + HOPELESS
        elif gaps and max(gaps) > 1:
            self._runs_until = self._until
            self._run = min(max(self._run, 2 * int(statistics.median(gaps))), LONGEST_RUN)
        elif self._time >= self._runs_until:
            self._doubled_from = None
            self._run = 1


def typical_run(report: Report) -> int:
    """Return how many packets are lost in a row; 0 where none was.

    Losses that come one by one follow one another at times: that makes no run, unless most do.

    >>> [typical_run(Report(0.05, 2, gaps=((9, n), (40, 1), (60, 1)))) for n in (2, 5)]
    [1, 1]
    >>> typical_run(Report(0.05, 2, gaps=((9, 2),))), typical_run(Report(0.05, 5, gaps=((9, 5),)))
    (1, 5)
    """
    lengths = [n for _, n in report.gaps]
    if not lengths:
        return report.burst
    few = len(lengths) < FEW_RUNS
    in_runs = max(lengths) > FEW_RUNS - 1 if few else statistics.median(lengths) > 1
    return max(report.burst, 2) if in_runs else 1
