"""UDP without a relay, from one sender to one receiver.

Datagrams are hellos and packets and, in the other direction, reports as JSON. The sender repeats
its hello quickly until the first report, then every second.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from mocpack.errors import FormatError, UsageError
from mocpack.live.client import Event, Frame
from mocpack.live.hello import Hello, is_hello
from mocpack.live.receiver import Receiver
from mocpack.live.report import (
    REPORT_INTERVAL_S,
    SILENCE_TIMEOUT_S,
    URGENT_REPORT_INTERVAL_S,
    read_json,
    read_report,
)
from mocpack.live.sender import Sender
from mocpack.live.stage import is_loopback, split_address

HELLO_INTERVAL_S = 1.0
INITIAL_REPEATS = (1, 2, 3)  # until the first report tells the loss
MAX_REPORT_CREDIT_BYTES = 1 << 16
Address = tuple[str, int]
"""Host and port."""

MAX_UDP_BYTES = 65507  # payload of one datagram over IPv4


async def send_frames_udp(
    url: str, sender: Sender, frames: AsyncIterator[Frame], *, plain: bool = False
) -> int:
    """Send frames to ``udp://host:port`` until they end; return the number of frames sent."""
    address = udp_address(url, plain)
    loop = asyncio.get_running_loop()
    has_report = False

    def apply_report(data: bytes, _: Address) -> None:
        nonlocal has_report
        report = read_report(read_json(data))
        if report is not None:
            has_report = True
            sender.apply_report(report)

    transport, _ = await loop.create_datagram_endpoint(
        lambda: DatagramListener(apply_report), remote_addr=address
    )
    hello, hello_sent_at, sent = sender.hello.to_bytes(), -HELLO_INTERVAL_S, 0
    sender.repeat = sender.repeat or INITIAL_REPEATS
    if len(hello) > MAX_UDP_BYTES:
        raise UsageError(
            f"the hello of this skeleton has {len(hello)} bytes; UDP allows {MAX_UDP_BYTES}: "
            "use a ws:// address"
        )
    try:
        async for frame in frames:
            if loop.time() - hello_sent_at >= (
                HELLO_INTERVAL_S if has_report else HELLO_INTERVAL_S / 10
            ):
                hello_sent_at = loop.time()
                transport.sendto(hello)
            sent += send_frame(sender, frame, transport.sendto)
    finally:
        transport.close()
    return sent


def send_frame(sender: Sender, frame: Frame, send: Callable[[bytes], None]) -> bool:
    """Send the packet of a frame; return False if rate control dropped the frame."""
    time, rotations, translations = frame
    packet = sender.send(rotations, translations, time)
    if packet is not None:
        send(packet)
    return packet is not None


async def watch_udp(url: str, *, patience: int = 16, plain: bool = False) -> AsyncIterator[Event]:
    """Yield the events of one sender to ``udp://host:port``, until the sender is silent."""
    address = udp_address(url, plain)
    loop = asyncio.get_running_loop()
    inbox: asyncio.Queue[tuple[bytes, Address]] = asyncio.Queue(1024)

    def keep(data: bytes, peer: Address) -> None:
        if not inbox.full():  # a full queue drops datagrams, as a network would
            inbox.put_nowait((data, peer))

    transport, _ = await loop.create_datagram_endpoint(
        lambda: DatagramListener(keep), local_addr=address
    )
    receiver: Receiver | None = None
    reported, last_hello, sender = 0.0, b"", None
    credit = 0  # bytes: a sender address can be forged, so it gets no more bytes than it sent
    try:
        while True:
            wait = SILENCE_TIMEOUT_S if receiver else None
            data, peer = await asyncio.wait_for(inbox.get(), wait)
            if is_hello(data):
                if data != last_hello and (hello := _parse_hello(data)) is not None:
                    last_hello, receiver = data, Receiver(hello, patience)
                    yield Event("join", "udp", receiver)
                if data == last_hello:
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
            interval = URGENT_REPORT_INTERVAL_S if receiver.waiting else REPORT_INTERVAL_S
            if loop.time() - reported >= interval:
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


def udp_address(url: str, plain: bool) -> Address:
    """Return host and port; raise `UsageError` for a remote host unless `plain` allows it."""
    parts = split_address(url)
    host = parts.hostname or "127.0.0.1"
    if parts.port is None:
        raise UsageError(f"a UDP address needs a port, such as udp://127.0.0.1:9000, got {url}")
    if not (is_loopback(host) or plain):
        raise UsageError(
            f"UDP to {host} is neither encrypted nor authenticated: use --plain-udp to allow it "
            "on a network that you trust"
        )
    return host, parts.port


class DatagramListener(asyncio.DatagramProtocol):
    """Passes datagrams on."""

    def __init__(self, on_datagram: Callable[[bytes, Address], None]) -> None:
        self._receive = on_datagram

    def datagram_received(self, data: bytes, addr: Address) -> None:
        self._receive(data, addr)

    def error_received(self, exc: Exception) -> None:
        """Ignore errors: the peer may not listen yet, or no longer."""


def _parse_hello(data: bytes) -> Hello | None:
    try:
        return Hello.from_bytes(data)
    except (FormatError, UsageError):
        return None
