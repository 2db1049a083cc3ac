"""Straight over UDP, from one machine to another of a local network, with reports back.

Datagrams are hellos, packets and, the other way, reports as JSON. The hello goes out until somebody
answers, and every second again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from mocpack.errors import FormatError, UsageError
from mocpack.live.address import split_address
from mocpack.live.client import Event, Frame
from mocpack.live.hello import Hello, is_hello
from mocpack.live.receiver import Receiver
from mocpack.live.report import read_json, read_report
from mocpack.live.sender import Sender
from mocpack.live.stage import is_loopback

HELLO_INTERVAL_S = 1.0  # seconds between two hellos
REPORT_INTERVAL_S = 0.05  # seconds between two reports
URGENT_REPORT_INTERVAL_S = 0.005  # where something is missing
INITIAL_REPEATS = (1, 2, 3)  # repeated until reports tell what the network needs
MAX_REPORT_CREDIT_BYTES = 1 << 16  # bytes of reports that a sender may have at once
SILENCE_TIMEOUT_S = 5.0  # seconds after which a sender is taken to have left


async def send_frames_udp(
    url: str, sender: Sender, frames: AsyncIterator[Frame], *, plain: bool = False
) -> int:
    """Send frames to ``udp://host:port`` until they end; return how many were sent."""
    address = udp_address(url, plain)
    loop = asyncio.get_running_loop()
    listener = _ReportListener(sender)
    transport, _ = await loop.create_datagram_endpoint(lambda: listener, remote_addr=address)
    hello, told, sent = sender.hello.to_bytes(), -HELLO_INTERVAL_S, 0
    sender.repeat = sender.repeat or INITIAL_REPEATS
    if len(hello) > 65507:
        raise UsageError(f"the hello of this skeleton has {len(hello)} bytes: too many for UDP")
    try:
        async for frame in frames:
            if loop.time() - told >= (
                HELLO_INTERVAL_S if listener.has_report else HELLO_INTERVAL_S / 10
            ):
                told = loop.time()
                transport.sendto(hello)
            sent += send_frame(sender, frame, transport.sendto)
    finally:
        transport.close()
    return sent


def send_frame(sender: Sender, frame: Frame, send: Callable[[bytes], None]) -> bool:
    """Send a frame's packet; return whether the sender made one."""
    time, turns, places = frame
    packet = sender.send(turns, places, time)
    if packet is not None:
        send(packet)
    return packet is not None


async def watch_udp(url: str, *, patience: int = 16, plain: bool = False) -> AsyncIterator[Event]:
    """Yield what comes to ``udp://host:port``, from one sender; it ends when they fall silent."""
    address = udp_address(url, plain)
    loop = asyncio.get_running_loop()
    inbox: asyncio.Queue[tuple[bytes, Any]] = asyncio.Queue(1024)
    transport, _ = await loop.create_datagram_endpoint(lambda: _Inbox(inbox), local_addr=address)
    receiver: Receiver | None = None
    reported, before, sender = 0.0, b"", None
    credit = 0  # bytes that may be sent: an address may be forged, so it gets no more than it sent
    try:
        while True:
            wait = SILENCE_TIMEOUT_S if receiver else None
            data, peer = await asyncio.wait_for(inbox.get(), wait)
            if is_hello(data):
                if data != before and (found := _parse_hello(data)) is not None:
                    before, receiver = data, Receiver(found, patience)
                    yield Event("join", "udp", receiver)
                if data == before:
                    credit = credit + len(data) if peer == sender else len(data)
                    sender = peer
                continue
            if receiver is None or peer != sender:
                continue
            poses = receiver.receive(data)
            if not receiver.last_status.is_good:
                continue
            credit = min(credit + len(data), MAX_REPORT_CREDIT_BYTES)
            yield Event("packet", "udp", receiver, packet=data)
            for pose in poses:
                yield Event("pose", "udp", receiver, pose)
            soon = URGENT_REPORT_INTERVAL_S if receiver.waiting else REPORT_INTERVAL_S
            if loop.time() - reported >= soon:
                report = receiver.report().to_json()
                if len(report) <= credit:
                    reported = loop.time()
                    credit -= len(report)
                    transport.sendto(report, peer)
    except TimeoutError:
        if receiver is not None:
            yield Event("leave", "udp", receiver)
    finally:
        transport.close()


def udp_address(url: str, plain: bool) -> tuple[str, int]:
    """Return host and port; off the loopback only by word, since nothing is encrypted."""
    parts = split_address(url)
    host = parts.hostname or "127.0.0.1"
    if parts.port is None:
        raise UsageError(f"name a port, as in udp://127.0.0.1:9000, got {url}")
    if not (is_loopback(host) or plain):
        raise UsageError(
            f"UDP is neither encrypted nor asks who sends: --plain-udp says that you know, for "
            f"{host} on a network of your own"
        )
    return host, parts.port


class _Inbox(asyncio.DatagramProtocol):
    def __init__(self, inbox: asyncio.Queue[tuple[bytes, Any]]) -> None:
        self._inbox = inbox

    def datagram_received(self, data: bytes, addr: Any) -> None:
        if not self._inbox.full():  # what nobody takes in time is lost, as on any network
            self._inbox.put_nowait((data, addr))


class _ReportListener(asyncio.DatagramProtocol):
    """Heeds reports."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self.has_report = False

    def datagram_received(self, data: bytes, addr: Any) -> None:
        report = read_report(read_json(data))
        if report is not None:
            self.has_report = True
            self._sender.apply_report(report)

    def error_received(self, exc: Exception) -> None:
        """Nobody listens yet: that is no reason to stop."""


def _parse_hello(data: bytes) -> Hello | None:
    try:
        return Hello.from_bytes(data)
    except (FormatError, UsageError):
        return None
