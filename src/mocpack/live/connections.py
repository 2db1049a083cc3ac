"""Count the TCP connections of a relay, and those whose request is incomplete."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mocpack.live.limits import Limits

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection


class Connections:
    """Limits the connections of a relay. Half-open connections have their own limit.

    When too many are half open, the oldest is closed. Clients that complete their request in time
    are therefore served even during a flood.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._open: dict[asyncio.Transport, None] = {}  # the oldest first
        self._half_open: dict[asyncio.Transport, None] = {}

    def __len__(self) -> int:
        return len(self._open)

    def add(self, transport: asyncio.Transport) -> None:
        """Count a new connection, which is half open until `finish_opening`."""
        self._open[transport] = self._half_open[transport] = None
        if len(self._half_open) > self._limits.max_half_open:
            self._abort(next(iter(self._half_open)))
        elif len(self._open) > self._limits.max_connections + self._limits.max_half_open:
            self._abort(transport)

    def finish_opening(self, transport: asyncio.Transport) -> None:
        """Mark a connection as open: its request is complete."""
        self._half_open.pop(transport, None)

    def remove(self, transport: asyncio.Transport) -> None:
        """Stop counting a connection."""
        self._open.pop(transport, None)
        self._half_open.pop(transport, None)

    def abort_half_open(self) -> None:
        """Close the connections whose request is incomplete."""
        for transport in [*self._half_open]:
            self._abort(transport)

    def abort_all(self) -> None:
        """Close all connections without waiting for unsent data."""
        for transport in [*self._open]:
            self._abort(transport)

    def _abort(self, transport: asyncio.Transport) -> None:
        self.remove(transport)
        transport.abort()


def make_connection_class(connections: Connections) -> type[ServerConnection]:
    """Return the class of WebSocket connections that `connections` counts."""
    from websockets.asyncio.server import ServerConnection

    class CountedConnection(ServerConnection):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            connections.add(self.transport)

        def connection_lost(self, exc: Exception | None) -> None:
            connections.remove(self.transport)
            super().connection_lost(exc)

    return CountedConnection
