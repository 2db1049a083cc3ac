"""``mocpack receive``: a stage into a file, a pipe or another program."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Protocol

import typer

from mocpack.cli import files, options
from mocpack.cli.live_access import read_token, trust
from mocpack.cli.recorder import Recorder
from mocpack.clip import ClipHeader
from mocpack.errors import UsageError
from mocpack.live.bridges.messages import frame_message, header_message
from mocpack.live.bridges.vmc import VmcSink
from mocpack.live.bridges.zmq import ZmqSink
from mocpack.live.client import Event, Frame, watch
from mocpack.live.recording import Recording
from mocpack.live.udp import watch_udp

PIPE = "-"


def run(
    source: Annotated[str, typer.Argument(help="Like ws://127.0.0.1:8420/stage, or udp://:9000.")],
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="A .mocp or other file, vmc://…, zmq://…, - for JSON."),
    ],
    performer: Annotated[
        str | None, typer.Option(help="Only this one; else all, or the first for a program.")
    ] = None,
    max_error: Annotated[
        str | None, typer.Option(help="Of a .mocp, like 1mm; without, no second loss.")
    ] = None,
    token_file: Annotated[str | None, typer.Option(help="A file that holds the token.")] = None,
    ca: Annotated[
        str | None, typer.Option(help="Certificate to trust, where it is one of your own.")
    ] = None,
    plain_udp: Annotated[
        bool, typer.Option("--plain-udp", help="UDP off this machine, though it is not encrypted.")
    ] = False,
    seconds: Annotated[float | None, typer.Option(help="End after so long.", hidden=True)] = None,
    force: options.Force = False,
) -> int:
    """Receive a stage; the performers' end, or Ctrl-C, finishes the file."""
    role = "watch" if output == PIPE or "://" in output else "record"
    token = read_token(token_file)
    if source.startswith("udp://"):
        events = watch_udp(source, plain=plain_udp)
    elif source.startswith(("ws://", "wss://")):
        events = watch(source, token=token, role=role, tls=trust(ca))
    else:
        raise UsageError(f"a stage is a ws://, wss:// or udp:// address, got {source}")
    if role == "watch":
        with suppress(KeyboardInterrupt):
            asyncio.run(_timed(_show(events, _sink(output), performer), seconds))
        return 0
    recorder = Recorder(output, max_error, force=force)
    keeper = _Keeper(recorder, performer)
    with suppress(KeyboardInterrupt):
        asyncio.run(_timed(keeper.keep(events), seconds))
    keeper.finish()
    return 0 if recorder.finish() else 1


class _Keeper:
    """Keeps the performers of a stage, each in a recording."""

    def __init__(self, recorder: Recorder, performer: str | None) -> None:
        self._recorder, self._performer = recorder, performer
        self._recordings: dict[str, Recording] = {}

    async def keep(self, events: AsyncIterator[Event]) -> None:
        """Keep what is received until all who came have left."""
        async for event in events:
            if self._performer not in (None, event.name):
                continue
            if event.kind == "join":
                self._end(event.name)
                self._recordings[event.name] = Recording(event.receiver.hello)
                files.stderr().print(f"recording {event.name}; Ctrl-C ends")
            elif event.kind == "packet":
                self._recordings[event.name].take(event.packet)
            elif event.kind == "leave":
                self._end(event.name)
                if not self._recordings:
                    return

    def finish(self) -> None:
        for name in [*self._recordings]:
            self._end(name)

    def _end(self, name: str) -> None:
        recording = self._recordings.pop(name, None)
        if recording is not None:
            self._recorder.add(name, recording)


class Sink(Protocol):
    """What shows poses."""

    def show(self, header: ClipHeader, frame: Frame) -> None: ...

    def close(self) -> None: ...


class LineSink:
    """Writes the JSON of `bridges.messages`, a line each."""

    def __init__(self) -> None:
        self._header: ClipHeader | None = None

    def show(self, header: ClipHeader, frame: Frame) -> None:
        if header is not self._header:
            self._header = header
            sys.stdout.write(header_message(header) + "\n")
        sys.stdout.write(frame_message(frame) + "\n")
        sys.stdout.flush()

    def close(self) -> None:
        pass


def _sink(output: str) -> Sink:
    if output == PIPE:
        return LineSink()
    if output.startswith("vmc://"):
        return VmcSink(output)
    if output.startswith("zmq://"):
        return ZmqSink(output)
    raise UsageError(f"streams go to vmc:// or zmq://, got {output}")


async def _show(events: AsyncIterator[Event], sink: Sink, performer: str | None) -> None:
    """Show one performer: the one that was named, or the first who comes, until they leave."""
    try:
        async for event in events:
            if event.kind == "join" and performer is None:
                performer = event.name
            if event.name != performer:
                continue
            if event.kind == "leave":
                return
            if event.pose is not None:
                pose = event.pose
                frame = (pose.time, pose.rotations, pose.translations)
                sink.show(event.receiver.hello.header, frame)
    finally:
        sink.close()


async def _timed(work: object, seconds: float | None) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(work, seconds)  # type: ignore[arg-type]
