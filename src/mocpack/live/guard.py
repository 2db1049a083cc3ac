"""For receivers that show every frame at once: what helps where a packet is lost and none can wait.

What is lost is guessed there from the frames before. Finer frames make more guesses good; frames
that nobody could guess go out twice, as far as a bit rate allows.
"""

from __future__ import annotations

from mocpack.errors import UsageError
from mocpack.live.report import Report

FINER, FINER_IN_RUNS = 0.6, 0.4  # of the bound; in runs of losses guesses must reach further
GUESSABLE = 1.8  # bounds that guesses may be off by, on average, for finer frames to mend them
MOST_ERROR = 4.0  # bounds: what is off by more counts as this
FOLLOWED = 1 / 60  # of the mean, a frame
FEW_LOST = 0.001
HELD = 10.0  # seconds after the last loss; what goes out twice is lost seldom
SHORTEST = 0.001  # seconds between two packets
RUNS = 1.7  # times the bits, that repeats for runs of losses may take before frames stay coarse
SAVED = 0.25  # seconds of the rate that may be saved up, or owed


class Guard:
    """Follows reports and guesses, and says how much more to give.

    Parameters
    ----------
    bits : float
        A second, up to which packets are sent twice and frames are finer, headers of the network
        included; where packets are lost in runs, 1.7 times as many for finer frames.
    overhead : int
        Bytes that the network adds to a packet: 28 of IP and UDP.
    """

    def __init__(self, bits: float = 96_000, overhead: int = 28) -> None:
        if not bits > 0:
            raise UsageError(f"bits must be above 0, got {bits}")
        self.bits = bits
        self.overhead = overhead
        self._single = True  # packets are lost one by one, not in runs
        self._until = self._time = 0.0
        self._mean = 0.0  # bounds that guesses are off by
        self._saved = 0.0  # bits
        self._rate = 0.0  # bits a second, without second copies

    @property
    def on(self) -> bool:
        """Whether a receiver shows at once and loses packets."""
        return self._time < self._until

    @property
    def share(self) -> float:
        """Of the bound, that frames should keep."""
        most = self.bits * (1 if self._single else RUNS)
        if not self.on or self._mean > GUESSABLE or self._rate > most:
            return 1.0
        return FINER if self._single else FINER_IN_RUNS

    def heed(self, report: Report) -> None:
        """Follow a receiver's report."""
        if report.patience <= 1 and report.loss >= FEW_LOST:
            self._until = self._time + HELD
            self._single = report.burst <= 1

    def twice(self, size: int, time: float, off: float) -> bool:
        """Whether to send a packet of `size` bytes twice, at `time` seconds.

        `off` is how many bounds a receiver would be off by that lost it.
        """
        cost = 8 * (size + self.overhead)
        most, passed = SAVED * self.bits, max(0.0, time - self._time)
        self._saved = max(-most, min(most, self._saved + self.bits * passed) - cost)
        self._rate += FOLLOWED * (cost / max(passed, SHORTEST) - self._rate)
        self._time = time
        self._mean += FOLLOWED * (min(off, MOST_ERROR) - self._mean)
        if not (self.on and self._single and off > 1 and self._saved >= cost):
            return False
        self._saved -= cost
        return True
