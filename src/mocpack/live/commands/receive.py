"""``mocpack live receive``: record a live session, or pass it on to another program."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Annotated, Protocol

import typer

from mocpack.cli import files, options
from mocpack.cli.terminal import print_error
from mocpack.errors import UsageError
from mocpack.live.bridges.messages import format_frame, format_header
from mocpack.live.bridges.vmc import VmcSink
from mocpack.live.bridges.zmq import ZmqSink
from mocpack.live.client import Event, Frame, watch
from mocpack.live.commands.access import Access
from mocpack.live.commands.interrupts import run_until_interrupted
from mocpack.live.commands.recorder import PacketWriter, Recorder
from mocpack.live.player import Player
from mocpack.live.receiver import DEFAULT_PATIENCE, Pose
from mocpack.live.udp import watch_udp
from mocpack.live.udp_stage import is_stage, watch_udp_stage
from mocpack.model.clip import ClipHeader


def run(
    source: Annotated[
        str,
        typer.Argument(help="Address of a stage, like ws://127.0.0.1:8420/stage or udp://:9000."),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="Write to this file, or send to vmc:// or zmq://; - prints JSON lines.",
        ),
    ],
    performer: Annotated[
        str | None,
        typer.Option(
            help="Receive only this performer; default: all for a file, the first for a program."
        ),
    ] = None,
    delay: Annotated[
        str,
        typer.Option(help="Set the jitter buffer for a program: 0, a time like 50ms, or auto."),
    ] = "0",
    max_error: Annotated[
        str | None,
        typer.Option(
            help="Compress the recording to this maximum error, like 1mm; default: no further loss."
        ),
    ] = None,
    *,
    access: Access,
    seconds: Annotated[
        float | None, typer.Option(help="Stop after this many seconds.", hidden=True)
    ] = None,
    force: options.Force = False,
) -> int:
    """Record a live session to a file, or pass it on to another program."""
    role = "watch" if output == files.PIPE or "://" in output else "record"
    token, plain = access.read_token(), access.plain_udp
    behind = _parse_delay(delay)
    patience = 1 if role == "watch" and behind == 0 else DEFAULT_PATIENCE
    if source.startswith("udp://") and is_stage(source):
        events = watch_udp_stage(source, token=token, role=role, patience=patience, plain=plain)
    elif source.startswith("udp://"):
        events = watch_udp(source, patience=patience, plain=plain)
    elif source.startswith(("ws://", "wss://")):
        tls = access.load_certificate()
        events = watch(source, token=token, role=role, tls=tls, on_retry=print_error)
    else:
        raise UsageError(f"the stage must be a ws://, wss:// or udp:// address, got {source}")
    if role == "watch":
        run_until_interrupted(_show(events, _open_sink(output), performer, behind), seconds)
        return 0
    recorder = Recorder(output, max_error, force=force)
    stage_recorder = _StageRecorder(recorder, performer)
    try:
        run_until_interrupted(stage_recorder.record(events), seconds)
    finally:  # keep the recording even if the relay disconnects or breaks the protocol
        stage_recorder.finish()
        written = recorder.finish()
    if not written and recorder.is_complete:
        print_error("received no motion; wrote no file")
    return 0 if written and recorder.is_complete else 2


class _StageRecorder:
    """Records the performers of a stage, each to a recording."""

    def __init__(self, recorder: Recorder, performer: str | None) -> None:
        self._recorder, self._performer = recorder, performer
        self._recordings: dict[str, PacketWriter] = {}

    async def record(self, events: AsyncIterator[Event]) -> None:
        """Record until all performers have left."""
        async for event in events:
            if self._performer not in (None, event.name):
                continue
            if event.kind == "join":
                self._end(event.name)
                self._recordings[event.name] = self._recorder.begin(
                    event.name, event.receiver.hello
                )
                files.stderr().print(f"recording {event.name}; press Ctrl-C to stop")
            elif event.kind == "packet":
                self._recordings[event.name](event.packet)
            elif event.kind == "leave":
                self._end(event.name)
                if not self._recordings:
                    return

    def finish(self) -> None:
        for name in [*self._recordings]:
            self._end(name)

    def _end(self, name: str) -> None:
        take = self._recordings.pop(name, None)
        if take is not None:
            take(None)


class Sink(Protocol):
    """A receiver of poses."""

    def show(self, header: ClipHeader, frame: Frame) -> None: ...

    def close(self) -> None: ...


class LineSink:
    """Prints the JSON lines of `bridges.messages`."""

    def __init__(self) -> None:
        self._header: ClipHeader | None = None

    def show(self, header: ClipHeader, frame: Frame) -> None:
        if header is not self._header:
            self._header = header
            sys.stdout.write(format_header(header) + "\n")
        sys.stdout.write(format_frame(frame) + "\n")
        sys.stdout.flush()

    def close(self) -> None:
        pass


def _open_sink(output: str) -> Sink:
    if output == files.PIPE:
        return LineSink()
    if output.startswith("vmc://"):
        return VmcSink(output)
    if output.startswith("zmq://"):
        return ZmqSink(output)
    raise UsageError(f"--output must be a file, vmc://, zmq:// or -, got {output}")


async def _show(
    events: AsyncIterator[Event], sink: Sink, performer: str | None, delay: float | None
) -> None:
    """Show one performer, by name or the first who joins, until they leave.

    `delay` is that of `Player`. With 0, every pose is shown when it arrives.
    """
    clock = asyncio.get_running_loop().time
    player: Player | None = None
    playing: asyncio.Task[None] | None = None
    try:
        async for event in events:
            if event.kind == "join" and performer is None:
                performer = event.name
            if event.name != performer:
                continue
            header = event.receiver.hello.header
            if event.kind == "leave":
                return
            if event.kind == "join" and delay != 0:
                player = Player(event.receiver, delay)
                if playing is not None:
                    playing.cancel()
                playing = asyncio.ensure_future(_play(player, header, sink))
            if event.pose is not None and player is not None:
                player.add_poses([event.pose], clock())
            elif event.pose is not None:
                sink.show(header, _frame(event.pose))
    finally:
        if playing is not None:
            playing.cancel()
        sink.close()


async def _play(player: Player, header: ClipHeader, sink: Sink) -> None:
    """Show the poses of the player at the frame rate of the stream."""
    clock = asyncio.get_running_loop().time
    due = clock()
    while True:
        pose = player.at(clock())
        if pose is not None:
            sink.show(header, _frame(pose))
        due = max(due + header.frame_time, clock())
        await asyncio.sleep(due - clock())


def _frame(pose: Pose) -> Frame:
    return pose.time, pose.rotations, pose.translations


def _parse_delay(text: str) -> float | None:
    """Return the delay in seconds; None for an automatic delay.

    >>> _parse_delay("0"), _parse_delay("50ms"), _parse_delay("0.1s"), _parse_delay("auto")
    (0.0, 0.05, 0.1, None)
    """
    if text == "auto":
        return None
    number, unit = (text[:-2], 0.001) if text.endswith("ms") else (text.removesuffix("s"), 1.0)
    try:
        seconds = float(number) * unit
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 10:
        raise UsageError(f"--delay must be auto or a time from 0 to 10s, like 50ms, got {text!r}")
    return seconds
