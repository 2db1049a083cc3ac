"""``mocpack live send``: send a file, a pipe or another program's stream to a stage."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.cli.reading import SourceOptions
from mocpack.cli.terminal import print_error
from mocpack.common.units import parse_bandwidth, parse_length_argument
from mocpack.errors import UsageError
from mocpack.live import RateControl, Sender
from mocpack.live.client import Frame, send_frames
from mocpack.live.commands.access import Access
from mocpack.live.sources import ClipSource, LineSource, Source, open_source
from mocpack.live.udp import send_frames_udp
from mocpack.live.udp_stage import is_stage, send_frames_udp_stage
from mocpack.model.clip import require_skeleton


def run(
    source: Annotated[
        str,
        typer.Argument(help="Motion file, vmc://:39539 or zmq://host:port; - reads JSON lines."),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--url", help="Send to this address, like ws://127.0.0.1:8420/stage/anna or udp://…"
        ),
    ],
    max_error: Annotated[str, typer.Option(help="Limit the maximum error of every frame.")] = "5mm",
    speed: Annotated[
        float, typer.Option(help="Set the speed of a file: 1 is real time, 0 as fast as possible.")
    ] = 1.0,
    loop: Annotated[bool, typer.Option("--loop", help="Repeat the file until Ctrl-C.")] = False,
    bitrate: Annotated[
        str | None, typer.Option(help="Limit the bit rate, including packet headers, like 20kbps.")
    ] = None,
    coarsest: Annotated[
        str,
        typer.Option(
            help="Let --bitrate raise the error to this limit before it drops bone twist."
        ),
    ] = "20mm",
    *,
    access: Access,
    frames: options.Frames = None,
    reading: SourceOptions,
) -> int:
    """Send a motion file or a live stream to a relay."""
    bound = parse_length_argument("max_error", max_error)
    rate_control = None
    if bitrate is not None:
        rate_control = RateControl(
            parse_bandwidth(bitrate), parse_length_argument("coarsest", coarsest)
        )
    opened = _open(source, speed, loop, frames, reading)
    with suppress(KeyboardInterrupt):
        sent = asyncio.run(_send(opened, to, bound, rate_control, access))
        files.stderr().print(f"sent {sent} frames to {to}")
    return 0


def _open(
    source: str, speed: float, loop: bool, frames: str | None, reading: SourceOptions
) -> Source:
    if source == files.PIPE:
        return LineSource(sys.stdin)
    if "://" in source:
        return open_source(source)
    clip = files.read_motion(files.open_input(source, **reading.to_arguments()), frames=frames)
    return ClipSource(require_skeleton(clip, f"{source}: a live stream"), speed, loop=loop)


async def _announce(frames: AsyncIterator[Frame], to: str) -> AsyncIterator[Frame]:
    """Yield the frames; print a line when the first is sent, after the connection is open."""
    is_first = True
    async for frame in frames:
        if is_first:
            files.stderr().print(f"sending to {to}; press Ctrl-C to stop")
        is_first = False
        yield frame


async def _send(
    source: Source,
    to: str,
    bound: float,
    rate_control: RateControl | None,
    access: Access,
) -> int:
    try:
        header = await source.header()
        sender = Sender(header, bound, rate_control=rate_control)
        moving = _announce(source.frames(header), to)
        token, plain = access.read_token(), access.plain_udp
        if to.startswith("udp://") and is_stage(to):
            return await send_frames_udp_stage(to, sender, moving, token=token, plain=plain)
        if to.startswith("udp://"):
            return await send_frames_udp(to, sender, moving, plain=plain)
        if not to.startswith(("ws://", "wss://")):
            raise UsageError(f"--url must be a ws://, wss:// or udp:// address, got {to}")
        tls = access.load_certificate()
        return await send_frames(to, sender, moving, token=token, tls=tls, on_retry=print_error)
    finally:
        source.close()
