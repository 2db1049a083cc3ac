"""``mocpack live receive``: a stage into a file, a pipe or another program."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Annotated, Protocol

import typer

from mocpack.cli import files, options
from mocpack.cli.live.access import read_token, trust
from mocpack.cli.live.interrupts import run_until_interrupted
from mocpack.cli.live.recorder import Recorder, Take
from mocpack.cli.terminal import complain
from mocpack.clip import ClipHeader
from mocpack.errors import UsageError
from mocpack.live.bridges.messages import format_frame, format_header
from mocpack.live.bridges.vmc import VmcSink
from mocpack.live.bridges.zmq import ZmqSink
from mocpack.live.client import Event, Frame, watch
from mocpack.live.player import Player
from mocpack.live.receiver import DEFAULT_PATIENCE, Pose
from mocpack.live.udp import watch_udp
from mocpack.live.udp_stage import is_stage, watch_udp_stage

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
    delay: Annotated[
        str,
        typer.Option(
            help="How far a program is shown behind: 0 at once, auto as arrivals spread, or 50ms."
        ),
    ] = "0",
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
    behind = _delay(delay)
    patience = 1 if role == "watch" and behind == 0 else DEFAULT_PATIENCE
    if source.startswith("udp://") and is_stage(source):
        events = watch_udp_stage(source, token=token, role=role, patience=patience, plain=plain_udp)
    elif source.startswith("udp://"):
        events = watch_udp(source, patience=patience, plain=plain_udp)
    elif source.startswith(("ws://", "wss://")):
        events = watch(source, token=token, role=role, tls=trust(ca), on_retry=complain)
    else:
        raise UsageError(f"a stage is a ws://, wss:// or udp:// address, got {source}")
    if role == "watch":
        run_until_interrupted(_show(events, _sink(output), performer, behind), seconds)
        return 0
    recorder = Recorder(output, max_error, force=force)
    keeper = _Keeper(recorder, performer)
    try:
        run_until_interrupted(keeper.keep(events), seconds)
    finally:  # a relay that is lost, or breaks the protocol, must not cost the recording
        keeper.finish()
        written = recorder.finish()
    if not written:
        files.stderr().print("nothing was received")
    return 0 if written else 1


class _Keeper:
    """Keeps the performers of a stage, each in a recording."""

    def __init__(self, recorder: Recorder, performer: str | None) -> None:
        self._recorder, self._performer = recorder, performer
        self._recordings: dict[str, Take] = {}

    async def keep(self, events: AsyncIterator[Event]) -> None:
        """Keep what is received until all who came have left."""
        async for event in events:
            if self._performer not in (None, event.name):
                continue
            if event.kind == "join":
                self._end(event.name)
                self._recordings[event.name] = self._recorder.begin(
                    event.name, event.receiver.hello
                )
                files.stderr().print(f"recording {event.name}; Ctrl-C ends")
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
            sys.stdout.write(format_header(header) + "\n")
        sys.stdout.write(format_frame(frame) + "\n")
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


async def _show(
    events: AsyncIterator[Event], sink: Sink, performer: str | None, delay: float | None
) -> None:
    """Show one performer: the one that was named, or the first who comes, until they leave.

    `delay` is of `Player`; with 0 every pose is shown as it comes.
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
    """Show what the player has, at the stream's own rate."""
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


def _delay(text: str) -> float | None:
    """Return seconds, None for what arrivals need.

    >>> _delay("0"), _delay("50ms"), _delay("0.1s"), _delay("auto")
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
        raise UsageError(f"--delay is auto, 0, or up to 10s like 50ms, got {text!r}")
    return seconds
