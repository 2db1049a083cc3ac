"""``mocpack live serve``: a relay of live motion, with its page and its recorder."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from mocpack.cli import files
from mocpack.cli.live.interrupts import run_until_interrupted
from mocpack.cli.live.recorder import Recorder, Take
from mocpack.cli.options import LAST_PORT
from mocpack.errors import UsageError
from mocpack.live.hello import Hello
from mocpack.live.log import LoopErrorLog
from mocpack.live.relay import Relay
from mocpack.live.stage import StageAddress, Tokens, is_loopback
from mocpack.live.udp_stage import UdpEndpoint
from mocpack.live.webtransport import INFO_PATH as WEBTRANSPORT
from mocpack.live.webtransport import WebTransportEndpoint
from mocpack.optional_packages import require
from mocpack.viewing.page import STAGE, TYPES, stage_files

PORT = 8420


def run(
    port: Annotated[
        int, typer.Option(help="0 takes any that is free.", min=0, max=LAST_PORT)
    ] = PORT,
    host: Annotated[
        str, typer.Option(help="Address to listen at; any but the loopback needs TLS and tokens.")
    ] = "127.0.0.1",
    tls: Annotated[
        str | None, typer.Option(help="Certificate (PEM), with its key unless --tls-key has it.")
    ] = None,
    tls_key: Annotated[str | None, typer.Option(help="Key of the certificate.")] = None,
    token_file: Annotated[
        str | None, typer.Option(help="Lines of a role (send, watch, record) and a token.")
    ] = None,
    record: Annotated[
        str | None,
        typer.Option(help="Write what performers send, like day.mocp: day-anna.mocp and so on."),
    ] = None,
    max_error: Annotated[
        str | None, typer.Option(help="Of recordings, like 1mm; without, no second loss.")
    ] = None,
    udp: Annotated[bool, typer.Option(help="Take UDP at the same port, on the loopback.")] = True,
    plain_udp: Annotated[
        bool, typer.Option("--plain-udp", help="UDP off this machine, though it is not encrypted.")
    ] = False,
    webtransport: Annotated[
        int | None,
        typer.Option(
            help="Port of UDP for WebTransport, which the page then takes; 0: any.",
            min=0,
            max=LAST_PORT,
        ),
    ] = None,
    page: Annotated[bool, typer.Option(help="Serve the page that shows the stage.")] = True,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="Another host name of this relay, such as a proxy's; may be given several times. "
            "On the loopback, requests for names that it does not know are refused."
        ),
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="End after so long.", hidden=True)] = None,
) -> int:
    """Relay live motion: performers send, an audience watches, in browsers too; Ctrl-C ends."""
    recorder = Recorder(record, max_error, force=False) if record else None
    relay = Relay(
        host,
        port,
        _context(tls, tls_key),
        Tokens.read(token_file) if token_file else Tokens(),
        pages=stage_pages() if page else {},
        hosts=tuple(allow_host or ()),
        recorder=None if recorder is None else _begin_with(recorder),
    )
    if plain_udp or (udp and is_loopback(host)):
        relay.endpoints.append(UdpEndpoint(relay, plain=plain_udp))
    if webtransport is not None:
        require("aioquic", extra="webtransport", purpose="WebTransport")
        relay.endpoints.append(WebTransportEndpoint(relay, webtransport))
    run_until_interrupted(_serve(relay), seconds)
    if recorder is not None and not recorder.finish():
        files.stderr().print("nothing was received")
    return 0


def stage_pages() -> dict[str, tuple[str, bytes]]:
    """Return the page's files by path, with their media types; none where it is not built."""
    try:
        found = stage_files()
    except UsageError:
        files.stderr().print("the viewer's page is not built here: the stage has no page")
        return {}
    pages = {f"/{path}": (TYPES[Path(path).suffix], data) for path, data in found.items()}
    pages["/"] = pages.pop(f"/{STAGE}")
    pages[WEBTRANSPORT] = ("application/json", b"null")  # until a door says otherwise
    return pages


def _context(tls: str | None, key: str | None) -> ssl.SSLContext | None:
    if tls is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(tls, key)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"{tls} is no certificate with its key: {error}") from error
    return context


def _begin_with(recorder: Recorder) -> Callable[[StageAddress, Hello], Take]:
    return lambda place, hello: recorder.begin(place.performer or place.stage, hello)


async def _serve(relay: Relay) -> None:
    asyncio.get_running_loop().set_exception_handler(LoopErrorLog())
    try:
        await relay.start()
    except OSError as error:
        raise UsageError(f"cannot listen at {relay.host}:{relay.port}: {error}") from error
    shown = f", {relay.url.replace('ws', 'http', 1)}/?stage=stage shows it" if relay.pages else ""
    files.stdout().print(f"{relay.url}/stage/NAME takes a performer{shown}; Ctrl-C ends")
    try:
        await asyncio.Event().wait()
    finally:
        await relay.stop()
