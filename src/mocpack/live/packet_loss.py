"""Measure packet loss: the share of lost packets, and the length of loss bursts."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

WINDOW_PACKETS = 480


class PacketLoss:
    """Counts the frames that are missing when a later one arrives."""

    def __init__(self) -> None:
        self._runs: deque[int] = deque(maxlen=WINDOW_PACKETS)  # frames missing before each packet

    def count(self, before: int, newest: int) -> None:
        """Count a new packet; `before` and `newest` are the newest frames before and after it."""
        if before >= 0 and newest > before:
            self._runs.append(min(newest - before - 1, WINDOW_PACKETS))

    @property
    def rate(self) -> float:
        """Share of packets that were lost."""
        total = sum(self._runs) + len(self._runs)
        return sum(self._runs) / total if total else 0.0

    @property
    def burst(self) -> int:
        """90th percentile of the number of packets lost in a row."""
        runs = [run for run in self._runs if run]
        return math.ceil(np.quantile(runs, 0.9)) if runs else 0
