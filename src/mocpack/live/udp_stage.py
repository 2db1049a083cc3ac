"""Stages of a relay over UDP: the relay's endpoint and its clients.

UDP is not encrypted. Remote hosts must be allowed explicitly and need tokens. Clients prove that
they know their token without sending it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from mocpack.errors import FormatError, UsageError
from mocpack.live.client import Event, Frame, StageDecoder, check_stage_address
from mocpack.live.datagrams import ITEMS, DatagramEndpoint, compute_proof
from mocpack.live.relay import Relay
from mocpack.live.report import (
    REPORT_INTERVAL_S,
    URGENT_REPORT_INTERVAL_S,
    read_json,
    read_report,
)
from mocpack.live.sender import Sender
from mocpack.live.stage import is_loopback, split_address
from mocpack.live.udp import (
    HELLO_INTERVAL_S,
    INITIAL_REPEATS,
    Address,
    DatagramListener,
    send_frame,
    udp_address,
)

JOIN_RETRY_S = 0.25
KEEPALIVE_S = 1.0  # a watcher without performers pings the relay this often
REJOIN_AFTER_S = 3.0  # of silence
MAX_QUEUED_BYTES = 1 << 18  # in the system's send buffer; more is dropped
NO_CHALLENGE = "0" * 32


def is_stage(url: str) -> bool:
    """Whether a UDP address names a stage of a relay, not just a host.

    >>> is_stage("udp://127.0.0.1:8420/stage/anna"), is_stage("udp://127.0.0.1:9000")
    (True, False)
    """
    return len(split_address(url).path) > 1


class UdpEndpoint(DatagramEndpoint):
    """UDP endpoint of a relay, at the relay's own port.

    Parameters
    ----------
    plain : bool
        Whether unencrypted UDP is allowed on addresses other than the loopback.
    """

    def __init__(self, relay: Relay, *, plain: bool = False) -> None:
        super().__init__(relay)
        if not (is_loopback(relay.host) or plain):
            raise UsageError(
                f"UDP on {relay.host} is not encrypted: use --plain-udp to allow it on a network "
                "that you trust"
            )
        self._transport: Any = None  # typeshed lacks get_write_buffer_size of datagram transports

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        address = (self.relay.host, self.relay.port)
        self._transport, _ = await loop.create_datagram_endpoint(
            lambda: DatagramListener(self._receive), local_addr=address
        )
        await super().open()

    def close(self) -> None:
        super().close()
        if self._transport is not None:
            self._transport.close()

    def _receive(self, data: bytes, address: Address) -> None:
        self.receive(address[:2], address[0], data, lambda answer: self._send(answer, address))

    def _send(self, data: bytes, address: Address) -> None:
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
    """Send frames to ``udp://host:port/stage/anna`` until they end; return the number sent."""
    address = check_stage_address(url, performer=True)
    connection = await _RelayConnection.open(
        url, "send", f"/{address.stage}/{address.performer}", token, plain
    )
    hello, sent = sender.hello.to_bytes(), 0
    sender.repeat = sender.repeat or INITIAL_REPEATS
    hello_sent_at = -HELLO_INTERVAL_S
    try:
        async for frame in frames:
            for message in connection.take():
                report = read_report(read_json(message))
                if report is not None:
                    sender.apply_report(report)
            if await connection.rejoin_if_needed():
                hello_sent_at = -HELLO_INTERVAL_S
                sender.request_keyframe()
            if connection.clock() - hello_sent_at >= HELLO_INTERVAL_S:
                hello_sent_at = connection.clock()
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
    """Yield the events of the stage ``udp://host:port/stage``."""
    address = check_stage_address(url, performer=False)
    connection = await _RelayConnection.open(url, role, f"/{address.stage}", token, plain)
    decoder = StageDecoder(patience)
    reported: dict[int, float] = {}
    try:
        while True:
            messages = await connection.wait(KEEPALIVE_S)
            if await connection.rejoin_if_needed():
                for event in decoder.end():
                    yield event
                decoder = StageDecoder(patience)
            for message in messages:
                for event in _decode_message(decoder, message):
                    yield event
            if not decoder.receivers:
                connection.send(json.dumps({"ping": 0}).encode())
            for number, receiver in decoder.receivers.items():
                interval = URGENT_REPORT_INTERVAL_S if receiver.waiting else REPORT_INTERVAL_S
                if connection.clock() - reported.get(number, 0.0) >= interval:
                    reported[number] = connection.clock()
                    connection.send(receiver.report().to_json(of=number))
    finally:
        connection.close()


def _decode_message(decoder: StageDecoder, message: bytes) -> list[Event]:
    try:
        if message[:1] == ITEMS:
            return decoder.decode(message[1:])
        return decoder.apply_message(read_json(message))
    except (FormatError, UsageError):
        return []  # ignore invalid datagrams, which anyone can send


class _RelayConnection:
    """A client's connection to a relay; it rejoins when the relay has dropped it."""

    def __init__(self, url: str, role: str, path: str, token: str | None) -> None:
        self.clock = asyncio.get_running_loop().time
        self._url, self._role, self._path, self._token = url, role, path, token
        self._inbox: asyncio.Queue[bytes] = asyncio.Queue(1024)
        self._transport: asyncio.DatagramTransport | None = None
        self._heard_at = self.clock()
        self._forgotten = False
        self._unread: list[bytes] = []  # messages that arrived together with the welcome

    @classmethod
    async def open(
        cls, url: str, role: str, path: str, token: str | None, plain: bool
    ) -> _RelayConnection:
        host, port = udp_address(url, plain)
        if not is_loopback(host) and not token:
            raise UsageError(f"{host} requires a token: use --token-file")
        connection = cls(url, role, path, token)
        loop = asyncio.get_running_loop()
        connection._transport, _ = await loop.create_datagram_endpoint(
            lambda: DatagramListener(connection._receive), remote_addr=(host, port)
        )
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
        """Return the messages that have arrived."""
        early, self._unread = self._unread, []
        return early + [self._inbox.get_nowait() for _ in range(self._inbox.qsize())]

    async def wait(self, seconds: float) -> list[bytes]:
        """Return the messages that have arrived, or the next one within `seconds`."""
        if self._unread:
            return self.take()
        try:
            first = await asyncio.wait_for(self._inbox.get(), seconds)
        except TimeoutError:
            return []
        return [first, *self.take()]

    async def rejoin_if_needed(self) -> bool:
        """Rejoin if the relay is silent or has dropped this client; return whether it did."""
        if not self._forgotten and self.clock() - self._heard_at < REJOIN_AFTER_S:
            return False
        await self._join()
        return True

    def close(self) -> None:
        if self._transport is not None:
            self._transport.sendto(json.dumps({"bye": True}).encode())
            self._transport.close()

    async def _join(self, tries: int = 20) -> None:
        challenge, has_answer = NO_CHALLENGE, False
        for _ in range(tries):
            self._send_join(challenge)
            end = self.clock() + JOIN_RETRY_S
            while (left := end - self.clock()) > 0:
                messages = await self.wait(left)
                for at, message in enumerate(messages, 1):
                    fields = read_json(message)
                    if fields.get("refused"):
                        raise UsageError(
                            f"{self._url} refuses the connection: {str(fields['refused'])[:200]}"
                        )
                    if fields.get("welcome") == self._path:
                        self._forgotten = False
                        self._unread = messages[at:]
                        return
                    sent = fields.get("challenge")
                    if isinstance(sent, str) and sent != challenge:
                        challenge, has_answer = sent, True
                        self._send_join(challenge)
        reason = ": the relay answers, but does not accept the client" * has_answer
        raise UsageError(f"{self._url} cannot be reached{reason}")

    def _send_join(self, challenge: str) -> None:
        proof = compute_proof(self._token, challenge, self._role, self._path)
        fields = {"join": self._path, "role": self._role, "challenge": challenge, "proof": proof}
        self.send(json.dumps(fields).encode())

    def _receive(self, data: bytes, _: Address) -> None:
        self._heard_at = self.clock()
        if data[:1] == b"{" and read_json(data).get("join") is False:
            self._forgotten = True
        elif not self._inbox.full():
            self._inbox.put_nowait(data)
