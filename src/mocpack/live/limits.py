"""What a peer may ask of a relay."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What a peer may ask of a relay.

    Attributes
    ----------
    max_message_bytes : int
        Bytes of one message.
    max_bytes_per_s : int
        Bytes a second of one performer.
    max_messages_per_s : int
        A second, of one performer.
    max_connections, max_connections_per_host : int
        In all, and of one address.
    max_half_open : int
        Connections that have not finished their request; the oldest is closed for a new one.
    opening_timeout_s : float
        Seconds that asking may take, from connecting to the whole request.
    max_performers : int
        In all.
    max_backlog_bytes : int
        Bytes that wait for a slow receiver before it is dropped to the newest frame.
    max_bad_packets : int
        Packets that fail their checksum before a performer is sent away.
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
    """Messages and bytes of a second."""

    limits: Limits
    second: int = 0
    bytes: int = 0
    messages: int = 0

    def spend(self, size: int) -> bool:
        now = int(time.monotonic())
        if now != self.second:
            self.second, self.bytes, self.messages = now, 0, 0
        self.bytes += size
        self.messages += 1
        return (
            self.bytes <= self.limits.max_bytes_per_s
            and self.messages <= self.limits.max_messages_per_s
        )
