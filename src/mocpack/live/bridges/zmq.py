"""ZMQ bridge: the JSON of `messages` over PUB and SUB sockets.

A publisher repeats the skeleton every second, for subscribers that join later.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from mocpack.common.optional_packages import require
from mocpack.errors import UsageError
from mocpack.live.bridges.messages import (
    format_frame,
    format_header,
    is_header,
    read_frame,
    read_header,
)
from mocpack.live.client import Frame
from mocpack.live.stage import split_address
from mocpack.model.clip import ClipHeader

HEADER_INTERVAL_S = 1.0


class ZmqSource:
    """Subscribes to ``zmq://host:port``."""

    def __init__(self, address: str) -> None:
        require("zmq", extra="live", purpose="a ZMQ stream")
        import zmq.asyncio

        self._socket = zmq.asyncio.Context.instance().socket(zmq.SUB)
        self._socket.setsockopt(zmq.SUBSCRIBE, b"")
        self._socket.setsockopt(zmq.MAXMSGSIZE, 1 << 20)
        self._socket.setsockopt(zmq.RCVHWM, 256)
        self._socket.connect(_to_tcp_address(address))

    async def header(self) -> ClipHeader:
        while True:
            message = await self._socket.recv()
            if is_header(message):
                return read_header(message)

    async def frames(self, header: ClipHeader) -> AsyncIterator[Frame]:
        while True:
            message = await self._socket.recv()
            if not is_header(message):
                yield read_frame(message, header)

    def close(self) -> None:
        self._socket.close(0)


class ZmqSink:
    """Publishes at ``zmq://host:port``."""

    def __init__(self, address: str) -> None:
        require("zmq", extra="live", purpose="a ZMQ stream")
        import zmq

        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.PUB)
        self._socket.setsockopt(zmq.SNDHWM, 64)
        self._socket.bind(_to_tcp_address(address))
        self._header_sent_at = -HEADER_INTERVAL_S

    def show(self, header: ClipHeader, frame: Frame) -> None:
        if not 0 <= frame[0] - self._header_sent_at < HEADER_INTERVAL_S:
            self._header_sent_at = frame[0]
            self._socket.send_string(format_header(header))
        self._socket.send_string(format_frame(frame))

    def close(self) -> None:
        self._socket.close(100)


def _to_tcp_address(address: str) -> str:
    """Return the address in ZMQ's form, ``tcp://host:port``."""
    if split_address(address).port is None:
        raise UsageError(f"a ZMQ address needs a port, such as zmq://127.0.0.1:5556, got {address}")
    return address.replace("zmq://", "tcp://", 1)
