"""How many packets a network loses, and in what runs."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

WINDOW_PACKETS = 480  # packets


class PacketLoss:
    """Counts frames that were missing when a later one came."""

    def __init__(self) -> None:
        self._runs: deque[int] = deque(maxlen=WINDOW_PACKETS)  # missing before each that came

    def count(self, before: int, newest: int) -> None:
        """Count a packet that brought something: the newest frame before it, and with it."""
        if before >= 0 and newest > before:
            self._runs.append(min(newest - before - 1, WINDOW_PACKETS))

    @property
    def rate(self) -> float:
        """Of packets that did not come."""
        total = sum(self._runs) + len(self._runs)
        return sum(self._runs) / total if total else 0.0

    @property
    def burst(self) -> int:
        """How many are lost in a row: nine in ten runs are no longer."""
        runs = [run for run in self._runs if run]
        return math.ceil(np.quantile(runs, 0.9)) if runs else 0
