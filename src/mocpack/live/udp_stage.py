"""Stages of a relay over UDP: the relay's door, performers and audiences.

Nothing is encrypted: off the loopback it must be asked for, and tokens are needed, which are shown
to be known, never said.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from mocpack.errors import FormatError, UsageError
from mocpack.live.address import split_address
from mocpack.live.client import Event, Frame, StageDecoder, check_stage_address
from mocpack.live.datagrams import (
    ITEMS,
    REPORT_INTERVAL_S,
    URGENT_REPORT_INTERVAL_S,
    DatagramEndpoint,
    compute_proof,
)
from mocpack.live.relay import Relay
from mocpack.live.report import read_json, read_report
from mocpack.live.sender import Sender
from mocpack.live.stage import is_loopback
from mocpack.live.udp import HELLO_INTERVAL_S, INITIAL_REPEATS, send_frame, udp_address

JOIN_RETRY_S = 0.25  # seconds between two tries to come in
KEEPALIVE_S = 1.0  # seconds after which one who has nothing to say says so
REJOIN_AFTER_S = 3.0  # seconds after which a relay is asked to let one in again
MAX_QUEUED_BYTES = 1 << 18  # bytes; what the system does not take is lost, as on any network
NO_CHALLENGE = "0" * 32


def is_stage(url: str) -> bool:
    """Whether a UDP address names a stage of a relay, and not another machine alone.

    >>> is_stage("udp://127.0.0.1:8420/stage/anna"), is_stage("udp://127.0.0.1:9000")
    (True, False)
    """
    return len(split_address(url).path) > 1


class UdpEndpoint(DatagramEndpoint):
    """Lets peers onto the stages of a relay by UDP, at the relay's own port.

    Parameters
    ----------
    relay : Relay
    plain : bool
        Whether it may listen off the loopback, though nothing is encrypted.
    """

    def __init__(self, relay: Relay, *, plain: bool = False) -> None:
        super().__init__(relay)
        if not (is_loopback(relay.host) or plain):
            raise UsageError(
                f"UDP is not encrypted: --plain-udp says that you know, for {relay.host} on a "
                "network of your own"
            )
        self._transport: Any = None  # typeshed knows no write buffer of datagrams

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        address = (self._relay.host, self._relay.port)
        made = loop.create_datagram_endpoint(
            lambda: _DatagramListener(self._receive), local_addr=address
        )
        self._transport, _ = await made
        await super().open()

    def close(self) -> None:
        super().close()
        if self._transport is not None:
            self._transport.close()

    def _receive(self, data: bytes, address: Any) -> None:
        self.receive(address[:2], address[0], data, lambda said: self._send(said, address))

    def _send(self, data: bytes, address: Any) -> None:
        transport = self._transport
        if transport is not None and transport.get_write_buffer_size() < MAX_QUEUED_BYTES:
            transport.sendto(data, address)


async def send_frames_udp_stage(
    url: str,
    sender: Sender,
    frames: AsyncIterator[Frame],
    *,
    token: str | None = None,
    plain: bool = False,
) -> int:
    """Send frames to ``udp://host:port/stage/anna`` until they end; return how many were sent."""
    place = check_stage_address(url, performer=True)
    connection = await _RelayConnection.open(
        url, "send", f"/{place.stage}/{place.performer}", token, plain
    )
    hello, sent = sender.hello.to_bytes(), 0
    sender.repeat = sender.repeat or INITIAL_REPEATS
    told = -HELLO_INTERVAL_S
    try:
        async for frame in frames:
            for message in connection.take():
                report = read_report(read_json(message))
                if report is not None:
                    sender.apply_report(report)
            if await connection.rejoin_if_needed():
                told = -HELLO_INTERVAL_S
                sender.request_keyframe()
            if connection.clock() - told >= HELLO_INTERVAL_S:
                told = connection.clock()
                connection.send(hello)
            sent += send_frame(sender, frame, connection.send)
    finally:
        connection.close()
    return sent


async def watch_udp_stage(
    url: str,
    *,
    token: str | None = None,
    role: str = "watch",
    patience: int = 16,
    plain: bool = False,
) -> AsyncIterator[Event]:
    """Yield what happens on the stage ``udp://host:port/stage``."""
    place = check_stage_address(url, performer=False)
    connection = await _RelayConnection.open(url, role, f"/{place.stage}", token, plain)
    audience = StageDecoder(patience)
    reported: dict[int, float] = {}
    try:
        while True:
            messages = await connection.wait(KEEPALIVE_S)
            if await connection.rejoin_if_needed():
                for event in audience.end():
                    yield event
                audience = StageDecoder(patience)
            for message in messages:
                for event in _decode_message(audience, message):
                    yield event
            if not audience.receivers:
                connection.send(json.dumps({"ping": 0}).encode())
            for number, receiver in audience.receivers.items():
                soon = URGENT_REPORT_INTERVAL_S if receiver.waiting else REPORT_INTERVAL_S
                if connection.clock() - reported.get(number, 0.0) >= soon:
                    reported[number] = connection.clock()
                    connection.send(receiver.report().to_json(of=number))
    finally:
        connection.close()


def _decode_message(audience: StageDecoder, message: bytes) -> list[Event]:
    try:
        if message[:1] == ITEMS:
            return audience.decode(message[1:])
        return audience.apply_message(read_json(message))
    except (FormatError, UsageError):
        return []  # what is no message is lost, as on any network


class _DatagramListener(asyncio.DatagramProtocol):
    def __init__(self, came: Callable[[bytes, Any], None]) -> None:
        self._receive = came

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self._receive(data, addr)

    def error_received(self, exc: Exception) -> None:
        """Nobody listens yet, or any more: that is no reason to stop."""


class _RelayConnection:
    """The way to a relay: comes in, and comes in again after the relay has forgotten us."""

    def __init__(self, url: str, role: str, path: str, token: str | None) -> None:
        self.clock = asyncio.get_running_loop().time
        self._url, self._role, self._path, self._token = url, role, path, token
        self._inbox: asyncio.Queue[bytes] = asyncio.Queue(1024)
        self._transport: asyncio.DatagramTransport | None = None
        self._heard_at = self.clock()
        self._forgotten = False
        self._unread: list[bytes] = []  # what came behind the welcome

    @classmethod
    async def open(
        cls, url: str, role: str, path: str, token: str | None, plain: bool
    ) -> _RelayConnection:
        host, port = udp_address(url, plain)
        if not is_loopback(host) and not token:
            raise UsageError(f"{host} asks for a token: give --token-file")
        connection = cls(url, role, path, token)
        loop = asyncio.get_running_loop()
        made = loop.create_datagram_endpoint(
            lambda: _DatagramListener(connection._receive), remote_addr=(host, port)
        )
        connection._transport, _ = await made
        try:
            await connection._join()
        except BaseException:
            connection.close()
            raise
        return connection

    def send(self, data: bytes) -> None:
        assert self._transport is not None
        self._transport.sendto(data)

    def take(self) -> list[bytes]:
        """Return what has come."""
        early, self._unread = self._unread, []
        return early + [self._inbox.get_nowait() for _ in range(self._inbox.qsize())]

    async def wait(self, seconds: float) -> list[bytes]:
        """Return what has come, or what comes first."""
        if self._unread:
            return self.take()
        try:
            first = await asyncio.wait_for(self._inbox.get(), seconds)
        except TimeoutError:
            return []
        return [first, *self.take()]

    async def rejoin_if_needed(self) -> bool:
        """Come in again if the relay is silent, or knows us no more; whether that was needed."""
        if not self._forgotten and self.clock() - self._heard_at < REJOIN_AFTER_S:
            return False
        await self._join()
        return True

    def close(self) -> None:
        if self._transport is not None:
            self._transport.sendto(json.dumps({"bye": True}).encode())
            self._transport.close()

    async def _join(self, tries: int = 20) -> None:
        challenge, asked = NO_CHALLENGE, False
        for _ in range(tries):
            self._send_join(challenge)
            end = self.clock() + JOIN_RETRY_S
            while (left := end - self.clock()) > 0:
                messages = await self.wait(left)
                for at, message in enumerate(messages, 1):
                    told = read_json(message)
                    if told.get("refused"):
                        raise UsageError(f"{self._url} refuses: {str(told['refused'])[:200]}")
                    if told.get("welcome") == self._path:
                        self._forgotten = False
                        self._unread = messages[at:]
                        return
                    if isinstance(told.get("challenge"), str) and told["challenge"] != challenge:
                        challenge, asked = told["challenge"], True
                        self._send_join(challenge)
        raise UsageError(f"{self._url} cannot be reached{': it does not let in' * asked}")

    def _send_join(self, challenge: str) -> None:
        proof = compute_proof(self._token, challenge, self._role, self._path)
        words = {"join": self._path, "role": self._role, "challenge": challenge, "proof": proof}
        self.send(json.dumps(words).encode())

    def _receive(self, data: bytes, _: Any) -> None:
        self._heard_at = self.clock()
        if data[:1] == b"{" and read_json(data).get("join") is False:
            self._forgotten = True
        elif not self._inbox.full():
            self._inbox.put_nowait(data)
