"""What a peer may ask of a relay."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What a peer may ask of a relay.

    Attributes
    ----------
    message : int
        Bytes of one message.
    rate : int
        Bytes a second of one performer.
    messages : int
        A second, of one performer.
    connections, from_one_host : int
        In all, and of one address.
    half_open : int
        Connections that have not finished their request; the oldest is closed for a new one.
    opening : float
        Seconds that asking may take, from connecting to the whole request.
    performers : int
        In all.
    behind : int
        Bytes that wait for a slow receiver before it is dropped to the newest frame.
    bad : int
        Packets that fail their checksum before a performer is sent away.
    """

    message: int = 1 << 16
    rate: int = 1 << 20
    messages: int = 2000
    connections: int = 512
    from_one_host: int = 128
    half_open: int = 128
    opening: float = 5.0
    performers: int = 64
    behind: int = 1 << 16
    bad: int = 100


@dataclass
class Budget:
    """Messages and bytes of a second."""

    limits: Limits
    second: int = 0
    bytes: int = 0
    messages: int = 0

    def take(self, size: int) -> bool:
        now = int(time.monotonic())
        if now != self.second:
            self.second, self.bytes, self.messages = now, 0, 0
        self.bytes += size
        self.messages += 1
        return self.bytes <= self.limits.rate and self.messages <= self.limits.messages
