"""``mocpack live send``: a file, a pipe or another program's stream to a stage, as it happens."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

import mocpack
from mocpack.cli import files, options
from mocpack.cli.live.access import read_token, trust
from mocpack.cli.terminal import complain
from mocpack.errors import UsageError
from mocpack.live import RateControl, Sender
from mocpack.live.client import send_frames
from mocpack.live.sources import ClipSource, LineSource, Source, open_source
from mocpack.live.udp import send_frames_udp
from mocpack.live.udp_stage import is_stage, send_frames_udp_stage
from mocpack.units import parse_bandwidth, parse_frame_range, parse_length_argument

PIPE = "-"


def run(
    source: Annotated[
        str, typer.Argument(help="A motion file, vmc://:39539, zmq://host:port, or - for JSON.")
    ],
    to: Annotated[str, typer.Option(help="Like ws://127.0.0.1:8420/stage/anna, or udp://…")],
    max_error: Annotated[str, typer.Option(help="Of every frame, like 5mm.")] = "5mm",
    speed: Annotated[float, typer.Option(help="1 is real time, 0 as fast as it goes.")] = 1.0,
    loop: Annotated[bool, typer.Option("--loop", help="Begin again at the end.")] = False,
    bitrate: Annotated[
        str | None, typer.Option(help="Most bits a second, like 20kbps, headers included.")
    ] = None,
    coarsest: Annotated[
        str, typer.Option(help="How far --bitrate may widen the error before twist goes.")
    ] = "20mm",
    token_file: Annotated[str | None, typer.Option(help="A file that holds the token.")] = None,
    ca: Annotated[
        str | None, typer.Option(help="Certificate to trust, where it is one of your own.")
    ] = None,
    plain_udp: Annotated[
        bool, typer.Option("--plain-udp", help="UDP off this machine, though it is not encrypted.")
    ] = False,
    frames: options.Frames = None,
    unit: options.Unit = None,
    skeleton: options.SkeletonFile = None,
    allow_outside: options.AllowOutside = False,
) -> int:
    """Send motion to a stage as it happens, each frame within an error."""
    bound = parse_length_argument("max_error", max_error)
    rate_control = None
    if bitrate is not None:
        rate_control = RateControl(
            parse_bandwidth(bitrate), parse_length_argument("coarsest", coarsest)
        )
    reading = {"unit": unit, "skeleton": skeleton, "allow_outside": allow_outside}
    opened = _open(source, speed, loop, frames, reading)
    with suppress(KeyboardInterrupt):
        sent = asyncio.run(_send(opened, to, bound, rate_control, token_file, ca, plain_udp))
        files.stderr().print(f"sent {sent} frames to {to}")
    return 0


def _open(
    source: str,
    speed: float,
    loop: bool,
    frames: str | None,
    reading: dict[str, Any],
) -> Source:
    if source == PIPE:
        return LineSource(sys.stdin)
    if "://" in source:
        return open_source(source)
    if source.endswith(".mocp"):
        clip = mocpack.decode(Path(source).read_bytes())
    else:
        clip = mocpack.read(source, **reading)
    if not isinstance(clip, mocpack.Clip):
        raise UsageError(f"{source} holds no skeleton: live streams are of joints")
    if frames is not None:
        start, stop, _ = parse_frame_range(frames).indices(clip.frame_count)
        clip = clip.frames(start, stop)
    return ClipSource(clip, speed, loop=loop)


async def _send(
    source: Source,
    to: str,
    bound: float,
    rate_control: RateControl | None,
    token_file: str | None,
    ca: str | None,
    plain_udp: bool,
) -> int:
    try:
        header = await source.header()
        sender = Sender(header, bound, rate_control=rate_control)
        moving = source.frames(header)
        token = read_token(token_file)
        if to.startswith("udp://") and is_stage(to):
            return await send_frames_udp_stage(to, sender, moving, token=token, plain=plain_udp)
        if to.startswith("udp://"):
            return await send_frames_udp(to, sender, moving, plain=plain_udp)
        if not to.startswith(("ws://", "wss://")):
            raise UsageError(f"--to is a ws://, wss:// or udp:// address, got {to}")
        return await send_frames(to, sender, moving, token=token, tls=trust(ca), on_retry=complain)
    finally:
        source.close()
