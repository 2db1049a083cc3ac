"""Stages of a relay over WebTransport: datagrams for browsers, none of which waits for another.

The certificate is one of the relay's own, made anew every few days; its hash, which browsers take
in place of a chain, stands in ``/webtransport.json`` beside the page. What exceeds a datagram goes
by a stream.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from mocpack.extras import require
from mocpack.live.datagrams import SILENCE, DatagramDoor
from mocpack.live.relay import Relay

PAGE = "/webtransport.json"
LARGEST = 1100  # bytes of a datagram that passes everywhere
MOST_WAITING = 256  # datagrams for a browser that is too slow; later ones are lost
VALID = timedelta(days=13)  # browsers take a hash for certificates of at most fourteen
RENEWED = 5 * 86400.0  # seconds
PURPOSE = "WebTransport"


class WebTransportDoor(DatagramDoor):
    """Lets browsers onto the stages of a relay by WebTransport.

    Parameters
    ----------
    relay : Relay
    port : int
        Of UDP; 0 takes any that is free.
    """

    def __init__(self, relay: Relay, port: int = 0) -> None:
        super().__init__(relay)
        self.port = port
        self.sessions = 0
        self._server: Any = None
        self._configuration: Any = None
        self._renewing: asyncio.Task[None] | None = None

    async def open(self) -> None:
        quic = require("aioquic.asyncio", extra="webtransport", purpose=PURPOSE)
        config = require("aioquic.quic.configuration", extra="webtransport", purpose=PURPOSE)
        http = require("aioquic.h3.connection", extra="webtransport", purpose=PURPOSE)
        self._configuration = config.QuicConfiguration(
            alpn_protocols=http.H3_ALPN,
            is_client=False,
            max_datagram_frame_size=65536,
            max_data=1 << 18,
            max_stream_data=1 << 16,
            idle_timeout=2 * SILENCE,
        )
        hashed = self._renew()

        def connected(*words: Any, **options: Any) -> Any:
            protocol = quic.QuicConnectionProtocol(*words, **options)
            protocol.quic_event_received = _Session(self, self._relay, protocol).event
            return protocol

        host = self._relay.host
        self._server = await quic.serve(
            host,
            self.port,
            configuration=self._configuration,
            create_protocol=connected,
            retry=True,  # who claims another's address gets nothing
        )
        self.port = self._server._transport.get_extra_info("sockname")[1]
        self._publish(hashed)
        self._renewing = asyncio.ensure_future(self._keep_fresh())
        await super().open()

    def close(self) -> None:
        super().close()
        if self._renewing is not None:
            self._renewing.cancel()
        if self._server is not None:
            self._server.close()

    @property
    def has_room(self) -> bool:
        """Whether one more may connect, before anything is known of them."""
        return self.sessions < self._relay.limits.connections

    async def _keep_fresh(self) -> None:
        while True:
            await asyncio.sleep(RENEWED)
            self._publish(self._renew())

    def _renew(self) -> str:
        """Take a new certificate; return its hash."""
        certificate, key = new_certificate(self._relay.host)
        self._configuration.certificate, self._configuration.private_key = certificate, key
        encoding = require(
            "cryptography.hazmat.primitives.serialization", extra="webtransport", purpose=PURPOSE
        ).Encoding
        return hashlib.sha256(certificate.public_bytes(encoding.DER)).hexdigest()

    def _publish(self, hashed: str) -> None:
        told = json.dumps({"port": self.port, "sha256": hashed}).encode()
        self._relay.pages = {**self._relay.pages, PAGE: ("application/json", told)}
        self._relay.ports = (self.port,)


class _Session:
    """One browser: a connection, and the session that it asks for."""

    def __init__(self, door: WebTransportDoor, relay: Relay, protocol: Any) -> None:
        self._door, self._relay, self._protocol = door, relay, protocol
        self._http: Any = None
        self._stream: int | None = None
        self._flushing = False
        self._counted = door.has_room
        door.sessions += self._counted

    def event(self, event: Any) -> None:
        """Take what QUIC tells; only a session's datagrams reach the door."""
        kind = type(event).__name__
        if kind == "ConnectionTerminated":
            self._ended()
        elif not self._counted:
            self._protocol.close()
        elif kind == "ProtocolNegotiated":
            module = require("aioquic.h3.connection", extra="webtransport", purpose=PURPOSE)
            self._http = module.H3Connection(self._protocol._quic, enable_webtransport=True)
        for told in self._http.handle_event(event) if self._http is not None else ():
            self._told(told)

    def answer(self, data: bytes) -> None:
        """Send by a datagram, or by a stream of its own if it is too large for one."""
        quic = self._protocol._quic
        if self._stream is None or self._http is None:
            return
        if len(data) > LARGEST:
            stream = self._http.create_webtransport_stream(self._stream, is_unidirectional=True)
            quic.send_stream_data(stream, data, end_stream=True)
        elif len(quic._datagrams_pending) < MOST_WAITING:
            self._http.send_datagram(self._stream, data)
        if not self._flushing:
            self._flushing = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = False
        self._protocol.transmit()

    def _told(self, told: Any) -> None:
        kind = type(told).__name__
        if kind == "HeadersReceived" and self._stream is None:
            headers = dict(told.headers)
            status = self._status(headers)
            self._http.send_headers(
                told.stream_id, [(b":status", status)], end_stream=status != b"200"
            )
            self._stream = told.stream_id if status == b"200" else None
            self._protocol.transmit()
        elif kind == "DatagramReceived" and told.stream_id == self._stream:
            self._door.heard(self, self._host, told.data, self.answer, proven=True)
        elif kind == "DataReceived" and told.stream_id == self._stream and told.stream_ended:
            self._door.drop(self)
            self._stream = None

    def _status(self, headers: dict[bytes, bytes]) -> bytes:
        """Return 200 for pages of this relay that ask for a session."""
        if headers.get(b":protocol") != b"webtransport":
            return b"404"
        authority = headers.get(b":authority", b"").decode("latin-1")
        try:
            origin = urlsplit(headers.get(b"origin", b"").decode("latin-1"))
            own = urlsplit("//" + authority)
            same = (origin.hostname, origin.port) == (own.hostname, self._relay.port)
        except ValueError:
            same = False
        return b"200" if same and self._relay.serves_host(authority) else b"403"

    @property
    def _host(self) -> str:
        return str(self._protocol._quic._network_paths[0].addr[0])

    def _ended(self) -> None:
        self._door.sessions -= self._counted
        self._counted = False
        self._stream = None
        self._door.drop(self)


def new_certificate(host: str) -> tuple[Any, Any]:
    """Return a certificate of our own for this address, and its key."""
    x509 = require("cryptography.x509", extra="webtransport", purpose=PURPOSE)
    primitives = "cryptography.hazmat.primitives"
    ec = require(f"{primitives}.asymmetric.ec", extra="webtransport", purpose=PURPOSE)
    hashes = require(f"{primitives}.hashes", extra="webtransport", purpose=PURPOSE)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mocpack")])
    names = [x509.DNSName("localhost")]
    try:
        names.append(x509.IPAddress(ipaddress.ip_address(host)))
    except ValueError:
        names.append(x509.DNSName(host))
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + VALID)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
    )
    return builder.sign(key, hashes.SHA256()), key
