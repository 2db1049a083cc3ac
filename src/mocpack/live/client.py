"""Performers and audiences of a relay, over WebSocket; both come back after a lost connection."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from mocpack.arrays import F64
from mocpack.errors import UsageError
from mocpack.live.hello import Hello, is_hello
from mocpack.live.receiver import Pose, Receiver
from mocpack.live.report import read_json
from mocpack.live.sender import Sender
from mocpack.live.stage import StageAddress, check_secure, subprotocols, unpack_items
from mocpack.optional_packages import require

Frame = tuple[float, F64, F64]
"""Seconds on the sender's clock, rotations (J, 4), translations (M, 3)."""

RETRY_AFTER_S, MAX_RETRY_AFTER_S = 0.1, 5.0  # seconds before coming back


@dataclass(frozen=True)
class Event:
    """What happens on a stage.

    Attributes
    ----------
    kind : str
        "join", "packet", "pose" (those that a packet brought follow it) or "leave".
    name : str
        Of the performer.
    receiver : Receiver
        Theirs; what it has counted, the bound that holds.
    pose : Pose, optional
    packet : bytes
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
    on_retry: Callable[[str], None] = lambda said: None,
) -> int:
    """Send frames to a relay until they end; return how many were sent.

    A lost connection is made again, at most `tries` times in a row, the first of which `on_retry` is
    told; frames that come meanwhile are left out, as they would be late.
    """
    _check_url(url, token, performer=True)
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
    """Frames on their way to a relay, over one connection after another."""

    def __init__(self, sender: Sender, frames: AsyncIterator[Frame]) -> None:
        self.sent = 0
        self._sender, self._frames = sender, frames
        self._next: asyncio.Task[Frame] | None = None

    async def run(self, connection: Any) -> None:
        """Send until the frames end; a lost connection is an error, and loses no frame to come."""
        await connection.send(self._sender.hello.to_bytes())
        self._sender.request_keyframe()
        listening = asyncio.ensure_future(_follow_requests(connection, self._sender))
        try:
            while True:
                self._next = self._next or asyncio.ensure_future(_next(self._frames))
                await asyncio.wait({self._next, listening}, return_when=asyncio.FIRST_COMPLETED)
                if listening.done():
                    listening.result()
                time, turns, places = self._next.result()
                self._next = None
                packet = self._sender.send(turns, places, time)
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
    on_retry: Callable[[str], None] = lambda said: None,
) -> AsyncIterator[Event]:
    """Yield what happens on a stage: who joins, their poses, who leaves.

    A lost connection is made again, as by `send_frames`.
    """
    _check_url(url, token, performer=False)
    failed = 0
    while True:
        audience = StageDecoder(patience)
        try:
            async with _connect(url, role, token, tls) as connection:
                failed = 0
                async for message in connection:
                    for event in audience.decode(message):
                        yield event
            raise ConnectionResetError("the relay closed the stage")
        except _connection_errors() as error:
            for event in audience.end():
                yield event
            failed = _count_failure(url, error, failed, tries, on_retry)
            await _wait_to_retry(failed)


class StageDecoder:
    """Makes events of a relay's messages.

    Attributes
    ----------
    receivers : dict of int to Receiver
        Of those on the stage, by what the relay calls them.
    """

    def __init__(self, patience: int) -> None:
        self.receivers: dict[int, Receiver] = {}
        self._patience = patience
        self._names: dict[int, str] = {}
        self._hellos: dict[int, bytes] = {}

    def decode(self, message: str | bytes) -> list[Event]:
        """Take a message: what is said, or hellos and packets."""
        if isinstance(message, str):
            return self.apply_message(read_json(message))
        events = []
        for number, data in unpack_items(message):
            if is_hello(data):
                # who is not named yet will be, and greet again; who is known only reminds of it
                if number in self._names and data != self._hellos.get(number):
                    self._hellos[number] = data
                    self.receivers[number] = Receiver(Hello.from_bytes(data), self._patience)
                    events.append(Event("join", self._name(number), self.receivers[number]))
            elif number in self.receivers:
                receiver = self.receivers[number]
                name = self._name(number)
                poses = receiver.receive(data)
                if receiver.last_status.is_good:
                    events.append(Event("packet", name, receiver, packet=data))
                events += [Event("pose", name, receiver, pose) for pose in poses]
        return events

    def end(self) -> list[Event]:
        """Let all leave."""
        return [event for number in [*self.receivers] for event in self._remove(number)]

    def apply_message(self, told: dict[str, Any]) -> list[Event]:
        """Take what is said: who joins, who leaves, or who is here."""
        if isinstance(told.get("join"), int):
            self._names[told["join"]] = str(told.get("name", ""))[:64]
        if isinstance(told.get("leave"), int):
            return self._remove(told["leave"])
        if isinstance(here := told.get("here"), dict):
            known = {
                int(number): str(name)[:64] for number, name in here.items() if _is_index(number)
            }
            gone = [number for number in self.receivers if number not in known]
            events = [event for number in gone for event in self._remove(number)]
            self._names = known
            return events
        return []

    def _remove(self, number: int) -> list[Event]:
        name = self._name(number)
        receiver = self.receivers.pop(number, None)
        self._names.pop(number, None)
        self._hellos.pop(number, None)
        return [Event("leave", name, receiver)] if receiver else []

    def _name(self, number: int) -> str:
        return self._names.get(number, str(number))


async def _follow_requests(connection: Any, sender: Sender) -> None:
    """Heed what a relay asks of a performer; it ends when the connection does."""
    async for message in connection:
        if isinstance(message, str) and read_json(message).get("restart"):
            sender.request_keyframe()
    raise ConnectionResetError("the relay closed the stage")


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 8


async def _next(frames: AsyncIterator[Frame]) -> Frame:
    return await anext(frames)


def _connect(url: str, role: str, token: str | None, tls: ssl.SSLContext | None) -> Any:
    client = require("websockets.asyncio.client", extra="live", purpose="a live connection")
    if url.startswith("wss:") and tls is None:
        tls = ssl.create_default_context()
    return client.connect(
        url,
        subprotocols=subprotocols(role, token),
        ssl=tls,
        compression=None,
        max_size=1 << 21,
        user_agent_header="mocpack",
    )


def check_stage_address(url: str, *, performer: bool) -> StageAddress:
    """Return the place that an address names; complain where it is not of that kind."""
    place = StageAddress.parse("/" + url.partition("://")[2].partition("/")[2])
    if performer and place.performer is None:
        raise UsageError(f"a performer needs a name: write {url.rstrip('/')}/anna")
    if not performer and place.performer is not None:
        raise UsageError(f"an audience watches a whole stage: {url.rpartition('/')[0]}")
    return place


def _check_url(url: str, token: str | None, *, performer: bool) -> None:
    check_secure(url, token)
    check_stage_address(url, performer=performer)


def _connection_errors() -> tuple[type[BaseException], ...]:
    exceptions = require("websockets.exceptions", extra="live", purpose="a live connection")
    return (OSError, exceptions.ConnectionClosed, exceptions.InvalidHandshake, TimeoutError)


def _count_failure(
    url: str, error: BaseException, failed: int, tries: int, on_retry: Callable[[str], None]
) -> int:
    """Count a failure; one that coming back would not mend, or the last, is an error."""
    response = getattr(error, "response", None)
    if response is not None and 400 <= response.status_code < 500:
        reason = bytes(response.body or b"").decode("utf-8", "replace").strip()
        raise UsageError(f"{url} refuses: {reason or response.status_code}") from error
    closed = getattr(error, "rcvd", None)
    if closed is not None and closed.code in (1007, 1008, 1013):
        raise UsageError(f"{url} refuses: {closed.reason or closed.code}") from error
    if failed + 1 >= tries:
        raise UsageError(f"{url} cannot be reached: {error}") from error
    if not failed:
        on_retry(f"{url} cannot be reached: {error}; trying again")
    return failed + 1


async def _wait_to_retry(failed: int) -> None:
    await asyncio.sleep(min(RETRY_AFTER_S * 2 ** (failed - 1), MAX_RETRY_AFTER_S))
