"""Limits of a relay, per client and in total."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of a relay.

    Attributes
    ----------
    max_message_bytes : int
        Size of one message.
    max_bytes_per_s, max_messages_per_s : int
        Data rate of one performer.
    max_connections, max_connections_per_host : int
        Connections in total, and from one address.
    max_half_open : int
        Connections with an incomplete request. A new one closes the oldest.
    opening_timeout_s : float
        Time from connecting to the complete request.
    max_performers : int
        Performers on all stages.
    max_backlog_bytes : int
        Unsent data of a slow receiver. Above it, the receiver skips to the newest frame.
    max_bad_packets : int
        Damaged packets after which a performer is disconnected.
    """

    max_message_bytes: int = 1 << 16
    max_bytes_per_s: int = 1 << 20
    max_messages_per_s: int = 2000
    max_connections: int = 512
    max_connections_per_host: int = 128
    max_half_open: int = 128
    opening_timeout_s: float = 5.0
    max_performers: int = 64
    max_backlog_bytes: int = 1 << 16
    max_bad_packets: int = 100


@dataclass
class Budget:
    """Counts the messages and bytes of the current second."""

    limits: Limits
    clock: Callable[[], float] = time.monotonic
    second: int = 0
    bytes: int = 0
    messages: int = 0

    def spend(self, size: int) -> bool:
        """Count a message of `size` bytes; return False if it exceeds the limits."""
        now = int(self.clock())
        if now != self.second:
            self.second, self.bytes, self.messages = now, 0, 0
        self.bytes += size
        self.messages += 1
        return (
            self.bytes <= self.limits.max_bytes_per_s
            and self.messages <= self.limits.max_messages_per_s
        )
