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

from mocpack.live.datagrams import SILENCE_TIMEOUT_S, DatagramEndpoint
from mocpack.live.relay import Relay
from mocpack.optional_packages import require

INFO_PATH = "/webtransport.json"
MAX_DATAGRAM_BYTES = 1100  # bytes of a datagram that passes everywhere
MAX_OPEN_STREAMS = 128  # of one browser; what would need more is lost
MAX_QUEUED_DATAGRAMS = 256  # datagrams for a browser that is too slow; later ones are lost
MAX_STREAM_BYTES = 1 << 16  # that a browser may send by streams, which carry requests only
MIN_INITIAL_BYTES = 1200  # of a datagram that begins a connection
CERTIFICATE_LIFETIME = timedelta(
    days=13
)  # browsers take a hash for certificates of at most fourteen
RENEW_INTERVAL_S = 5 * 86400.0  # seconds
PURPOSE = "WebTransport"


class WebTransportEndpoint(DatagramEndpoint):
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
        self._sessions: set[_Session] = set()
        self._server: Any = None
        self._configuration: Any = None
        self._renew_task: asyncio.Task[None] | None = None

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
            idle_timeout=2 * SILENCE_TIMEOUT_S,
        )
        hashed = self._renew_certificate()

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
        _ignore_short_initials(self._server, self._configuration.supported_versions)
        self.port = self._server._transport.get_extra_info("sockname")[1]
        self._publish(hashed)
        self._renew_task = asyncio.ensure_future(self._renew_regularly())
        await super().open()

    def close(self) -> None:
        super().close()
        if self._renew_task is not None:
            self._renew_task.cancel()
        if self._server is not None:
            self._server.close()

    @property
    def session_count(self) -> int:
        """How many are connected, whether they have joined a stage or not."""
        return len(self._sessions)

    def add_session(self, session: _Session) -> bool:
        """Count a session that begins; return False where there are too many."""
        if len(self._sessions) >= self._relay.limits.max_connections:
            return False
        self._sessions.add(session)
        return True

    def remove_session(self, session: _Session) -> None:
        """Count a session no longer."""
        self._sessions.discard(session)
        self.drop(session)

    def check(self) -> None:
        """Close sessions that have not joined a stage in time, beside what other doors do."""
        super().check()
        now = self._clock()
        for session in [*self._sessions]:
            if session in self._peers:
                session.idle_since = now
            elif now - session.idle_since > self._relay.limits.opening_timeout_s:
                session.close()
                self.remove_session(session)

    async def _renew_regularly(self) -> None:
        while True:
            await asyncio.sleep(RENEW_INTERVAL_S)
            self._publish(self._renew_certificate())

    def _renew_certificate(self) -> str:
        """Take a new certificate; return its hash."""
        certificate, key = make_certificate(self._relay.host)
        self._configuration.certificate, self._configuration.private_key = certificate, key
        encoding = require(
            "cryptography.hazmat.primitives.serialization", extra="webtransport", purpose=PURPOSE
        ).Encoding
        return hashlib.sha256(certificate.public_bytes(encoding.DER)).hexdigest()

    def _publish(self, hashed: str) -> None:
        told = json.dumps({"port": self.port, "sha256": hashed}).encode()
        self._relay.pages = {**self._relay.pages, INFO_PATH: ("application/json", told)}
        self._relay.ports = (self.port,)


class _Session:
    """One browser: a connection, and the session that it asks for."""

    def __init__(self, endpoint: WebTransportEndpoint, relay: Relay, protocol: Any) -> None:
        self._endpoint, self._relay, self._protocol = endpoint, relay, protocol
        self._http: Any = None
        self._stream: int | None = None
        self._flushing = self._answered = False
        self._stream_bytes = 0
        self.idle_since = endpoint.now()
        self._is_admitted = endpoint.add_session(self)

    def event(self, event: Any) -> None:
        """Take what QUIC tells; only a session's datagrams reach the door."""
        kind = type(event).__name__
        if kind == "ConnectionTerminated":
            self._end()
        elif not self._is_admitted or not self._has_budget(event):
            self._protocol.close()
            return
        elif kind == "ProtocolNegotiated":
            module = require("aioquic.h3.connection", extra="webtransport", purpose=PURPOSE)
            self._http = module.H3Connection(self._protocol._quic, enable_webtransport=True)
        for told in self._http.handle_event(event) if self._http is not None else ():
            self._handle_http_event(told)

    def close(self) -> None:
        self._protocol.close()
        self._protocol.transmit()

    def _has_budget(self, event: Any) -> bool:
        """Whether a browser has sent no more by streams than its request needs."""
        if type(event).__name__ == "StreamDataReceived":
            self._stream_bytes += len(event.data)
        return self._stream_bytes <= MAX_STREAM_BYTES

    def answer(self, data: bytes) -> None:
        """Send by a datagram, or by a stream of its own if it is too large for one."""
        quic = self._protocol._quic
        if self._stream is None or self._http is None:
            return
        if len(data) > MAX_DATAGRAM_BYTES:
            if len(quic._streams) >= MAX_OPEN_STREAMS:
                return
            stream = self._http.create_webtransport_stream(self._stream, is_unidirectional=True)
            quic.send_stream_data(stream, data, end_stream=True)
        elif len(quic._datagrams_pending) < MAX_QUEUED_DATAGRAMS:
            self._http.send_datagram(self._stream, data)
        if not self._flushing:
            self._flushing = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = False
        self._protocol.transmit()

    def _handle_http_event(self, told: Any) -> None:
        kind = type(told).__name__
        if kind == "HeadersReceived" and not self._answered:
            self._answered = True  # one request per connection
            headers = dict(told.headers)
            status = self._status(headers)
            self._http.send_headers(
                told.stream_id, [(b":status", status)], end_stream=status != b"200"
            )
            self._stream = told.stream_id if status == b"200" else None
            self._protocol.transmit()
        elif kind == "DatagramReceived" and told.stream_id == self._stream:
            self._endpoint.receive(self, self._host, told.data, self.answer, is_encrypted=True)
        elif kind == "DataReceived" and told.stream_id == self._stream and told.stream_ended:
            self._endpoint.drop(self)
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

    def _end(self) -> None:
        self._stream = None
        self._endpoint.remove_session(self)


def _ignore_short_initials(server: Any, versions: list[int]) -> None:
    """Leave short datagrams of unknown versions unanswered: the answer would be longer."""
    received, known = server.datagram_received, {v.to_bytes(4, "big") for v in versions}

    def filtered(data: bytes, address: Any) -> None:
        is_long_header = data[:1] >= b"\x80"
        if len(data) >= MIN_INITIAL_BYTES or not is_long_header or data[1:5] in known:
            received(data, address)

    server.datagram_received = filtered


def make_certificate(host: str) -> tuple[Any, Any]:
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
        .not_valid_after(now + CERTIFICATE_LIFETIME)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
    )
    return builder.sign(key, hashes.SHA256()), key
