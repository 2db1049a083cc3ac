"""WebSocket clients of a relay: send frames or watch a stage. Both reconnect by themselves."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mocpack.common.arrays import F64
from mocpack.common.json_object import JsonObject, is_object
from mocpack.common.optional_packages import require
from mocpack.errors import UsageError
from mocpack.live.hello import Hello, is_hello
from mocpack.live.receiver import Pose, Receiver
from mocpack.live.report import read_json
from mocpack.live.sender import Sender
from mocpack.live.stage import StageAddress, check_secure, subprotocols, unpack_items

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection, connect

Frame = tuple[float, F64, F64]
"""Seconds on the sender's clock, rotations (J, 4), translations (M, 3)."""

RETRY_AFTER_S, MAX_RETRY_AFTER_S = 0.1, 5.0  # before reconnecting; doubles with each failure


@dataclass(frozen=True)
class Event:
    """An event on a stage.

    Attributes
    ----------
    kind : str
        "join", "packet", "pose" or "leave". The poses of a packet follow it.
    name : str
        Name of the performer.
    receiver : Receiver
        Receiver of the performer's stream.
    """

    kind: str
    name: str
    receiver: Receiver
    pose: Pose | None = None
    packet: bytes = b""


async def send_frames(
    url: str,
    sender: Sender,
    frames: AsyncIterator[Frame],
    *,
    token: str | None = None,
    tls: ssl.SSLContext | None = None,
    tries: int = 20,
    on_retry: Callable[[str], None] = lambda message: None,
) -> int:
    """Send frames to a relay until they end; return the number of frames sent.

    After a lost connection the client reconnects. It calls `on_retry` with a message when the first
    attempt fails, and gives up after `tries` failures in a row. Frames that arrive while it is
    disconnected are dropped, since they would be late.
    """
    check_secure(url, token)
    check_stage_address(url, performer=True)
    frame_sender = _FrameSender(sender, frames)
    failed = 0
    try:
        while True:
            try:
                async with _connect(url, "send", token, tls) as connection:
                    failed = 0
                    await frame_sender.run(connection)
                    return frame_sender.sent
            except _connection_errors() as error:
                failed = _count_failure(url, error, failed, tries, on_retry)
                await _wait_to_retry(failed)
    finally:
        frame_sender.cancel()


class _FrameSender:
    """Sends frames to a relay, over one connection after another."""

    def __init__(self, sender: Sender, frames: AsyncIterator[Frame]) -> None:
        self.sent = 0
        self._sender, self._frames = sender, frames
        self._next: asyncio.Task[Frame] | None = None

    async def run(self, connection: ClientConnection) -> None:
        """Send until the frames end. A lost connection raises, and keeps the next frame."""
        await connection.send(self._sender.hello.to_bytes())
        self._sender.request_keyframe()
        listening = asyncio.ensure_future(_follow_requests(connection, self._sender))
        try:
            while True:
                self._next = self._next or asyncio.ensure_future(anext(self._frames))
                await asyncio.wait({self._next, listening}, return_when=asyncio.FIRST_COMPLETED)
                if listening.done():
                    listening.result()
                time, rotations, translations = self._next.result()
                self._next = None
                packet = self._sender.send(rotations, translations, time)
                if packet is not None:
                    await connection.send(packet)
                    self.sent += 1
        except StopAsyncIteration:
            return
        finally:
            listening.cancel()

    def cancel(self) -> None:
        if self._next is not None:
            self._next.cancel()


async def watch(
    url: str,
    *,
    token: str | None = None,
    role: str = "watch",
    tls: ssl.SSLContext | None = None,
    patience: int = 0,
    tries: int = 20,
    on_retry: Callable[[str], None] = lambda message: None,
) -> AsyncIterator[Event]:
    """Yield the events of a stage: performers that join or leave, their packets and poses.

    The client reconnects like `send_frames`.
    """
    check_secure(url, token)
    check_stage_address(url, performer=False)
    failed = 0
    while True:
        decoder = StageDecoder(patience)
        try:
            async with _connect(url, role, token, tls) as connection:
                failed = 0
                async for message in connection:
                    for event in decoder.decode(message):
                        yield event
            raise ConnectionResetError("the relay closed the stage")
        except _connection_errors() as error:
            for event in decoder.end():
                yield event
            failed = _count_failure(url, error, failed, tries, on_retry)
            await _wait_to_retry(failed)


class StageDecoder:
    """Decodes the messages of a relay into events.

    Attributes
    ----------
    receivers : dict of int to Receiver
        Receivers of the performers on the stage, by the relay's id of the performer.
    """

    def __init__(self, patience: int) -> None:
        self.receivers: dict[int, Receiver] = {}
        self._patience = patience
        self._names: dict[int, str] = {}
        self._hellos: dict[int, bytes] = {}

    def decode(self, message: str | bytes) -> list[Event]:
        """Return the events of a message: JSON text, or binary hellos and packets."""
        if isinstance(message, str):
            return self.apply_message(read_json(message))
        events = []
        for performer_id, data in unpack_items(message):
            if is_hello(data):
                # The relay repeats hellos. A performer without a name yet gets one before the next.
                if performer_id in self._names and data != self._hellos.get(performer_id):
                    self._hellos[performer_id] = data
                    self.receivers[performer_id] = Receiver(Hello.from_bytes(data), self._patience)
                    events.append(
                        Event("join", self._name(performer_id), self.receivers[performer_id])
                    )
            elif performer_id in self.receivers:
                receiver = self.receivers[performer_id]
                name = self._name(performer_id)
                poses = receiver.receive(data)
                if receiver.last_status.is_good:
                    events.append(Event("packet", name, receiver, packet=data))
                events += [Event("pose", name, receiver, pose) for pose in poses]
        return events

    def end(self) -> list[Event]:
        """Remove all performers; return their leave events."""
        return [event for performer_id in [*self.receivers] for event in self._remove(performer_id)]

    def apply_message(self, message: JsonObject) -> list[Event]:
        """Return the events of a JSON message: "join", "leave", or "here" (all performers)."""
        if isinstance(joined := message.get("join"), int):
            self._names[joined] = str(message.get("name", ""))[:64]
        if isinstance(left := message.get("leave"), int):
            return self._remove(left)
        if is_object(here := message.get("here")):
            known = {
                int(performer_id): str(name)[:64]
                for performer_id, name in here.items()
                if performer_id.isascii() and performer_id.isdigit() and len(performer_id) < 8
            }
            missing = [performer_id for performer_id in self.receivers if performer_id not in known]
            events = [event for performer_id in missing for event in self._remove(performer_id)]
            self._names = known
            return events
        return []

    def _remove(self, performer_id: int) -> list[Event]:
        name = self._name(performer_id)
        receiver = self.receivers.pop(performer_id, None)
        self._names.pop(performer_id, None)
        self._hellos.pop(performer_id, None)
        return [Event("leave", name, receiver)] if receiver else []

    def _name(self, performer_id: int) -> str:
        return self._names.get(performer_id, str(performer_id))


async def _follow_requests(connection: ClientConnection, sender: Sender) -> None:
    """Send a keyframe when the relay requests one, until the connection closes."""
    async for message in connection:
        if isinstance(message, str) and read_json(message).get("restart"):
            sender.request_keyframe()
    raise ConnectionResetError("the relay closed the stage")


def _connect(url: str, role: str, token: str | None, tls: ssl.SSLContext | None) -> connect:
    require("websockets", extra="live", purpose="a live connection")
    from websockets.asyncio.client import connect
    from websockets.typing import Subprotocol

    if url.startswith("wss:") and tls is None:
        tls = ssl.create_default_context()
    return connect(
        url,
        subprotocols=[Subprotocol(name) for name in subprotocols(role, token)],
        ssl=tls,
        compression=None,
        max_size=1 << 21,
        user_agent_header="mocpack",
    )


def check_stage_address(url: str, *, performer: bool) -> StageAddress:
    """Return the stage address of a URL, which must name a performer if, and only if, one sends."""
    address = StageAddress.parse("/" + url.partition("://")[2].partition("/")[2])
    if performer and address.performer is None:
        raise UsageError(
            f"{url} names a stage but no performer: to send, write {url.rstrip('/')}/anna"
        )
    if not performer and address.performer is not None:
        raise UsageError(
            f"{url} names a performer: write {url.rpartition('/')[0]} to receive the stage"
        )
    return address


def _connection_errors() -> tuple[type[BaseException], ...]:
    from websockets.exceptions import ConnectionClosed, InvalidHandshake

    return OSError, ConnectionClosed, InvalidHandshake, TimeoutError


def _count_failure(
    url: str, error: BaseException, failed: int, tries: int, on_retry: Callable[[str], None]
) -> int:
    """Return the new number of failures; raise if retrying is useless or `tries` is reached."""
    response = getattr(error, "response", None)
    if response is not None and 400 <= response.status_code < 500:
        reason = bytes(response.body or b"").decode("utf-8", "replace").strip()
        raise UsageError(
            f"{url} refuses the connection: {reason or response.status_code}"
        ) from error
    closed = getattr(error, "rcvd", None)
    if closed is not None and closed.code in (1007, 1008, 1013):
        raise UsageError(f"{url} closed the connection: {closed.reason or closed.code}") from error
    if failed + 1 >= tries:
        raise UsageError(f"{url} cannot be reached: {error}") from error
    if not failed:
        on_retry(f"{url} cannot be reached: {error}; trying again")
    return failed + 1


async def _wait_to_retry(failed: int) -> None:
    await asyncio.sleep(min(RETRY_AFTER_S * 2 ** (failed - 1), MAX_RETRY_AFTER_S))
