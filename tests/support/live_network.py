"""A simulated network that loses, delays, reorders, duplicates and damages packets.

It has its own clock, so nothing sleeps: `send` takes the time of a packet, `arrivals` returns the
packets that have arrived by a time.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

import numpy as np


@dataclass
class Network:
    """The properties of a simulated network; the same seed gives the same result.

    Parameters
    ----------
    loss : float
        Share of packets that are lost.
    burst : int
        How many are lost in a row.
    delay, jitter : float
        Seconds that each takes, and how much longer some do, evenly spread.
    reordered : float
        Share of packets that take `hold` seconds longer, so that later ones overtake them.
    doubled, flipped, cut : float
        Shares of packets that come twice, with one to four bits flipped, and with their end cut.
    """

    seed: int = 0
    loss: float = 0.0
    burst: int = 1
    delay: float = 0.0
    jitter: float = 0.0
    reordered: float = 0.0
    hold: float = 0.03
    doubled: float = 0.0
    flipped: float = 0.0
    cut: float = 0.0
    sent: int = 0
    sent_bytes: int = 0
    lost: int = 0
    _losing: int = 0
    _under_way: list[tuple[float, int, bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        self._order = count()

    def send(self, packet: bytes, time: float) -> None:
        """Let a packet leave at `time` seconds."""
        self.sent += 1
        self.sent_bytes += len(packet)
        if self._loses():
            self.lost += 1
            return
        for _ in range(2 if self._rng.random() < self.doubled else 1):
            late = self.delay + self.jitter * self._rng.random()
            if self._rng.random() < self.reordered:
                late += self.hold
            entry = (time + late, next(self._order), self._damaged(packet))
            heapq.heappush(self._under_way, entry)

    def arrivals(self, until: float) -> Iterator[tuple[float, bytes]]:
        """Yield the packets that arrive by `until` seconds, with their arrival times."""
        while self._under_way and self._under_way[0][0] <= until + 1e-9:
            time, _, packet = heapq.heappop(self._under_way)
            yield time, packet

    def _loses(self) -> bool:
        """Runs of `burst` packets are lost, so often that the share of all is `loss`."""
        if self._losing:
            self._losing -= 1
            return True
        free = self.burst * (1 - self.loss)
        starts = self.loss > 0 and self._rng.random() < self.loss / (free + self.loss)
        self._losing = self.burst - 1 if starts else 0
        return starts

    def _damaged(self, packet: bytes) -> bytes:
        rng, bad = self._rng, bytearray(packet)
        if rng.random() < self.flipped:
            for _ in range(rng.integers(1, 5)):
                bad[rng.integers(len(bad))] ^= 1 << int(rng.integers(8))
        if rng.random() < self.cut:
            del bad[rng.integers(len(bad)) :]
        return bytes(bad)
