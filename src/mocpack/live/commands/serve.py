"""``mocpack live serve``: run a relay for live motion, with a web page and a recorder."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Annotated

import typer

from mocpack.cli import files
from mocpack.cli.options import MAX_PORT
from mocpack.common.optional_packages import require
from mocpack.errors import UsageError, convert_errors
from mocpack.live.commands.interrupts import run_until_interrupted
from mocpack.live.commands.recorder import Recorder
from mocpack.live.log import LoopErrorLog
from mocpack.live.relay import Relay
from mocpack.live.stage import Tokens, is_loopback
from mocpack.live.udp_stage import UdpEndpoint
from mocpack.live.webtransport import INFO_PATH as WEBTRANSPORT
from mocpack.live.webtransport import WebTransportEndpoint
from mocpack.viewing.page import STAGE, TYPES, stage_files

PORT = 8420


def run(
    port: Annotated[
        int, typer.Option(help="Listen on this port; 0 chooses a free one.", min=0, max=MAX_PORT)
    ] = PORT,
    host: Annotated[
        str,
        typer.Option(
            help="Listen on this address; addresses other than loopback need TLS and tokens."
        ),
    ] = "127.0.0.1",
    tls: Annotated[
        str | None,
        typer.Option(
            help="Use this certificate (PEM), which includes its key unless --tls-key is given."
        ),
    ] = None,
    tls_key: Annotated[str | None, typer.Option(help="Use this key of the certificate.")] = None,
    token_file: Annotated[
        str | None,
        typer.Option(
            help="Read tokens from this file; a line is a role (send, watch, record) and a token."
        ),
    ] = None,
    record: Annotated[
        str | None,
        typer.Option(help="Record performers; day.mocp writes day-anna.mocp and so on."),
    ] = None,
    max_error: Annotated[
        str | None,
        typer.Option(
            help="Compress recordings to this maximum error, like 1mm; default: no further loss."
        ),
    ] = None,
    udp: Annotated[
        bool, typer.Option(help="Also accept UDP on the same port, on loopback.")
    ] = True,
    plain_udp: Annotated[
        bool, typer.Option("--plain-udp", help="Allow unencrypted UDP from other machines.")
    ] = False,
    webtransport: Annotated[
        int | None,
        typer.Option(
            help="Serve WebTransport to the page on this UDP port; 0 chooses a free one.",
            min=0,
            max=MAX_PORT,
        ),
    ] = None,
    page: Annotated[bool, typer.Option(help="Serve the web page that shows the stage.")] = True,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="Accept requests for this host name, for example that of a proxy; repeatable. On "
            "loopback, requests for unknown host names are rejected."
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Stop after this many seconds.", hidden=True)
    ] = None,
) -> int:
    """Run a relay that passes live motion from performers to viewers and browsers."""
    recorder = Recorder(record, max_error, force=False) if record else None
    relay = Relay(
        host,
        port,
        _load_certificate(tls, tls_key),
        Tokens.read(token_file) if token_file else Tokens(),
        pages=stage_pages() if page else {},
        hosts=tuple(allow_host or ()),
        recorder=None
        if recorder is None
        else (lambda place, hello: recorder.begin(place.performer or place.stage, hello)),
    )
    if plain_udp or (udp and is_loopback(host)):
        relay.endpoints.append(UdpEndpoint(relay, plain=plain_udp))
    if webtransport is not None:
        require("aioquic", extra="webtransport", purpose="WebTransport")
        relay.endpoints.append(WebTransportEndpoint(relay, webtransport))
    run_until_interrupted(_serve(relay), seconds)
    if recorder is None:
        return 0
    if not recorder.finish() and recorder.is_complete:
        files.stderr().print("received no motion; wrote no file")
    return 0 if recorder.is_complete else 2


def stage_pages() -> dict[str, tuple[str, bytes]]:
    """Return the page's files by path, with their media types; empty if it is not built."""
    try:
        page_files = stage_files()
    except UsageError:
        files.stderr().print("the viewer page is not built, so the relay serves no page")
        return {}
    pages = {f"/{path}": (TYPES[Path(path).suffix], data) for path, data in page_files.items()}
    pages["/"] = pages.pop(f"/{STAGE}")
    pages[WEBTRANSPORT] = ("application/json", b"null")  # until a WebTransport endpoint replaces it
    return pages


def _load_certificate(tls: str | None, key: str | None) -> ssl.SSLContext | None:
    if tls is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with convert_errors(
        (OSError, ssl.SSLError),
        f"--tls {tls}: cannot load a certificate with its key",
        to=UsageError,
    ):
        context.load_cert_chain(tls, key)
    return context


async def _serve(relay: Relay) -> None:
    asyncio.get_running_loop().set_exception_handler(LoopErrorLog())
    with convert_errors(OSError, f"cannot listen on {relay.host}:{relay.port}", to=UsageError):
        await relay.start()
    shown = f"; watch at {relay.url.replace('ws', 'http', 1)}/?stage=stage" if relay.pages else ""
    files.stdout().print(f"performers send to {relay.url}/stage/NAME{shown}; press Ctrl-C to stop")
    try:
        await asyncio.Event().wait()
    finally:
        await relay.stop()
